/* unwinder.c - one step from a frame to its caller's, by unwind tables.
 *
 * A context is the state in which a computation will go on: the values of the stack pointer and the
 * program counter, and the places from which the other registers will be loaded. A step computes
 * the caller's, by the rules for the frame's address (rules.c):
 *
 *   - The caller's stack pointer is the frame's CFA, its "canonical frame address", the base of all
 *     other rules (DWARF 5, 6.4).
 *   - A register that the frame has saved is where the rules say, in the stack.
 *   - One that it has left alone is in its old place: in a place that an inner frame saved it in,
 *     or in the context that the walk started with. To write there is to change the register.
 */
#include "runtime/unwind/unwinder.h"

#include "runtime/walk.h"

#include <assert.h>
#include <stdlib.h>

static struct unwinder_overlay *overlay_of(struct stackpack_unwinder *unwinder) {
  return (struct unwinder_overlay *)unwinder->private_;
}

enum stackpack_error stackpack_unwinder_open(struct stackpack_unwinder *unwinder) {
  struct unwinder_overlay *overlay = overlay_of(unwinder);
  *overlay = (struct unwinder_overlay){0};
  return rules_open(overlay);
}

void stackpack_unwinder_close(struct stackpack_unwinder *unwinder) {
  struct unwinder_overlay *overlay = overlay_of(unwinder);
  free(overlay->rules);
  *overlay = (struct unwinder_overlay){0};
}

void stackpack_unwinder_forget(struct stackpack_unwinder *unwinder) {
  rules_forget(overlay_of(unwinder));
}

/* ---- Reasons ---- */

enum stackpack_unwinder_reason
stackpack_unwinder_reason(const struct stackpack_unwinder *unwinder) {
  return ((const struct unwinder_overlay *)unwinder->private_)->reason;
}

const char *stackpack_unwinder_text(enum stackpack_unwinder_reason reason) {
  static const char *const texts[] = {
      [STACKPACK_UNWINDER_NO_REASON] = "no reason",
      [STACKPACK_UNWINDER_NO_TABLE] = "no unwind table covers the address",
      [STACKPACK_UNWINDER_BAD_TABLE] = "the unwind table can't be used",
      [STACKPACK_UNWINDER_REGISTER] = "the frame is found by a register that isn't known",
      [STACKPACK_UNWINDER_OUT_OF_STACK] =
          "what the frame has saved would be outside the stack, or misaligned",
  };
  return (size_t)reason < sizeof texts / sizeof *texts ? texts[reason] : "an unknown reason";
}

static enum stackpack_unwound not_unwound(struct unwinder_overlay *unwinder,
                                          enum stackpack_unwinder_reason reason) {
  unwinder->reason = reason;
  return STACKPACK_NOT_UNWOUND;
}

/* ---- A step ---- */

void keep_register(struct stackpack_context *to, unsigned reg, const struct stackpack_context *from,
                   unsigned other) {
  assert(reg < STACKPACK_REGISTERS && other < STACKPACK_REGISTERS);
  to->known |= (from->known >> other & 1) << reg;
  to->in_memory |= (from->in_memory >> other & 1) << reg;
  to->doubled |= (from->doubled >> other & 1) << reg;
  to->registers[reg] = from->registers[other];
  to->seconds[reg] = from->seconds[other];
}

/* Where a rule finds a register's value in the caller. */
struct found {
  enum { NOWHERE, IN_REGISTER, IN_MEMORY, COMPUTED } where;
  uintptr_t word; /* the register's number, the address, or the value */
};

/* Applies the rule of a register. False if its expression is invalid. */
static bool apply_rule(const struct rules *rules, struct target *target, unsigned reg,
                       uintptr_t cfa, struct found *found) {
  assert(reg < FRAME_REGISTERS);
  const int32_t value = rules->row.values[reg];
  const enum frame_rule rule = rules->row.kinds[reg];
  const bool is_place = rule == RULE_AT || rule == RULE_AT_EXPRESSION;
  *found = (struct found){NOWHERE, 0};
  switch (rule) {
  case RULE_LOST:
  case RULE_NONE:
    return true;
  case RULE_SAME:
    *found = (struct found){IN_REGISTER, reg};
    return true;
  case RULE_REGISTER:
    *found = (struct found){IN_REGISTER, (uintptr_t)(intptr_t)value};
    return true;
  case RULE_AT:
  case RULE_IS:
    found->word = cfa + (uintptr_t)(intptr_t)value;
    break;
  case RULE_AT_EXPRESSION:
  case RULE_IS_EXPRESSION:
    if (!expression_evaluate(rules->memory, value, target, &cfa, &found->word))
      return false;
    break;
  }
  found->where = is_place ? IN_MEMORY : COMPUTED;
  return true;
}

static bool find_cfa(const struct rules *rules, struct target *target, uintptr_t *cfa) {
  const struct frame_rules *row = &rules->row;
  if (row->cfa == RULE_IS_EXPRESSION)
    return expression_evaluate(rules->memory, row->cfa_value, target, NULL, cfa);
  if (row->cfa != RULE_REGISTER || !target_register(target, row->cfa_register, cfa))
    return false;
  *cfa += (uintptr_t)(intptr_t)row->cfa_value;
  return true;
}

