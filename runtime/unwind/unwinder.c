/* unwinder.c - one step from a frame to its caller's, by unwind tables.
 *
 * A context says where a computation will go on, and what its registers will be: of the stack
 * pointer and the program counter it has the values, of the others the places from which they will
 * be loaded. A step works out the same for the caller. libunwind is given the context as its
 * innermost frame (target.c) and the rules for its address (rules.c), and applies them:
 *
 *   - The caller's stack pointer is the frame's CFA, its "canonical frame address", from which the
 *     rules compute all else (DWARF 5, 6.4). It is asked for as such. libgcc's _Unwind_GetGR, asked
 *     for the stack pointer as register 7, reads through a null pointer, as no frame has saved it.
 *   - A register that the frame has saved is where the rules say, in the stack.
 *   - One that it hasn't touched is where it was: in a place that an inner frame saved it in, or in
 *     the context that the walk started with. To write there is to change the register.
 *
 * libunwind's cursor lives as long as one step, so that a walk may come with any frame at any time.
 */
#include "runtime/unwind/unwinder.h"

#include "runtime/walk.h"

#include <stdlib.h>

static struct unwinder_overlay *overlay_of(struct stackpack_unwinder *unwinder) {
  return (struct unwinder_overlay *)unwinder->private_;
}

enum stackpack_error stackpack_unwinder_open(struct stackpack_unwinder *unwinder) {
  struct unwinder_overlay *overlay = overlay_of(unwinder);
  *overlay = (struct unwinder_overlay){0};
  unw_accessors_t accessors = target_accessors; /* which libunwind copies */
  overlay->space = unw_create_addr_space(&accessors, 0);
  if (overlay->space == NULL)
    return STACKPACK_NO_MEMORY;
  unw_set_caching_policy(overlay->space, UNW_CACHE_NONE);
  const enum stackpack_error error = rules_open(overlay);
  if (error != STACKPACK_OK)
    stackpack_unwinder_close(unwinder);
  return error;
}

void stackpack_unwinder_close(struct stackpack_unwinder *unwinder) {
  struct unwinder_overlay *overlay = overlay_of(unwinder);
  free(overlay->rules);
  if (overlay->space != NULL)
    unw_destroy_addr_space(overlay->space);
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
  switch (reason) {
  case STACKPACK_UNWINDER_NO_REASON:
    return "no reason";
  case STACKPACK_UNWINDER_NO_TABLE:
    return "no unwind table covers the address";
  case STACKPACK_UNWINDER_BAD_TABLE:
    return "the unwind table can't be used";
  case STACKPACK_UNWINDER_REGISTER:
    return "the frame is found by a register that isn't known";
  case STACKPACK_UNWINDER_OUT_OF_STACK:
    return "what the frame has saved would be outside the stack, or misaligned";
  }
  return "an unknown reason";
}

static enum stackpack_unwound not_unwound(struct unwinder_overlay *unwinder,
                                          enum stackpack_unwinder_reason reason) {
  unwinder->reason = reason;
  return STACKPACK_NOT_UNWOUND;
}

/* ---- A step ---- */

void keep_register(struct stackpack_context *to, unsigned reg, const struct stackpack_context *from,
                   unsigned other) {
  to->known |= (from->known >> other & 1) << reg;
  to->in_memory |= (from->in_memory >> other & 1) << reg;
  to->doubled |= (from->doubled >> other & 1) << reg;
  to->registers[reg] = from->registers[other];
  to->seconds[reg] = from->seconds[other];
}

