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
 * In a function with a frame pointer, the CFA says nothing of the stack pointer. There only
 * DW_CFA_GNU_args_size tells how much is pushed, which LLVM writes for functions that have landing
 * pads; other such functions, and those without unwind tables, can't be told, and aren't counted.
 */
#include "tool/check/frame_sizes.h"

#include "tool/image/names.h"

#include <stdlib.h>

static bool is_different(const struct machine *machine, uint64_t frame_size,
                         const struct frame_rule *rule) {
  if (rule->kind == FRAME_REGISTER && rule->base_register == machine->stack_pointer)
    return rule->offset - machine->pushed_by_call != frame_size;
  return rule->kind != FRAME_UNKNOWN && rule->arguments_size != 0;
}

static void count_differences(const struct machine *machine, const struct safepoints *table,
                              const struct frame_rule *rules, struct depth_differences *found,
                              uint64_t *first_function) {
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    const struct safepoint_function *function = &table->functions[record->function];
    if (function->frame_size == SAFEPOINT_FRAME_SIZE_UNKNOWN ||
        safepoints_kind(table, record) != SAFEPOINT_STATEPOINT ||
        !is_different(machine, function->frame_size, &rules[i]))
      continue;
    if (found->count++ == 0) {
      found->first = record->address;
      *first_function = function->address;
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
  const struct image_section *section = image_section(image, ".eh_frame");
  const size_t count = table->record_count;
  *found = (struct depth_differences){0};
  if (image->machine == NULL || count == 0 || section == NULL ||
      section->header.sh_type == SHT_NOBITS)
    return true;
  uint64_t function = 0;
  uint64_t *calls = calloc(count, sizeof *calls);
  struct frame_rule *rules = calloc(count, sizeof *rules);
  const bool has_memory = calls != NULL && rules != NULL;
  if (has_memory) {
    for (size_t i = 0; i < count; i++)
      calls[i] = table->records[i].address - 1;
    eh_frame_rules(rules, calls, count, image->bytes + section->header.sh_offset,
                   section->header.sh_size, section->header.sh_addr);
    count_differences(image->machine, table, rules, found, &function);
  }
  free(calls);
  free(rules);
  if (!has_memory)
    return problem_set(problem, "not enough memory");
  return found->count == 0 || find_name(image, function, &found->first_name, problem);
}
