/* ranges.c - adds ranges of code to a process, and removes them: see ranges.h.
 *
 * What a change needs of memory is there before the change begins: so it never ends in the middle.
 * No fork begins meanwhile, either (process_begin_change).
 */
#include "runtime/ranges.h"

#include <assert.h>
#include <stdlib.h>

enum { LEAF_CAPACITY = 64, ROOT_CAPACITY = 64 };

/* Stores in order, after the version: see RANGE_LOAD. */
#define STORE(place, value) atomic_store_explicit(&(place), value, memory_order_release)

static struct range_list *root_of(const struct ranges *ranges, unsigned copy) {
  return (struct range_list *)RANGE_LOAD(ranges->roots[copy]);
}

static struct range_list *leaf_at(const struct range_list *root, uint64_t number) {
  return (struct range_list *)RANGE_LOAD(root->ranges[number].value);
}

/* ---- Lists ---- */

static void put(struct range_list *list, uint64_t place, uint64_t start, uint64_t size,
                uintptr_t value) {
  STORE(list->ranges[place].start, start);
  STORE(list->ranges[place].size, size);
  STORE(list->ranges[place].value, value);
}

static void move(struct range_list *to, uint64_t place, const struct range_list *from,
                 uint64_t from_place) {
  const struct range *range = &from->ranges[from_place];
  put(to, place, RANGE_LOAD(range->start), RANGE_LOAD(range->size), RANGE_LOAD(range->value));
}

static void insert(struct range_list *list, uint64_t place, uint64_t start, uint64_t size,
                   uintptr_t value) {
  const uint64_t count = RANGE_LOAD(list->count);
  assert(place <= count && count < list->capacity);
  for (uint64_t i = count; i > place; i--)
    move(list, i, list, i - 1);
  put(list, place, start, size, value);
  STORE(list->count, count + 1);
}

static void take(struct range_list *list, uint64_t place) {
  const uint64_t count = RANGE_LOAD(list->count);
  assert(place < count);
  for (uint64_t i = place + 1; i < count; i++)
    move(list, i - 1, list, i);
  STORE(list->count, count - 1);
}

/* ---- Memory ---- */

static struct range_list *new_list(struct ranges *ranges, uint64_t capacity) {
  struct range_list *list = calloc(1, sizeof *list + capacity * sizeof list->ranges[0]);
  if (list == NULL)
    return NULL;
  list->capacity = capacity;
  list->next = ranges->lists;
  ranges->lists = list;
  return list;
}

static bool add_free_leaf(struct ranges *ranges) {
  struct range_list *leaf = new_list(ranges, LEAF_CAPACITY);
  if (leaf == NULL)
    return false;
  leaf->free = ranges->free;
  ranges->free = leaf;
  return true;
}

static struct range_list *take_free_leaf(struct ranges *ranges) {
  struct range_list *leaf = ranges->free;
  assert(leaf != NULL); /* by reserve */
  ranges->free = leaf->free;
  STORE(leaf->count, 0);
  return leaf;
}

/* Gives a copy a root with room for one more leaf. The old root stays for look-ups under way. */
static bool reserve_root(struct ranges *ranges, unsigned copy) {
  const struct range_list *old = root_of(ranges, copy);
  const uint64_t count = RANGE_LOAD(old->count);
  if (count < old->capacity)
    return true;
  struct range_list *root = new_list(ranges, 2 * old->capacity);
  if (root == NULL)
    return false;
  for (uint64_t i = 0; i < count; i++)
    move(root, i, old, i);
  STORE(root->count, count);
  STORE(ranges->roots[copy], (uintptr_t)root);
  return true;
}

/* Both copies may need another leaf. */
static bool reserve(struct ranges *ranges) {
  for (unsigned copy = 0; copy < 2; copy++)
    if (!reserve_root(ranges, copy))
      return false;
  return (ranges->free != NULL || add_free_leaf(ranges)) &&
         (ranges->free->free != NULL || add_free_leaf(ranges));
}

static bool open_copies(struct ranges *ranges) {
  for (unsigned copy = 0; copy < 2; copy++) {
    struct range_list *root = new_list(ranges, ROOT_CAPACITY);
    struct range_list *leaf = new_list(ranges, LEAF_CAPACITY);
    if (root == NULL || leaf == NULL)
      return false;
    insert(root, 0, 0, 0, (uintptr_t)leaf);
    STORE(ranges->roots[copy], (uintptr_t)root);
  }
  return true;
}

/* The process's ranges, from the first call on; NULL without memory. */
static struct ranges *ranges_of(struct process_overlay *process) {
  struct ranges *ranges = atomic_load(&process->ranges);
  if (ranges != NULL)
    return ranges;
  ranges = calloc(1, sizeof *ranges);
  if (ranges != NULL && !open_copies(ranges)) {
    process_free_ranges(ranges);
    return NULL;
  }
  atomic_store(&process->ranges, ranges);
  return ranges;
}

/* ---- Changes ---- */

