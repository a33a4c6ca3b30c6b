/* stack.c - walks the stack and updates the references in it.
 *
 * Seen from a collection, the stack is a row of calls that have not returned yet:
 *
 *   main               C, not managed: no stack map. The walk ends here.
 *   trees_run          managed: waits for tree_build
 *   tree_build         managed: waits for tree_build
 *   tree_build         managed: waits for heap_allocate. The walk starts here.
 *   heap_allocate ...  C: the collector itself
 *
 * The return address of each call is the key of a record. The record says how large the frame is,
 * which leads to the caller's frame and the next return address; and it lists pairs of locations,
 * base and derived: the spill slots of the references that the function goes on with after the
 * call.
 *
 * An object is known by its start, the base. Of a derived reference only the distance to its base
 * has a meaning, and that must be taken before either is overwritten. The pairs of one frame are
 * entangled: most list one slot as both, many derived references can share a base, and a slot that
 * is one pair's base may be another's derived. So all of a frame's pairs are read first, and
 * written afterwards:
 *
 *   read:    base = *base_slot, distance = *derived_slot - base
 *   write:   *base_slot = forward(base), *derived_slot = forward(base) + distance
 *
 * What is written depends on what was read alone, so the order of pairs doesn't matter, and a slot
 * that occurs twice gets the same value twice.
 *
 * The base's slot is written even where no pair lists it as derived. LLVM leaves such a pair out
 * when the function has no use for the base after the call. But the function may still be waiting
 * when the next collection comes, and then the distance is taken again: from the base as it stands
 * in that slot.
 */
#include "stack.h"

#include "die.h"

#include <inttypes.h>
#include <stdlib.h>

/* One managed module, the program itself. Shared libraries without stack maps don't count. */
static struct stackpack_module modules[1];
static struct stackpack_process process;

/* A pair as it was read. base_slot is NULL where the base is a constant. */
struct root {
  uintptr_t *base_slot, *derived_slot;
  uintptr_t base, distance;
};

/* The pairs of the frame at hand. Managed code is stopped inside the allocator, not inside realloc,
 * so the room for them may come from there. */
static struct root *roots;
static size_t roots_count, roots_capacity;

void stack_open(void) {
  enum stackpack_error error =
      stackpack_process_open(&process, modules, sizeof modules / sizeof modules[0]);
  if (error != STACKPACK_OK)
    die("cannot open the stack maps: %s", stackpack_error_text(error));
}

void stack_close(void) {
  stackpack_process_close(&process);
  free(roots);
}

static struct root *roots_add(void) {
  if (roots_count == roots_capacity) {
    roots_capacity = roots_capacity ? 2 * roots_capacity : 64;
    roots = realloc(roots, roots_capacity * sizeof roots[0]);
    if (!roots)
      die("out of memory for roots");
  }
  return &roots[roots_count++];
}

/* A slot is a word of the frame's memory. NULL for a constant; anything else isn't expected here.
 */
static uintptr_t *slot_of(const struct stackpack_location *location,
                          const struct stackpack_frame *frame) {
  if (location->kind == STACKPACK_CONSTANT || location->kind == STACKPACK_LARGE_CONSTANT)
    return NULL;
  uintptr_t *slot = stackpack_location_address(location, frame, NULL);
  if (location->kind != STACKPACK_INDIRECT || location->size != sizeof *slot || !slot)
    die("a reference at return address %#" PRIxPTR " is not in a spill slot of 8 bytes",
        frame->return_address);
  return slot;
}

static void roots_read(const struct stackpack_frame *frame, const struct stackpack_record *record) {
  struct stackpack_pairs pairs = stackpack_pairs(record);
  struct stackpack_location base, derived;
  roots_count = 0;
  while (stackpack_pairs_next(&pairs, &base, &derived)) {
    uintptr_t *derived_slot = slot_of(&derived, frame);
    if (!derived_slot)
      continue; /* a constant refers to no object that moves */
    struct root *root = roots_add();
    root->derived_slot = derived_slot;
    root->base_slot = slot_of(&base, frame);
    root->base = root->base_slot ? *root->base_slot : (uintptr_t)base.value;
    root->distance = *derived_slot - root->base;
  }
  if (stackpack_pairs_corrupt(&pairs))
    die("the stack map is damaged at return address %#" PRIxPTR, frame->return_address);
}

static void roots_write(stack_forward *forward, struct stack_counts *counts) {
  for (size_t i = 0; i < roots_count; i++) {
    const struct root *root = &roots[i];
    counts->pairs++;
    counts->derived += root->distance != 0;
    if (!root->base_slot)
      continue; /* derived from null, or never used: no object moves with it */
    uintptr_t base = forward(root->base);
    *root->base_slot = base;
    *root->derived_slot = base + root->distance;
  }
}

/* Whether the frame is managed. Then *record tells its references. */
static bool frame_record(const struct stackpack_frame *frame, struct stackpack_record *record) {
  switch (stackpack_find(&process, frame->return_address, record)) {
  case STACKPACK_FOUND:
    if (record->kind != STACKPACK_STATEPOINT)
      die("the record of return address %#" PRIxPTR " is not a statepoint's",
          frame->return_address);
    return true;
  case STACKPACK_NOT_MANAGED:
    return false;
  case STACKPACK_NOT_SAFEPOINT:
    die("a managed function waits at %#" PRIxPTR ", which is no safepoint", frame->return_address);
  case STACKPACK_CORRUPT:
    break;
  }
  die("the stack map is damaged: no answer for return address %#" PRIxPTR, frame->return_address);
}

void stack_update(struct stackpack_frame frame, stack_forward *forward,
                  struct stack_counts *counts) {
  struct stackpack_record record;
  uint64_t frames = 0;
  for (; frame_record(&frame, &record); frames++) {
    roots_read(&frame, &record);
    roots_write(forward, counts);
    if (!stackpack_frame_caller(&frame, &record))
      die("the frame size is unknown at return address %#" PRIxPTR, frame.return_address);
  }
  counts->frames += frames;
  if (frames > counts->deepest)
    counts->deepest = frames;
}
