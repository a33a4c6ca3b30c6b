/* unit.c - tests a function's steps, its blocks, and the states that they are entered with. The instructions are those that
 * assemblers give for the text beside them.
 */
#include "tool/flow/unit.h"
#include "suite.h"

#include <elf.h>

enum { ADDRESS = 0x401000 };

static struct unit open_unit(uint16_t machine, const char *bytes, size_t size) {
  struct unit unit = unit_open(code_architecture(machine), &(struct parts){.is_fixed = true});
  unit_add(&unit, ADDRESS, (const uint8_t *)bytes, size);
  return unit;
}

#define OPEN(machine, bytes) open_unit(machine, bytes, sizeof(bytes) - 1)

static const struct unit_step *step_at(const struct unit *unit, uint64_t offset) {
  return unit_step(unit, ADDRESS + offset);
}

#define PUSH "\x50"                      /* push %rax */
#define POP "\x58"                       /* pop %rax */
#define RETURN "\xc3"                    /* ret */
#define CALL_AWAY "\xe8\x00\x00\x10\x00" /* call of another function */
#define LINK_TO_X9 "\xe9\x03\x1e\xaa"    /* mov x9, x30 */
#define CHANGE_X9 "\x29\x05\x00\x91"     /* add x9, x9, #1 */
#define LINK_FROM_X9 "\xfe\x03\x09\xaa"  /* mov x30, x9 */
#define ARM_RETURN "\xc0\x03\x5f\xd6"    /* ret */

/* ---- Steps and blocks ---- */

/* Nops inside of another instruction are decoded only where a block starts. */
TEST(a_block_inside_an_instruction) {
  struct unit unit =
      OPEN(EM_X86_64, "\x48\xb8\x90\x90\x90\x90\x90\x90\x90\x90" RETURN); /* movabs */
  ck_assert_uint_eq(unit.step_count, 2);
  ck_assert_uint_eq(step_at(&unit, 0)->length, 10);
  ck_assert_uint_eq(step_at(&unit, 10)->kind, CODE_RETURN);
  ck_assert_ptr_null(step_at(&unit, 4));
  ck_assert_ptr_null(step_at(&unit, 11));
  ck_assert_ptr_null(unit_step(&unit, ADDRESS - 1));
  unit_start(&unit, ADDRESS - 1);
  unit_start(&unit, ADDRESS + 11);
  unit_start(&unit, ADDRESS + 10);
  unit_start(&unit, ADDRESS + 4);
  ck_assert_uint_eq(unit.step_count, 2 + 6);
  unit_make_blocks(&unit);
  ck_assert_uint_eq(unit.block_count, 3); /* in the order of decoding */
  ck_assert_uint_eq(step_at(&unit, 0)->block, 0);
  ck_assert_uint_eq(step_at(&unit, 10)->block, 1);
  ck_assert_uint_eq(step_at(&unit, 4)->block, 2);
  ck_assert_uint_eq(step_at(&unit, 9)->block, 2);
  unit_clear(&unit);
  ck_assert_ptr_null(step_at(&unit, 0));
  unit_close(&unit);
}

/* Direct jumps and branches start blocks where they go to; calls, and jumps by a word of memory, start none. */
TEST(blocks_of_jumps) {
  struct unit unit = OPEN(EM_X86_64, "\x75\x03"                   /* 0: jne 5 */
                          PUSH "\xeb\x02"                         /* 3: jmp 7 */
                          PUSH POP                                /* 5 */
                              POP POP                             /* 7 */
                                     "\xe8\xfa\xff\xff\xff"       /* 9: call 8 */
                                     "\xff\x25\xf2\xff\xff\xff"); /* 14: jmp *6(.) */
  static const uint32_t starts[] = {0, 2, 5, 7};
  unit_start_targets(&unit);
  unit_make_blocks(&unit);
  ck_assert_uint_eq(unit.block_count, 4);
  for (uint32_t i = 0; i < 4; i++)
    ck_assert_uint_eq(unit.steps[unit.blocks[i].first].address, ADDRESS + starts[i]);
  ck_assert(step_at(&unit, 14)->is_after_call && !step_at(&unit, 9)->is_after_call);
  ck_assert(!unit_goes_beyond(&unit, step_at(&unit, 9)));
  ck_assert(unit_goes_beyond(&unit, step_at(&unit, 14)));
  unit_close(&unit);
}

TEST(blocks_of_several_ranges) {
  static const char code[] = CALL_AWAY RETURN, more[] = POP RETURN;
  struct unit unit = OPEN(EM_X86_64, CALL_AWAY);
  unit_add(&unit, ADDRESS + 0x100, (const uint8_t *)more, 2);
  ck_assert(step_at(&unit, 0x100)->is_start && !step_at(&unit, 0x100)->is_after_call);
  ck_assert_uint_eq(step_at(&unit, 0x101)->kind, CODE_RETURN);
  ck_assert_ptr_null(step_at(&unit, 0x102));
  unit_make_blocks(&unit);
  ck_assert_uint_eq(unit.block_count, 2);
  unit_clear(&unit);
  unit_add(&unit, ADDRESS, (const uint8_t *)code, sizeof code - 1);
  ck_assert_uint_eq(unit.step_count, 2);
  ck_assert(step_at(&unit, 5)->is_after_call && !step_at(&unit, 5)->is_start);
  unit_close(&unit);
}