/* Sets a register of the caller. False if its place is outside the stack. */
static bool find_register(unw_cursor_t *cursor, const struct target *target, unsigned reg,
                          uintptr_t cfa, struct stackpack_context *caller) {
  const struct stackpack_context *context = target->context;
  unw_save_loc_t saved;
  unw_word_t value;
  if (unw_get_save_loc(cursor, (int)reg, &saved) < 0 || saved.type == UNW_SLT_NONE)
    return true;
  if (saved.type == UNW_SLT_REG) {
    if (saved.u.regnum >= 0 && saved.u.regnum < STACKPACK_REGISTERS)
      keep_register(caller, reg, context, (unsigned)saved.u.regnum);
    return true;
  }
  if (context->is_exact != 0 && !saves_are_possible(context, cfa, saved.u.addr)) {
    keep_register(caller, reg, context, reg); /* it has been restored: see saves.c */
    return true;
  }
  if (!target_has_word(target, saved.u.addr) || unw_get_reg(cursor, (int)reg, &value) < 0)
    return false;
  /* Where the rule computes the value itself, and no place, libunwind gives the value as one. */
  uintptr_t *place = (uintptr_t *)saved.u.addr;
  if (value == *place)
    stackpack_context_save(caller, reg, place);
  else
    stackpack_context_set(caller, reg, value);
  return true;
}

/* Where a call leaves the return address in a register, the rules are to be read with care at two
 * places of glibc's _dl_runtime_resolve: they leave out what the stub before it has pushed, the
 * return address uppermost, so that this is above the CFA; and at its end they still name that
 * place, below the stack pointer then, when the register has the return address again. */
static void mend_return(unw_cursor_t *cursor, const struct stackpack_context *context,
                        unw_word_t *pc, unw_word_t *stack_pointer) {
  const int link = unwinder_machine.link;
  unw_save_loc_t saved;
  if (link == MACHINE_CALL_PUSHES || unw_get_save_loc(cursor, link, &saved) < 0 ||
      saved.type != UNW_SLT_MEMORY)
    return;
  if (saved.u.addr >= *stack_pointer)
    *stack_pointer = saved.u.addr + WORD;
  if (context->is_exact != 0 && saved.u.addr < context->stack_pointer &&
      walk_knows(context, (unsigned)link))
    *pc = walk_register(context, (unsigned)link);
}

static enum stackpack_unwound apply(struct unwinder_overlay *unwinder, struct target *target,
                                    struct rules *rules, struct stackpack_context *caller) {
  unw_cursor_t cursor;
  unw_word_t pc, stack_pointer;
  if (unw_init_remote(&cursor, unwinder->space, target) < 0 ||
      unw_apply_reg_state(&cursor, rules->words) < 0 || unw_get_reg(&cursor, UNW_REG_IP, &pc) < 0 ||
      unw_get_reg(&cursor, UNW_REG_SP, &stack_pointer) < 0)
    return not_unwound(unwinder, target->reason != STACKPACK_UNWINDER_NO_REASON
                                     ? target->reason
                                     : STACKPACK_UNWINDER_BAD_TABLE);
  mend_return(&cursor, target->context, &pc, &stack_pointer);
  /* libunwind takes a return address at address 0 for one that the rules leave undefined. */
  if (pc == 0)
    return target_has_word(target, stack_pointer - WORD)
               ? STACKPACK_OUTERMOST
               : not_unwound(unwinder, STACKPACK_UNWINDER_OUT_OF_STACK);
  *caller =
      (struct stackpack_context){.pc = walk_strip_signature(pc), .stack_pointer = stack_pointer};
  for (unsigned i = 0; i < SAVES; i++)
    if (!find_register(&cursor, target, unwinder_machine.preserved[i], stack_pointer, caller))
      return not_unwound(unwinder, STACKPACK_UNWINDER_OUT_OF_STACK);
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
  struct rules *rules = rules_find(unwinder, target);
  if (rules == NULL)
    return step_without_rules(unwinder, target, caller);
  return rules->returns_from_signal != 0 ? step_below_signal(unwinder, target, caller)
                                         : apply(unwinder, target, rules, caller);
}

enum stackpack_unwound stackpack_unwinder_step(void *unwinder, struct stackpack_stack stack,
                                               struct stackpack_context *context) {
  struct unwinder_overlay *overlay = overlay_of(unwinder);
  struct target target = target_of(stack, context);
  struct stackpack_context caller;
  overlay->reason = STACKPACK_UNWINDER_NO_REASON;
  const enum stackpack_unwound result = step(overlay, &target, &caller);
  if (result == STACKPACK_UNWOUND)
    *context = caller;
  return result;
}
