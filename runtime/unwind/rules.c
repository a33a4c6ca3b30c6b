/* rules.c - the unwind rules of call sites, remembered.
 *
 * To find the rules that hold at an address takes a binary search in the module's table, then the
 * bytes of a small program for the function (DWARF 5, 6.4.3), run up to that address: microseconds.
 * The stacks of a program have the same return addresses again and again. So what libunwind found
 * (unw_reg_states_iterate hands it out, for this purpose) is kept in a table of fixed size: an
 * address has one place in it, and the newest address gets that place. libunwind's own cache could
 * do this, but changes the mask of signals twice at each use, by a system call.
 *
 * The key is the address whose rules they are: that of a call's last byte, or of the instruction at
 * which a signal came. These two can differ by one where the rules differ, too.
 */
#include "runtime/unwind/unwinder.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 256, ENTRIES_SHIFT = 8 };

static size_t entry_size(const struct unwinder_overlay *unwinder) {
  return sizeof(struct rules) + unwinder->rules_size;
}

static struct rules *entry_of(const struct unwinder_overlay *unwinder, uintptr_t pc) {
  const uint64_t hash = (uint64_t)pc * 0x9e3779b97f4a7c15u >> (64 - ENTRIES_SHIFT);
  return (struct rules *)((char *)unwinder->rules + hash * entry_size(unwinder));
}

/* What is asked of libunwind, which hands out the rules of all of a function's addresses. */
struct request {
  uintptr_t pc; /* the rules that hold here, */
  void *rules;  /* are to be put here, */
  size_t room;  /* if they fit */
  size_t size;  /* of these rules: 0 as long as none were found */
};

static int take_rules(void *token, void *rules, size_t size, unw_word_t start, unw_word_t end) {
  struct request *request = token;
  if (request->pc < start || request->pc >= end)
    return 0;
  if (size <= request->room)
    memcpy(request->rules, rules, size);
  request->size = size;
  return 0;
}

/* False, and target->reason, where there are none. */
static bool ask(const struct unwinder_overlay *unwinder, struct target *target,
                struct request *request) {
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, unwinder->space, target) < 0 ||
      unw_reg_states_iterate(&cursor, take_rules, request) < 0 || request->size == 0) {
    if (target->reason == STACKPACK_UNWINDER_NO_REASON)
      target->reason = STACKPACK_UNWINDER_BAD_TABLE;
    return false;
  }
  return true;
}

enum stackpack_error rules_open(struct unwinder_overlay *unwinder) {
  /* How large the rules are, libunwind tells with any: those of a function here. */
  struct stackpack_context here = {.pc = (uintptr_t)stackpack_unwinder_call, .is_exact = 1};
  struct target target = target_of((struct stackpack_stack){0, 0}, &here);
  struct request request = {.pc = target.pc};
  if (!ask(unwinder, &target, &request) || request.size % WORD != 0)
    return STACKPACK_UNSUPPORTED;
  unwinder->rules_size = request.size;
  unwinder->rules = calloc(ENTRIES, entry_size(unwinder));
  return unwinder->rules != NULL ? STACKPACK_OK : STACKPACK_NO_MEMORY;
}

void rules_forget(struct unwinder_overlay *unwinder) {
  memset(unwinder->rules, 0, ENTRIES * entry_size(unwinder));
}

/* Only where a signal came: they take longer to find than all else. */
static struct rules *with_saves(const struct unwinder_overlay *unwinder, struct target *target,
                                struct rules *rules) {
  if (target->context->is_exact != 0 && rules->has_saves == 0) {
    saves_find(unwinder, target, rules->saves);
    rules->has_saves = 1;
  }
  return rules;
}

struct rules *rules_find(const struct unwinder_overlay *unwinder, struct target *target) {
  struct rules *rules = entry_of(unwinder, target->pc);
  if (rules->pc == target->pc && target->pc != 0) {
    target->tables_start = rules->tables_start;
    target->tables_end = rules->tables_end;
    target->module = rules->module;
    return with_saves(unwinder, target, rules);
  }
  rules->pc = 0;
  struct request request = {.pc = target->pc, .rules = rules->words, .room = unwinder->rules_size};
  if (!ask(unwinder, target, &request))
    return NULL;
  if (request.size != unwinder->rules_size) {
    target->reason = STACKPACK_UNWINDER_BAD_TABLE;
    return NULL;
  }
  rules->returns_from_signal = signal_returns_at(target->context->pc) ? 1 : 0;
  rules->tables_start = target->tables_start;
  rules->tables_end = target->tables_end;
  rules->module = target->module;
  rules->has_saves = 0;
  rules->pc = target->pc;
  return with_saves(unwinder, target, rules);
}