/* Where a call leaves the return address in a register, the rules are to be read with care at two
 * places of glibc's _dl_runtime_resolve: they leave out the words that the stub before it has
 * pushed, the return address uppermost, so that this is above the CFA; and at its end they still
 * name that place, below the stack pointer then, when the register has the return address again. */
static void mend_return(const struct rules *rules, const struct target *target, struct found *found,
                        uintptr_t *stack_pointer) {
  const struct stackpack_context *context = target->context;
  const int link = unwinder_machine.link;
  if (link == MACHINE_CALL_PUSHES || rules->return_register != link || found->where != IN_MEMORY)
    return;
  if (found->word >= *stack_pointer)
    *stack_pointer = found->word + WORD;
  if (context->is_exact != 0 && found->word < context->stack_pointer &&
      walk_knows(context, (unsigned)link))
    *found = (struct found){IN_REGISTER, (uintptr_t)link};
}

/* The return address. False if it is unreadable. */
static bool read_return(struct target *target, const struct found *found, uintptr_t *pc) {
  switch (found->where) {
  case IN_REGISTER: /* a call replaces the program counter */
    return found->word != (uintptr_t)unwinder_machine.pc &&
           target_register(target, found->word, pc);
  case IN_MEMORY:
    return target_read(target, found->word, pc);
  case NOWHERE: /* DWARF 5, 6.4.4: the outermost frame's */
  case COMPUTED:
    break;
  }
  *pc = found->word;
  return true;
}

/* Whether a call may return to an address: to any that has an unwind table, if the code is
 * unreadable. */
static bool is_after_call(uintptr_t pc) {
  enum { CALL_MAX = 8 };
  struct eh_frame_entry entry;
  size_t size = CALL_MAX;
  if (!machine_can_read(pc - size, size))
    size = pc % CALL_MAX; /* a page begins there, if its code can be read at all */
  return size != 0 && machine_can_read(pc - size, size)
             ? machine_find(THIS_MACHINE)->ends_call((const uint8_t *)pc, size)
             : table_find(pc - 1, &entry) == STACKPACK_UNWINDER_NO_REASON;
}

/* Whether a word can be the return address of a function that was interrupted. Compilers' rules
 * leave out words that code pushes for a moment (-Oz: `push $5; pop %rax`; the inline thunks of
 * GCC's -mindirect-branch), and then go by the stack pointer to another word. */
static bool is_return(const struct target *target, const struct found *found, uintptr_t pc,
                      uintptr_t cfa) {
  enum { ALIGNMENT = 16 /* AMD64 psABI, 3.2.2 */ };
  if (target->context->is_exact == 0 || unwinder_machine.link != MACHINE_CALL_PUSHES ||
      found->where != IN_MEMORY)
    return true;
  if (pc == 0)
    return cfa % ALIGNMENT == 0;
  return cfa == target->stack.end || is_after_call(pc) || signal_returns_at(pc);
}

static const struct save not_saved = {.from = NOT_SAVED};

/* Whether an interrupted function has restored the frame pointer, by which its rules still go: see
 * saves.c. With it, it has restored all registers whose rules do. */
static bool is_restored(const struct rules *rules, struct target *target, unsigned reg,
                        uintptr_t cfa, uintptr_t stack_pointer) {
  struct found found;
  return rules->row.kinds[reg] == RULE_AT_EXPRESSION &&
         rules->row.kinds[STACKPACK_FRAME_POINTER] == RULE_AT_EXPRESSION &&
         apply_rule(rules, target, STACKPACK_FRAME_POINTER, cfa, &found) &&
         !saves_are_possible(target->context, &not_saved, stack_pointer, found.word);
}

/* Sets a register of the caller. False if its place is outside the stack, or unclear. */
static bool find_register(const struct rules *rules, struct target *target, unsigned reg,
                          const struct save *save, uintptr_t cfa, uintptr_t stack_pointer,
                          struct stackpack_context *caller) {
  const struct stackpack_context *context = target->context;
  struct found found;
  uintptr_t value;
  if (!apply_rule(rules, target, reg, cfa, &found))
    return false;
  /* It has been restored, if it can't have been saved: see saves.c. */
  if (found.where == IN_MEMORY && context->is_exact != 0 &&
      (!saves_are_possible(context, save, stack_pointer, found.word) ||
       is_restored(rules, target, reg, cfa, stack_pointer)))
    found = (struct found){IN_REGISTER, reg};
  if (found.where == IN_REGISTER) {
    if (found.word < STACKPACK_REGISTERS)
      keep_register(caller, reg, context, (unsigned)found.word);
  } else if (found.where == IN_MEMORY) {
    if (!target_read(target, found.word, &value) ||
        !saves_are_clear(context, reg, save, found.word))
      return false;
    stackpack_context_save(caller, reg, (uintptr_t *)found.word);
  } else if (found.where == COMPUTED) {
    stackpack_context_set(caller, reg, found.word);
  }
  return true;
}

