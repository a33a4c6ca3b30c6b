/* saves.c - the places of an interrupted function's registers, where its unwind rules are
 * incomplete.
 *
 * Unwind rules name a place to read each register, enough for exceptions and debuggers. An update
 * needs more: all places from which the register may be loaded. At a call the rules are enough. But
 * a signal may come at any instruction:
 *
 *   - just after a push: the function will go on with the pushed word, yet the rules name the
 *     register, which still has its value. Compilers let the rules lag behind until that changes.
 *   - in an epilogue, after a pop or load: the register has its value again, yet the rules name the
 *     stack, even below the stack pointer; and so they may where ways with and without a frame
 *     meet. GCC does save registers there, in the red zone: in leaf functions, or before it makes
 *     the frame. After rows with their places in the frame, or with a frame pointer, it has left
 *     the red zone.
 *   - in a part of a function that begins with places in the red zone: GCC's parts have saved the
 *     registers (.text.unlikely), Clang's haven't (-fbasic-block-sections). The two look alike, so
 *     the step fails unless the word and the register are equal.
 *   - on x86-64 after `pop %rbp`, in a function that realigns its stack: GCC's rules go by %rbp to
 *     its very end.
 *   - there, too, in an epilogue with %r13 as the CFA (GCC's find_drap_reg): the rules say that it
 *     has the caller's value again, up to `pop %r13`, the last instruction but one.
 *   - where glibc's longjmp and setcontext go on elsewhere: the CFA is the address of the memory
 *     that has the registers, and no stack pointer. swapcontext's rules are a frame's to its very
 *     end. There the step fails.
 *   - where a throw goes on at its handler, and the frame has gone (landing.c): AArch64 is yet to
 *     add to the stack pointer. There the step fails.
 *   - in prologues and epilogues of AArch64 that the rules pass over (Clang's -Oz, or tables that
 *     aren't asynchronous), and in code without a frame behind those: the return address is in x30,
 *     and the CFA is another one. There the step fails; and in the functions without rules that
 *     Clang makes of parts of prologues and epilogues, and where Clang puts the store of x30 off.
 *
 * So the rules of all of the function's instructions are searched for the place where it saves each
 * register at all: at a distance from its CFA, or from its frame pointer. If that word is within
 * the frame and equal to the register, then both may be loaded, and both are to be updated. An
 * update of a stale one does no harm: it has the caller's value, so it is a copy of the caller's
 * reference, and may be updated, too.
 */
#include "runtime/unwind/unwinder.h"

#include "runtime/walk.h"

/* ---- The function's rules ---- */

struct search {
  const struct eh_frame_entry *entry;
  uintptr_t pc;                  /* where the signal came, */
  const struct frame_rules *now; /* and the row that holds there */
  struct save *saves;
  bool has_other_place; /* a register's, and it isn't below the CFA: so no frame has it */
  bool has_landing;     /* a row is of a function that throws */
  uintptr_t start;      /* of the row `now` */
  bool has_one_row;
  bool starts_with_link; /* saved: the function is a part of another one */
};

static bool has_cfa_by(const struct frame_rules *row, unsigned reg) {
  return row->cfa == RULE_REGISTER && row->cfa_register == reg;
}

/* Whether a register's place is in the frame, or else in the red zone: where the CFA goes by the
 * stack pointer. */
static bool is_in_frame(const struct frame_rules *row, unsigned reg) {
  return (int64_t)row->cfa_value + row->values[reg] >= 0;
}

/* Whether a row shows that a register isn't in the red zone any more, or never was. */
static bool is_above(const struct search *search, const struct frame_rules *row, unsigned reg,
                     struct code_range range) {
  if (has_cfa_by(row, STACKPACK_STACK_POINTER))
    return is_in_frame(row, reg) &&
           (range.end <= search->pc || range.start == search->entry->function.start);
  return range.end <= search->pc && has_cfa_by(row, STACKPACK_FRAME_POINTER) &&
         has_cfa_by(search->now, STACKPACK_STACK_POINTER);
}

static void look_at_place(struct search *search, const struct frame_rules *row, unsigned reg,
                          struct code_range range, struct save *save) {
  search->has_other_place |= row->values[reg] >= 0;
  save->is_above |= is_above(search, row, reg, range);
  save->is_unclear |= range.start == search->entry->function.start &&
                      has_cfa_by(row, STACKPACK_STACK_POINTER) && !is_in_frame(row, reg);
}

static bool is_landing(const struct search *search, const struct frame_rules *row) {
  return landing_is_in(row, rules_others(row, (unsigned)search->entry->cie.facts.return_register));
}

/* Whether a row has the return address in the frame. */
static bool has_saved_link(const struct frame_rules *row) {
  const int link = unwinder_machine.link;
  return link != MACHINE_CALL_PUSHES && row->kinds[link] == RULE_AT && row->values[link] < 0;
}

