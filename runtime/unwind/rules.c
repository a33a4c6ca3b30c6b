/* rules.c - the unwind rules of call sites, remembered.
 *
 * To find the rules that hold at an address takes a binary search in the module's table, then the
 * bytes of a small program for the function (DWARF 5, 6.4.3), run up to that address. The stacks of
 * a program have the same return addresses again and again. So rules are kept in a table of fixed
 * size: an address has one place in it, and the newest address gets that place.
 *
 * The key is the address of the rules: the address of a call's last byte, or of the instruction at
 * which a signal came. These two can differ by one where the rules differ, too.
 */
#include "runtime/unwind/unwinder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 256, ENTRIES_SHIFT = 8 };

static struct rules *entry_of(const struct unwinder_overlay *unwinder, uintptr_t pc) {
  return &unwinder->rules[(uint64_t)pc * 0x9e3779b97f4a7c15u >> (64 - ENTRIES_SHIFT)];
}

enum stackpack_error rules_open(struct unwinder_overlay *unwinder) {
  unwinder->rules = calloc(ENTRIES, sizeof *unwinder->rules);
  return unwinder->rules != NULL ? STACKPACK_OK : STACKPACK_NO_MEMORY;
}

void rules_forget(struct unwinder_overlay *unwinder) {
  memset(unwinder->rules, 0, ENTRIES * sizeof *unwinder->rules);
}

/* The row that holds at an address. */
struct row_search {
  uintptr_t pc;
  struct frame_rules *row;
  bool is_found;
};

static bool look_at_row(void *context, struct frame_rules *row, struct code_range range) {
  struct row_search *search = context;
  assert(row->cfa != RULE_NONE && search->pc >= range.start);
  if (search->pc >= range.end)
    return true;
  *search->row = *row;
  search->is_found = true;
  return false;
}

uint32_t rules_others(const struct frame_rules *row, unsigned return_register) {
  uint32_t others = 0;
  for (unsigned reg = 0; reg < STACKPACK_REGISTERS; reg++)
    if (row->kinds[reg] == RULE_AT && reg != return_register && reg != STACKPACK_STACK_POINTER)
      others |= 1u << reg;
  return others & ~STACKPACK_PRESERVED_REGISTERS;
}

/* Fills rules->row and its like; the reason on error. */
static enum stackpack_unwinder_reason read_rules(const struct eh_frame_entry *entry, uintptr_t pc,
                                                 struct rules *rules) {
  struct row_search search = {pc, &rules->row, false};
  frame_rules_run(&entry->cie.facts, entry->fde, entry->function, look_at_row, &search);
  if (!search.is_found || entry->cie.facts.return_register >= FRAME_REGISTERS)
    return STACKPACK_UNWINDER_BAD_TABLE;
  rules->memory = entry->section;
  rules->return_register = (uint8_t)entry->cie.facts.return_register;
  rules->others = rules_others(&rules->row, rules->return_register);
  return STACKPACK_UNWINDER_NO_REASON;
}

const struct rules *rules_find(const struct unwinder_overlay *unwinder, struct target *target) {
  struct rules *rules = entry_of(unwinder, target->pc);
  const bool is_new = rules->pc != target->pc || target->pc == 0;
  /* Only where a signal came: they take longer to find than all else. */
  const bool wants_saves = target->context->is_exact != 0;
  struct eh_frame_entry entry;
  if (!is_new && (rules->has_saves || !wants_saves))
    return rules;
  rules->pc = 0;
  target->reason = table_find(target->pc, &entry);
  if (target->reason == STACKPACK_UNWINDER_NO_REASON)
    target->reason = read_rules(&entry, target->pc, rules);
  if (target->reason != STACKPACK_UNWINDER_NO_REASON)
    return NULL;
  rules->returns_from_signal = signal_returns_at(target->context->pc);
  rules->has_saves = wants_saves;
  if (wants_saves && !saves_find(&entry, target->pc, &rules->row, rules->saves)) {
    target->reason = STACKPACK_UNWINDER_BAD_TABLE;
    return NULL;
  }
  rules->pc = target->pc;
  return rules;
}
