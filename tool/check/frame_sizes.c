/* frame_sizes.c - compares the frame sizes of stack maps with the depth of the stack in unwind tables.
 *
 * LLVM's stack maps give each function one frame size. But where a call has more arguments than
 * registers take, LLVM for x86 may push the others just before it, and the record's size doesn't
 * count these. Who walks by frame size then takes an argument for the return address, and misses
 * all callers, without any sign that something is wrong.
 *
 * Unwind tables do follow each push, as the canonical frame address (CFA) is given relative to the
 * stack pointer: at a call it is sp + N, and between them is the frame, on x86-64 (rsp + N) with the
 * return address. So there a frame is N - 8 bytes large. What holds during a call is the rule for the call instruction, not
 * that for the return address: a callee may have removed its arguments by then. So unwinders look
 * for the address before.
 *
 * In a function with a frame pointer, the CFA says nothing of the stack pointer: such a function, and one
 * without unwind tables, can't be told, and isn't counted.
 */
#include "tool/check/frame_sizes.h"

#include "format/frames.h"
#include "tool/image/names.h"

static bool is_different(const struct machine *machine, const struct safepoints *table,
                         const struct safepoint *record) {
  const uint64_t frame_size = table->functions[record->function].frame_size;
  if (record->frame == 0 || frame_size == SAFEPOINT_FRAME_SIZE_UNKNOWN ||
      safepoints_kind(table, record) != SAFEPOINT_STATEPOINT)
    return false;
  const struct frame_facts facts = frame_from_words(intern_get(&table->frames, record->frame - 1));
  return facts.cfa_register == machine->stack_pointer &&
         (uint64_t)(int64_t)facts.cfa_offset - machine->pushed_by_call != frame_size;
}

static void count_differences(const struct machine *machine, const struct safepoints *table,
                              struct depth_differences *found, uint64_t *first_function) {
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    if (is_different(machine, table, record) && found->count++ == 0) {
      found->first = record->address;
      *first_function = table->functions[record->function].address;
    }
  }
}

static bool find_name(const struct image *image, uint64_t function, const char **name,
                      struct problem *problem) {
  struct names names = {0};
  if (!names_open(&names, image, problem))
    return false;
  *name = names_find(&names, function);
  names_close(&names);
  return true;
}

bool depth_compare(const struct image *image, const struct safepoints *table,
                   struct depth_differences *found, struct problem *problem) {
  uint64_t function = 0;
  *found = (struct depth_differences){0};
  if (image->machine != NULL)
    count_differences(image->machine, table, found, &function);
  return found->count == 0 || find_name(image, function, &found->first_name, problem);
}