struct change {
  uint64_t start, size;
  uintptr_t table; /* 0: the range is removed */
};

/* Splits a full leaf of a copy into two. */
static void split(struct ranges *ranges, struct range_list *root, uint64_t number) {
  struct range_list *leaf = leaf_at(root, number), *upper = take_free_leaf(ranges);
  enum { HALF = LEAF_CAPACITY / 2 };
  assert(RANGE_LOAD(leaf->count) == LEAF_CAPACITY);
  for (uint64_t i = HALF; i < LEAF_CAPACITY; i++)
    move(upper, i - HALF, leaf, i);
  STORE(upper->count, LEAF_CAPACITY - HALF);
  STORE(leaf->count, HALF);
  insert(root, number + 1, RANGE_LOAD(upper->ranges[0].start), 0, (uintptr_t)upper);
}

static void add_to_copy(struct ranges *ranges, struct range_list *root, struct change change) {
  uint64_t number = range_list_up_to(root, change.start) - 1;
  assert(number < RANGE_LOAD(root->count)); /* the first leaf starts at 0 */
  if (RANGE_LOAD(leaf_at(root, number)->count) == LEAF_CAPACITY) {
    split(ranges, root, number);
    number = range_list_up_to(root, change.start) - 1;
  }
  struct range_list *leaf = leaf_at(root, number);
  insert(leaf, range_list_up_to(leaf, change.start), change.start, change.size, change.table);
}

static void remove_from_copy(struct ranges *ranges, struct range_list *root, struct change change) {
  const uint64_t number = range_list_up_to(root, change.start) - 1;
  struct range_list *leaf = leaf_at(root, number);
  const uint64_t place = range_list_up_to(leaf, change.start) - 1;
  assert(RANGE_LOAD(leaf->ranges[place].start) == change.start);
  take(leaf, place);
  if (RANGE_LOAD(leaf->count) > 0 || RANGE_LOAD(root->count) == 1)
    return;
  take(root, number);
  STORE(root->ranges[0].start, 0);
  leaf->free = ranges->free;
  ranges->free = leaf;
}

static void change_copy(struct ranges *ranges, unsigned copy, struct change change) {
  struct range_list *root = root_of(ranges, copy);
  if (change.table != 0)
    add_to_copy(ranges, root, change);
  else
    remove_from_copy(ranges, root, change);
}

static void apply(struct ranges *ranges, struct change change) {
  const uint64_t version = RANGE_LOAD(ranges->version);
  change_copy(ranges, (version + 1) & 1, change);
  STORE(ranges->version, version + 1);
  change_copy(ranges, version & 1, change);
}

/* Whether a range of the process has an address of [start, start + size). */
static bool is_taken(const struct ranges *ranges, uint64_t start, uint64_t size) {
  const struct range_list *root = root_of(ranges, 0);
  const uint64_t number = range_list_up_to(root, start + size - 1) - 1;
  for (uint64_t i = number + 1; i > 0; i--) { /* the first leaf may be empty */
    const struct range_list *leaf = leaf_at(root, i - 1);
    const uint64_t count = range_list_up_to(leaf, start + size - 1);
    if (count > 0)
      return RANGE_LOAD(leaf->ranges[count - 1].start) + RANGE_LOAD(leaf->ranges[count - 1].size) >
             start;
  }
  return false;
}

static bool starts_range(const struct ranges *ranges, uint64_t start) {
  const struct range_list *root = root_of(ranges, 0);
  const struct range_list *leaf = leaf_at(root, range_list_up_to(root, start) - 1);
  const uint64_t count = range_list_up_to(leaf, start);
  return count > 0 && RANGE_LOAD(leaf->ranges[count - 1].start) == start;
}

enum stackpack_error stackpack_process_add(struct stackpack_process *process, uintptr_t start,
                                           size_t size, const struct stackpack_table *table) {
  struct process_overlay *overlay = (struct process_overlay *)process;
  if (size == 0 || start + size < start)
    return STACKPACK_RANGE_TAKEN;
  process_begin_change(overlay);
  struct ranges *ranges = ranges_of(overlay);
  enum stackpack_error error = STACKPACK_OK;
  if (ranges == NULL || !reserve(ranges))
    error = STACKPACK_NO_MEMORY;
  else if (is_taken(ranges, start, size))
    error = STACKPACK_RANGE_TAKEN;
  else
    apply(ranges, (struct change){start, size, (uintptr_t)table});
  process_end_change(overlay);
  return error;
}

bool stackpack_process_remove(struct stackpack_process *process, uintptr_t start) {
  struct process_overlay *overlay = (struct process_overlay *)process;
  process_begin_change(overlay);
  struct ranges *ranges = atomic_load(&overlay->ranges);
  const bool is_there = ranges != NULL && starts_range(ranges, start);
  if (is_there) {
    apply(ranges, (struct change){.start = start});
    atomic_fetch_add(&overlay->generation, 1); /* caches forget its records */
  }
  process_end_change(overlay);
  return is_there;
}