/* Sets the registers that calls preserve; and where the function waits, the others that it has
 * saved, as LLVM's preserve_mostcc does. */
static bool find_registers(const struct rules *rules, struct target *target, uintptr_t cfa,
                           uintptr_t stack_pointer, struct stackpack_context *caller) {
  uint32_t others = target->context->is_exact == 0 ? rules->others : 0;
  for (unsigned i = 0; i < SAVES; i++)
    if (!find_register(rules, target, unwinder_machine.preserved[i], &rules->saves[i], cfa,
                       stack_pointer, caller))
      return false;
  for (; others != 0; others &= others - 1)
    if (!find_register(rules, target, (unsigned)__builtin_ctz(others), &not_saved, cfa,
                       stack_pointer, caller))
      return false;
  return true;
}

static enum stackpack_unwound cannot_apply(struct unwinder_overlay *unwinder,
                                           const struct target *target) {
  return not_unwound(unwinder, target->reason != STACKPACK_UNWINDER_NO_REASON
                                   ? target->reason
                                   : STACKPACK_UNWINDER_BAD_TABLE);
}

static enum stackpack_unwound apply(struct unwinder_overlay *unwinder, struct target *target,
                                    const struct rules *rules, struct stackpack_context *caller) {
  uintptr_t cfa, pc;
  struct found found;
  if (!find_cfa(rules, target, &cfa))
    return cannot_apply(unwinder, target);
  if ((target->context->is_exact != 0 ||
       target->context->stack_pointer == unwinder->above_interrupted) &&
      landing_begins(rules, target, cfa))
    return not_unwound(unwinder, STACKPACK_UNWINDER_REGISTER);
  if (!apply_rule(rules, target, rules->return_register, cfa, &found))
    return cannot_apply(unwinder, target);
  uintptr_t stack_pointer = cfa;
  mend_return(rules, target, &found, &stack_pointer);
  if (!read_return(target, &found, &pc))
    return cannot_apply(unwinder, target);
  if (!is_return(target, &found, pc, cfa))
    return not_unwound(unwinder, STACKPACK_UNWINDER_BAD_TABLE);
  if (pc == 0)
    return STACKPACK_OUTERMOST;
  *caller =
      (struct stackpack_context){.pc = walk_strip_signature(pc), .stack_pointer = stack_pointer};
  assert(rules->has_saves || target->context->is_exact == 0);
  if (!find_registers(rules, target, cfa, stack_pointer, caller))
    return cannot_apply(unwinder, target);
  if (target->context->is_exact != 0)
    saves_complete(target, rules->saves, stack_pointer, caller);
  return STACKPACK_UNWOUND;
}

static enum stackpack_unwound step_below_signal(struct unwinder_overlay *unwinder,
                                                const struct target *target,
                                                struct stackpack_context *caller) {
  return signal_interrupted(target, caller)
             ? STACKPACK_UNWOUND
             : not_unwound(unwinder, STACKPACK_UNWINDER_OUT_OF_STACK);
}

static enum stackpack_unwound step_without_rules(struct unwinder_overlay *unwinder,
                                                 const struct target *target,
                                                 struct stackpack_context *caller) {
  if (target->reason != STACKPACK_UNWINDER_NO_TABLE)
    return not_unwound(unwinder, target->reason);
  if (signal_returns_at(target->context->pc))
    return step_below_signal(unwinder, target, caller);
  return stub_caller(&unwinder_machine.stubs, target, caller)
             ? STACKPACK_UNWOUND
             : not_unwound(unwinder, target->reason);
}

static enum stackpack_unwound step(struct unwinder_overlay *unwinder, struct target *target,
                                   struct stackpack_context *caller) {
  if (stub_caller(&unwinder_machine.linker, target, caller))
    return STACKPACK_UNWOUND;
  if (stub_is_at(&unwinder_machine.jumps, target->context))
    return not_unwound(unwinder, STACKPACK_UNWINDER_BAD_TABLE);
  const struct rules *rules = rules_find(unwinder, target);
  if (rules == NULL)
    return step_without_rules(unwinder, target, caller);
  return rules->returns_from_signal ? step_below_signal(unwinder, target, caller)
                                    : apply(unwinder, target, rules, caller);
}

enum stackpack_unwound stackpack_unwinder_step(void *unwinder, struct stackpack_stack stack,
                                               struct stackpack_context *context) {
  struct unwinder_overlay *overlay = overlay_of(unwinder);
  struct target target = target_of(stack, context);
  struct stackpack_context caller;
  overlay->reason = STACKPACK_UNWINDER_NO_REASON;
  const enum stackpack_unwound result = step(overlay, &target, &caller);
  if (result != STACKPACK_UNWOUND)
    return result;
  const bool is_above = context->stack_pointer == overlay->above_interrupted;
  const bool counts = context->is_exact != 0 || (is_above && overlay->was_frameless);
  overlay->above_interrupted = counts ? caller.stack_pointer : 0;
  overlay->was_frameless =
      context->is_exact != 0 && caller.stack_pointer - context->stack_pointer <= WORD;
  *context = caller;
  return result;
}