static bool look_at_row(void *context, struct frame_rules *row, struct code_range range) {
  struct search *search = context;
  search->has_landing |= is_landing(search, row);
  search->has_one_row = range.start == search->entry->function.start;
  search->starts_with_link |= search->has_one_row && has_saved_link(row);
  if (search->pc >= range.start && search->pc < range.end)
    search->start = range.start;
  for (unsigned i = 0; i < SAVES; i++) {
    const unsigned reg = unwinder_machine.preserved[i];
    struct save *save = &search->saves[i];
    save->is_cfa |= has_cfa_by(row, reg) && row->cfa_value == 0 && row->kinds[reg] == RULE_SAME;
    if (row->kinds[reg] == RULE_AT)
      look_at_place(search, row, reg, range, save);
    if (save->from != NOT_SAVED)
      continue;
    if (row->kinds[reg] == RULE_AT)
      save->from = FROM_CFA, save->offset = row->values[reg];
    else if (row->kinds[reg] == RULE_AT_EXPRESSION &&
             expression_is_offset(search->entry->section, row->values[reg], STACKPACK_FRAME_POINTER,
                                  &save->offset))
      save->from = FROM_FRAME_POINTER;
  }
  return true;
}

enum { NEAR = 4096 }; /* at most two pages are read */

/* Whether the function is a part of its caller's prologue or epilogue: it uses a frame, and its
 * rules have none. */
static bool is_outlined(const struct search *search) {
  const struct code_range function = search->entry->function;
  const uintptr_t size =
      function.end - function.start < NEAR ? function.end - function.start : NEAR;
  return search->has_one_row && unwinder_machine.has_frame != NULL &&
         machine_can_read(function.start, size) &&
         unwinder_machine.has_frame(function.start, function.start + size);
}

/* Whether the rules name the return address's place though the function is yet to save it. */
static bool is_early(const struct search *search) {
  const uintptr_t start = search->entry->function.start, size = search->pc - start;
  return has_saved_link(search->now) && !search->starts_with_link && size <= NEAR && size != 0 &&
         unwinder_machine.saves_link != NULL && machine_can_read(start, size) &&
         !unwinder_machine.saves_link(start, search->pc);
}

/* Whether the row `now` is of the place where the signal came: the code from its start on changes
 * nothing that it goes by. Behind an epilogue, ways with and without a frame look alike. */
static bool is_exact(const struct search *search) {
  const bool by_pointer = has_cfa_by(search->now, STACKPACK_FRAME_POINTER);
  const uintptr_t pc = search->pc;
  const uintptr_t from = pc - search->start > NEAR ? pc - NEAR : search->start;
  return unwinder_machine.has_moved == NULL || pc == from ||
         !(by_pointer || has_cfa_by(search->now, STACKPACK_STACK_POINTER)) ||
         !machine_can_read(from, pc - from) || !unwinder_machine.has_moved(from, pc, by_pointer);
}

bool saves_find(const struct eh_frame_entry *entry, uintptr_t pc, const struct frame_rules *now,
                struct save saves[SAVES]) {
  struct search search = {entry, pc, now, saves, false, false, 0, false, false};
  for (unsigned i = 0; i < SAVES; i++)
    saves[i] = (struct save){.from = NOT_SAVED};
  frame_rules_run(&entry->cie.facts, entry->fde, entry->function, look_at_row, &search);
  return is_exact(&search) && !is_outlined(&search) && !is_early(&search) &&
         (!search.has_landing || is_landing(&search, now)) &&
         !machine_is_behind(&unwinder_machine.switches, entry->function.start, pc) &&
         (!search.has_other_place || has_cfa_by(now, STACKPACK_STACK_POINTER) ||
          has_cfa_by(now, STACKPACK_FRAME_POINTER));
}

/* ---- The registers' places ---- */

/* The function may load the word or keep the register. */
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

bool saves_are_possible(const struct stackpack_context *context, const struct save *save,
                        uintptr_t cfa, uintptr_t place) {
  const uintptr_t red_zone = save->is_above ? 0 : unwinder_machine.red_zone;
  return place < cfa && place + red_zone >= context->stack_pointer;
}

bool saves_are_clear(const struct stackpack_context *context, unsigned reg, const struct save *save,
                     uintptr_t place) {
  return context->is_exact == 0 || !save->is_unclear || save->is_above ||
         place >= context->stack_pointer ||
         (walk_knows(context, reg) && *(uintptr_t *)place == walk_register(context, reg));
}

/* The place where the function saves a register, if it has done so yet; 0 if that is outside the
 * frame. */
static uintptr_t place_of(const struct save *save, const struct target *target, uintptr_t cfa) {
  const struct stackpack_context *context = target->context;
  uintptr_t place = 0;
  if (save->from == FROM_CFA)
    place = cfa + (uintptr_t)(intptr_t)save->offset;
  else if (save->from == FROM_FRAME_POINTER && walk_knows(context, STACKPACK_FRAME_POINTER))
    place = walk_register(context, STACKPACK_FRAME_POINTER) + (uintptr_t)(intptr_t)save->offset;
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
    if (caller->registers[reg] == context->registers[reg]) /* unsaved, by the rules */
      place = (uintptr_t *)place_of(&saves[i], target, cfa);
    else if ((caller->in_memory >> reg & 1) == 0)
      continue; /* computed */
    if (place != NULL && saves[i].is_cfa && walk_register(context, reg) == cfa)
      stackpack_context_save(caller, reg, place);
    else if (place != NULL && *place == walk_register(context, reg))
      take_both(caller, context, reg, place);
  }
}