/* The places of an earlier unit's steps are forgotten. */
TEST(a_range_after_a_cleared_one) {
  struct unit unit = OPEN(EM_X86_64, PUSH POP RETURN);
  unit_clear(&unit);
  unit_add(&unit, ADDRESS, (const uint8_t *)RETURN, 1);
  unit_add(&unit, ADDRESS + 0x100, (const uint8_t *)POP RETURN, 2);
  ck_assert_uint_eq(unit.step_count, 3);
  ck_assert_uint_eq(step_at(&unit, 0x100)->address, ADDRESS + 0x100);
  unit_close(&unit);
}

/* Bytes that are no instruction end a block. */
TEST(invalid_instructions_end_blocks) {
  struct unit unit = OPEN(EM_X86_64, "\x06" POP RETURN);
  ck_assert_uint_eq(step_at(&unit, 0)->kind, CODE_INVALID);
  unit_make_blocks(&unit);
  ck_assert_uint_eq(unit.block_count, 2);
  unit_close(&unit);
}

/* ---- States ---- */

TEST(blocks_are_entered_at_their_start) {
  struct unit unit = OPEN(EM_X86_64, PUSH POP RETURN);
  const struct state start = state_at_start(unit.architecture);
  unit_make_blocks(&unit);
  ck_assert(!unit_enter(&unit, ADDRESS + 1, &start, false));
  ck_assert(!unit_enter(&unit, ADDRESS + 3, &start, false));
  ck_assert(!unit.blocks[0].is_reached);
  ck_assert(unit_enter(&unit, ADDRESS, &start, true));
  ck_assert(unit.blocks[0].is_reached && unit.blocks[0].is_guessed);
  unit_close(&unit);
}

/* At the start of a block. */
struct entered {
  struct state state;
  bool is_guessed;
};

/* A state that is entered, and one more: where one of them is guessed, and they contradict each other, the other one
 * counts. */
static struct entered enter_two(uint16_t machine, const struct state *first, bool is_first_guessed,
                                const struct state *second, bool is_second_guessed) {
  struct unit unit = machine == EM_X86_64 ? OPEN(machine, RETURN) : OPEN(machine, ARM_RETURN);
  unit_make_blocks(&unit);
  ck_assert(unit_enter(&unit, ADDRESS, first, is_first_guessed));
  ck_assert(unit_enter(&unit, ADDRESS, second, is_second_guessed));
  const struct entered entered = {unit_state(&unit, &unit.blocks[0]), unit.blocks[0].is_guessed};
  unit_close(&unit);
  return entered;
}

TEST(guessed_depths) {
  const struct state start = state_at_start(code_architecture(EM_X86_64));
  struct state deep = start, unknown = start;
  deep.stack.offset = -8;
  unknown.stack.is_known = false;
  struct entered block = enter_two(EM_X86_64, &deep, true, &start, false);
  ck_assert(block.state.stack.is_known && block.state.stack.offset == 0 && !block.is_guessed);
  block = enter_two(EM_X86_64, &start, false, &deep, true);
  ck_assert(block.state.stack.is_known && block.state.stack.offset == 0 && !block.is_guessed);
  block = enter_two(EM_X86_64, &start, true, &deep, true);
  ck_assert(!block.state.stack.is_known && block.is_guessed);
  block = enter_two(EM_X86_64, &start, false, &deep, false);
  ck_assert(!block.state.stack.is_known && !block.is_guessed);
  block = enter_two(EM_X86_64, &start, true, &start, false);
  ck_assert(block.state.stack.is_known && !block.is_guessed);
  block = enter_two(EM_X86_64, &unknown, true, &start, false);
  ck_assert(!block.state.stack.is_known && !block.is_guessed);
  block = enter_two(EM_X86_64, &start, true, &unknown, false);
  ck_assert(!block.state.stack.is_known && !block.is_guessed);
}

/* A call may have lost the return address in the link register: then no control that comes after it goes where that is still
 * there. */
