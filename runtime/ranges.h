/* ranges.h - the code that a program has added to a process by itself, by address.
 *
 * A JIT adds and removes ranges of code thousands of times a second, while threads look up. The
 * ranges are in two levels of sorted lists: a root, and leaves of up to 64 ranges.
 *
 * All of it exists twice. The version's lowest bit is the number of the copy for look-ups; a writer
 * changes the other one, moves on to the next version, and then does the same in the first copy. A
 * look-up during which the version has moved on is done again: so it never waits, also in a signal
 * handler that has interrupted the writer, and the memory of lists stays theirs until the process
 * is closed.
 */
#ifndef STACKPACK_RANGES_H
#define STACKPACK_RANGES_H

#include "runtime/internal.h"

struct range {
  _Atomic uint64_t start, size;
  _Atomic uintptr_t value; /* the struct stackpack_table; in a root, the leaf with the ranges from
                              `start` on */
};

struct range_list {
  struct range_list *next; /* of all lists */
  struct range_list *free; /* the next one of the unused leaves */
  uint64_t capacity;
  _Atomic uint64_t count;
  struct range ranges[]; /* by start */
};

struct ranges {
  _Atomic uint64_t version;
  _Atomic uintptr_t roots[2]; /* struct range_list; the first leaf of each starts at 0 */
  struct range_list *lists;   /* all of them */
  struct range_list *free;    /* the unused leaves */
};

_Static_assert(offsetof(struct process_overlay, ranges) == 32 &&
                   offsetof(struct ranges, roots) == 8 &&
                   offsetof(struct range_list, count) == 24 &&
                   offsetof(struct range_list, ranges) == 32 && sizeof(struct range) == 24 &&
                   offsetof(struct packed_table, address) == 8,
               "bindings/gdb/stackpack-gdb.py reads them in a process's memory");

/* Loads in order: a look-up that has met a change sees the new version, too. */
#define RANGE_LOAD(place) atomic_load_explicit(&(place), memory_order_acquire)

/* The number of ranges in a list that start up to an address. */
static inline uint64_t range_list_up_to(const struct range_list *list, uint64_t address) {
  uint64_t low = 0, high = RANGE_LOAD(list->count);
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (RANGE_LOAD(list->ranges[middle].start) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The table of the range that contains an address, in one copy; or NULL. */
static inline const struct stackpack_table *ranges_look_up(const struct range_list *root,
                                                           uint64_t address) {
  const uint64_t leaves = range_list_up_to(root, address);
  if (leaves == 0)
    return NULL;
  const struct range_list *leaf =
      (const struct range_list *)RANGE_LOAD(root->ranges[leaves - 1].value);
  const uint64_t count = leaf != NULL ? range_list_up_to(leaf, address) : 0;
  if (count == 0)
    return NULL;
  const struct range *range = &leaf->ranges[count - 1];
  return address - RANGE_LOAD(range->start) < RANGE_LOAD(range->size)
             ? (const struct stackpack_table *)RANGE_LOAD(range->value)
             : NULL;
}

static inline const struct stackpack_table *ranges_find(const struct ranges *ranges,
                                                        uint64_t address) {
  const struct stackpack_table *table;
  uint64_t version;
  do {
    version = RANGE_LOAD(ranges->version);
    table =
        ranges_look_up((const struct range_list *)RANGE_LOAD(ranges->roots[version & 1]), address);
  } while (RANGE_LOAD(ranges->version) != version);
  return table;
}

#endif
