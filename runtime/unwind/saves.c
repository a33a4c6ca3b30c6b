/* saves.c - where an interrupted function has a register, when its unwind rules don't say all.
 *
 * Unwind rules tell where the registers can be read, which is all that exceptions and debuggers
 * need. To update a register is more: all places from which it may be loaded must be known. At a
 * call the rules are enough. But a signal may come at any instruction:
 *
 *   - just after a push: the function will go on with the pushed word, yet the rules name the register,
 *     which still has its value. Compilers let the rules lag behind until that changes.
 *   - in an epilogue, after a pop or load: the register has its value again, yet the rules name the
 *     stack, even below the stack pointer.
 *   - on x86-64 after `pop %rbp`, in a function that realigns its stack: GCC's rules go by %rbp to its
 *     very end.
 *
 * So the rules of all of the function's instructions are looked at, for where it saves each
 * register at all: at a distance from its CFA, or from its frame pointer. If that word is within
 * the frame and has the value that the register has, then both may be loaded, and both are to be
 * updated. To write to the one that isn't loaded any more does no harm: it has the value that is
 * the caller's, so it is a copy of the caller's reference, which is to be updated, too.
 *
 * Rules are opaque here. What they say is found by trial: they are applied to two frames that don't
 * exist, which are at different addresses.
 */
#include "runtime/unwind/unwinder.h"

#include "runtime/walk.h"

enum { TRIALS = 2 };

/* ---- What the function's rules say ---- */

struct trial {
  uintptr_t frame_pointer;
  bool worked;
  uintptr_t cfa;
  uintptr_t places[SAVES]; /* 0: not saved */
};

static struct trial try_rules(const struct unwinder_overlay *unwinder, const struct target *target,
                              void *rules, unsigned number) {
  struct trial trial = {.frame_pointer = 0x20000000 + number * 0x300000};
  struct stackpack_context context = {
      .pc = target->pc, .stack_pointer = 0x10000000 + number * 0x100000, .known = ~0u};
  for (unsigned reg = 0; reg < STACKPACK_REGISTERS; reg++)
    context.registers[reg] = 0x30000000 + (reg << 20) + number * 0x700000;
  context.registers[STACKPACK_FRAME_POINTER] = trial.frame_pointer;
  struct target nowhere = *target;
  nowhere.context = &context;
  nowhere.is_trial = true;
  unw_cursor_t cursor;
  unw_word_t cfa;
  if (unw_init_remote(&cursor, unwinder->space, &nowhere) < 0 ||
      unw_apply_reg_state(&cursor, rules) < 0 || unw_get_reg(&cursor, UNW_REG_SP, &cfa) < 0)
    return trial;
  trial.worked = true;
  trial.cfa = cfa;
  for (unsigned i = 0; i < SAVES; i++) {
    unw_save_loc_t saved;
    if (unw_get_save_loc(&cursor, unwinder_machine.preserved[i], &saved) >= 0 &&
        saved.type == UNW_SLT_MEMORY)
      trial.places[i] = saved.u.addr;
  }
  return trial;
}

struct search {
  const struct unwinder_overlay *unwinder;
  const struct target *target;
  struct save *saves;
};

static int look_at_rules(void *token, void *rules, size_t size, unw_word_t start, unw_word_t end) {
  (void)size, (void)start, (void)end;
  const struct search *search = token;
  struct trial trials[TRIALS];
  for (unsigned number = 0; number < TRIALS; number++)
    trials[number] = try_rules(search->unwinder, search->target, rules, number);
  if (!trials[0].worked || !trials[1].worked)
    return 0;
  for (unsigned i = 0; i < SAVES; i++) {
    struct save *save = &search->saves[i];
    const uintptr_t place = trials[0].places[i], other = trials[1].places[i];
    if (place == 0 || other == 0 || save->from != NOT_SAVED)
      continue;
    if (place - trials[0].cfa == other - trials[1].cfa)
      *save = (struct save){FROM_CFA, (int64_t)(place - trials[0].cfa)};
    else if (place - trials[0].frame_pointer == other - trials[1].frame_pointer)
      *save = (struct save){FROM_FRAME_POINTER, (int64_t)(place - trials[0].frame_pointer)};
  }
  return 0;
}

void saves_find(const struct unwinder_overlay *unwinder, const struct target *target,
                struct save saves[SAVES]) {
  struct target copy = *target;
  struct search search = {unwinder, target, saves};
  unw_cursor_t cursor;
  for (unsigned i = 0; i < SAVES; i++)
    saves[i] = (struct save){NOT_SAVED, 0};
  if (unw_init_remote(&cursor, unwinder->space, &copy) >= 0)
    unw_reg_states_iterate(&cursor, look_at_rules, &search);
}

/* ---- Where the registers are ---- */

/* Both the word and the register may be what the function loads. */
static void take_both(struct stackpack_context *caller, const struct stackpack_context *context,
                      unsigned reg, uintptr_t *place) {
  const uintptr_t word = context->registers[reg];
  if ((context->in_memory >> reg & 1) != 0) {
    stackpack_context_save(caller, reg, place);
    caller->doubled |= 1u << reg;
    caller->seconds[reg] = word;
  } else {
    stackpack_context_set(caller, reg, word); /* can't be updated in both */
  }
}

bool saves_are_possible(const struct stackpack_context *context, uintptr_t cfa, uintptr_t place) {
  return place < cfa && place + unwinder_machine.red_zone >= context->stack_pointer;
}

/* Where the function saves a register, if it has done so yet; 0 if that isn't within the frame. */
static uintptr_t place_of(const struct save *save, const struct target *target, uintptr_t cfa) {
  const struct stackpack_context *context = target->context;
  uintptr_t place = 0;
  if (save->from == FROM_CFA)
    place = cfa + (uintptr_t)save->offset;
  else if (save->from == FROM_FRAME_POINTER && walk_knows(context, STACKPACK_FRAME_POINTER))
    place = walk_register(context, STACKPACK_FRAME_POINTER) + (uintptr_t)save->offset;
  return place >= context->stack_pointer && place < cfa && target_has_word(target, place) ? place
                                                                                          : 0;
}

void saves_complete(const struct target *target, const struct save saves[SAVES], uintptr_t cfa,
                    struct stackpack_context *caller) {
  const struct stackpack_context *context = target->context;
  for (unsigned i = 0; i < SAVES; i++) {
    const unsigned reg = unwinder_machine.preserved[i];
    uintptr_t *place = (uintptr_t *)caller->registers[reg];
    if (!walk_knows(context, reg) || !walk_knows(caller, reg))
      continue;
    if (caller->registers[reg] == context->registers[reg]) /* not saved, by the rules */
      place = (uintptr_t *)place_of(&saves[i], target, cfa);
    else if ((caller->in_memory >> reg & 1) == 0)
      continue; /* computed */
    if (place != NULL && *place == walk_register(context, reg))
      take_both(caller, context, reg, place);
  }
}