TEST(guessed_link_registers) {
  const struct state start = state_at_start(code_architecture(EM_AARCH64));
  struct state lost = start, stored = start, copied = start;
  lost.own = stored.own = copied.own = start.own & KEPT_REGISTERS;
  stored.stored = KEPT_LINK_BIT;
  copied.link_copies = 1u << 9;
  struct entered block = enter_two(EM_AARCH64, &lost, true, &start, false);
  ck_assert((block.state.own & KEPT_LINK_BIT) != 0 && !block.is_guessed);
  block = enter_two(EM_AARCH64, &start, false, &lost, true);
  ck_assert((block.state.own & KEPT_LINK_BIT) != 0 && !block.is_guessed);
  block = enter_two(EM_AARCH64, &stored, true, &start, false);
  ck_assert((block.state.own & KEPT_LINK_BIT) == 0);
  block = enter_two(EM_AARCH64, &copied, true, &start, false);
  ck_assert((block.state.own & KEPT_LINK_BIT) == 0);
  block = enter_two(EM_AARCH64, &lost, true, &stored, false);
  ck_assert((block.state.stored & KEPT_LINK_BIT) == 0 && !block.is_guessed);
  block = enter_two(EM_X86_64, &lost, true, &start, false); /* which has no such register */
  ck_assert((block.state.own & KEPT_LINK_BIT) == 0);
}

/* ---- Following ---- */

struct run {
  unsigned left, guessed, visited;
};

static void leave(void *context, struct unit *unit, const struct unit_step *step,
                  const struct state *state) {
  struct run *run = context;
  run->left++;
  if (step->kind == CODE_CALL)
    unit_guess(unit, step);
  else if (!code_ends(step->kind))
    unit_go_on(unit, step, state);
}

static void guess(void *context, struct unit *unit, const struct unit_step *step,
                  const struct state *state) {
  ((struct run *)context)->guessed++;
  (void)unit_enter(unit, unit_after(step), state, true);
}

static void visit(void *context, const struct unit_step *step, const struct state *before,
                  const struct state *after, const struct state_uses *uses) {
  (void)step;
  (void)uses;
  ck_assert(before->stack.is_known && after->stack.is_known);
  ((struct run *)context)->visited++;
}

TEST(calls_that_may_return_come_last) {
  struct run run = {0};
  const struct unit_hooks hooks = {.context = &run, .leave = leave, .guess = guess};
  struct unit unit = OPEN(EM_X86_64, PUSH CALL_AWAY POP RETURN);
  const struct state start = state_at_start(unit.architecture);
  unit_start(&unit, ADDRESS + 6);
  unit_make_blocks(&unit);
  ck_assert_uint_eq(unit.block_count, 2);
  ck_assert(unit_enter(&unit, ADDRESS, &start, false));
  unit_run(&unit, &hooks);
  ck_assert_uint_eq(run.left, 2);
  ck_assert_uint_eq(run.guessed, 1);
  ck_assert(unit.blocks[1].is_reached && unit.blocks[1].is_guessed && !unit.blocks[1].is_waiting);
  ck_assert_int_eq(unit_state(&unit, &unit.blocks[1]).stack.offset, -8);
  ck_assert_int_eq(unit_visit(&unit, &hooks, 0, NULL).stack.offset, -8);
  (void)unit_visit(&unit, &hooks, 0, visit);
  ck_assert_uint_eq(run.visited, 2);
  unit_close(&unit);
}

/* A jump enters an instruction, and the code from there meets the code after it: both ways are joined. */
TEST(runs_that_meet) {
  struct run run = {0};
  const struct unit_hooks hooks = {.context = &run, .leave = leave};
  struct unit unit = OPEN(EM_X86_64, "\x75\x04"              /* 0: jne 6 */
                                     "\xb8\x00\x00\x00" PUSH /* 2: mov $0x50000000, %eax */
                                         RETURN);            /* 7 */
  const struct state start = state_at_start(unit.architecture);
  unit_start_targets(&unit);
  ck_assert(unit_ends_block(&unit, 1) && unit_ends_block(&unit, 3));
  unit_make_blocks(&unit);
  ck_assert_uint_eq(unit.block_count, 4);
  ck_assert(unit_enter(&unit, ADDRESS, &start, false));
  ck_assert(unit_enter(&unit, ADDRESS + 6, &start, false));
  unit_run(&unit, &hooks);
  ck_assert(!unit_visit(&unit, &hooks, step_at(&unit, 7)->block, NULL).stack.is_known);
  unit_close(&unit);
}

/* An instruction that is idle elsewhere may change a copy of the return address. */
TEST(copies_of_the_link_register) {
  struct run run = {0};
  const struct unit_hooks hooks = {.context = &run, .leave = leave};
  struct unit unit = OPEN(EM_AARCH64, LINK_TO_X9 CHANGE_X9 LINK_FROM_X9 ARM_RETURN);
  const struct state start = state_at_start(unit.architecture);
  ck_assert(step_at(&unit, 4)->is_idle);
  unit_make_blocks(&unit);
  ck_assert(unit_enter(&unit, ADDRESS, &start, false));
  unit_run(&unit, &hooks);
  const struct state end = unit_visit(&unit, &hooks, 0, NULL);
  ck_assert(!state_is_level(&end, unit.architecture));
  (void)unit_visit(&unit, &hooks, 0, visit);
  ck_assert_uint_eq(run.visited, 4);
  unit_close(&unit);
}
