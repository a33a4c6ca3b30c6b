/* state.c - tests the states of the stack and of the caller's values: each instruction's effect, joins, and returns. The
 * instructions are those that assemblers give for the text beside them.
 */
#include "tool/flow/state.h"
#include "suite.h"

#include <elf.h>
#include <string.h>

enum { LAST = KEPT_LINK, ADDRESS = 0x401000 };

static struct state_uses follow(struct state *state, uint16_t machine, const char *bytes,
                                size_t size) {
  const struct code_architecture *architecture = code_architecture(machine);
  struct state_uses uses = {0};
  for (size_t at = 0; at < size;) {
    struct code_instruction instruction;
    architecture->decode((const uint8_t *)bytes + at, size - at, ADDRESS + at, &instruction);
    ck_assert_uint_ne(instruction.kind, CODE_INVALID);
    instruction.address = ADDRESS + at;
    uses = state_follow(state, architecture, &instruction);
    at += instruction.length;
  }
  return uses;
}

#define X86(state, bytes) follow(state, EM_X86_64, bytes, sizeof(bytes) - 1)
#define ARM(state, bytes) follow(state, EM_AARCH64, bytes, sizeof(bytes) - 1)

static struct state start_of(uint16_t machine) {
  return state_at_start(code_architecture(machine));
}

static bool is_level(const struct state *state, uint16_t machine) {
  return state_is_level(state, code_architecture(machine));
}

#define PUSH_RBP "\x55"
#define POP_RBP "\x5d"
#define PUSH_RBX "\x53"
#define POP_RBX "\x5b"
#define RAISE_8 "\x48\x83\xc4\x08"         /* add $8, %rsp */
#define LOWER_8 "\x48\x83\xec\x08"         /* sub $8, %rsp */
#define FRAME "\x48\x89\xe5"               /* mov %rsp, %rbp */
#define NO_FRAME "\x31\xed"                /* xor %ebp, %ebp */
#define SWITCH "\x48\x89\xcc"              /* mov %rcx, %rsp */
#define STORE_RETURN "\x48\x89\x04\x24"    /* mov %rax, (%rsp) */
#define LOAD_RETURN "\x48\x8b\x04\x24"     /* mov (%rsp), %rax */
#define STORE_BELOW "\x48\x89\x44\x24\xf8" /* mov %rax, -8(%rsp) */

/* ---- Returns ---- */

TEST(a_start_is_level) {
  const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_RISCV};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    const struct state state = start_of(machines[i]);
    ck_assert(is_level(&state, machines[i]));
  }
}

TEST(each_fact_of_a_return_counts) {
  static const char *const odd[] = {PUSH_RBX, RAISE_8, STORE_RETURN, NO_FRAME, SWITCH};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    struct state state = start_of(EM_X86_64);
    follow(&state, EM_X86_64, odd[i], strlen(odd[i]));
    ck_assert_msg(!is_level(&state, EM_X86_64), "%zu", i);
  }
  struct state state = start_of(EM_X86_64);
  X86(&state, PUSH_RBP FRAME LOWER_8 STORE_BELOW RAISE_8 POP_RBP);
  ck_assert(is_level(&state, EM_X86_64));
  ck_assert_uint_eq(state.own, KEPT_REGISTERS);
}

TEST(a_register_is_loaded_from_its_place_alone) {
  struct state state = start_of(EM_X86_64);
  X86(&state, PUSH_RBX LOWER_8 "\x31\xdb"); /* xor %ebx, %ebx */
  const struct state without = state;
  ck_assert_uint_ne(without.own, KEPT_REGISTERS);
  X86(&state, RAISE_8 POP_RBX);
  ck_assert_uint_eq(state.own, KEPT_REGISTERS);
  state = without;
  X86(&state, POP_RBX RAISE_8); /* the word below */
  ck_assert_uint_eq(state.own, without.own);
  state = without;
  X86(&state, "\x88\x44\x24\x0f" RAISE_8 POP_RBX); /* mov %al, 15(%rsp): its last byte */
  ck_assert_uint_eq(state.own, without.own);
  state = start_of(EM_X86_64);
  X86(&state, PUSH_RBX NO_FRAME POP_RBP); /* another register's */
  ck_assert(!is_level(&state, EM_X86_64));
}

TEST(the_return_address_is_read) {
  struct state state = start_of(EM_X86_64);
  ck_assert(X86(&state, LOAD_RETURN).reads_return_surely);
  ck_assert(!X86(&state, PUSH_RBX LOAD_RETURN).reads_return);
}

/* The word above the return address is the caller's. */
TEST(a_store_beside_the_return_address) {
  struct state state = start_of(EM_X86_64);
  X86(&state, "\x48\x89\x44\x24\x08"); /* mov %rax, 8(%rsp) */
  ck_assert(is_level(&state, EM_X86_64));
  X86(&state, "\x48\x89\x44\x24\xf8"); /* mov %rax, -8(%rsp) */
  ck_assert(is_level(&state, EM_X86_64));
  X86(&state, "\x48\x89\x44\x24\x07"); /* mov %rax, 7(%rsp) */
  ck_assert(!is_level(&state, EM_X86_64));
}

TEST(a_stack_has_a_largest_depth) {
  struct state state = start_of(EM_X86_64);
  X86(&state, "\x48\x81\xec\x00\x00\x00\x20"); /* sub $0x20000000, %rsp */
  ck_assert(state.stack.is_known);
  X86(&state, LOWER_8);
  ck_assert(!state.stack.is_known && !state.stack.is_foreign);
}

TEST(a_depth_is_sure_up_to_a_call) {
  struct state state = start_of(EM_X86_64);
  ck_assert(state.stack.is_sure);
  X86(&state, PUSH_RBX);
  ck_assert(state.stack.is_sure && state.sure >> 1 != 0);
  X86(&state, "\xe8\x00\x00\x10\x00"); /* call of another function */
  ck_assert(state.stack.is_known && !state.stack.is_sure);
}

TEST(others_may_use_an_address) {
  struct state state = start_of(EM_X86_64);
  const struct state_uses uses =
      X86(&state, LOWER_8 "\x48\x8d\x44\x24\x08"); /* lea 8(%rsp), %rax */
  ck_assert(uses.memory.is_known && uses.memory.is_address);
  ck_assert_int_eq(uses.memory.at, 0);
  ck_assert(is_level(
      &(struct state){.stack = {.is_known = true}, .own = 1, .stored = KEPT_LINK_BIT}, EM_X86_64));
}

TEST(instructions_apart_keep_all_states) {
  static const struct {
    const char *bytes;
    bool is_kept;
  } ways[] = {{"\x31\xc0", true},  /* xor %eax, %eax */
              {"\x31\xdb", false}, /* xor %ebx, %ebx */
              {PUSH_RBX, false},    {FRAME, false},     {NO_FRAME, false},
              {LOAD_RETURN, false}, {"\xff\xd0", false}}; /* call *%rax */
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    const struct code_architecture *architecture = code_architecture(EM_X86_64);
    struct code_instruction instruction;
    architecture->decode((const uint8_t *)ways[i].bytes, strlen(ways[i].bytes), ADDRESS,
                         &instruction);
    ck_assert_msg(state_is_kept(architecture, &instruction) == ways[i].is_kept, "%zu", i);
  }
}

/* ---- The link register ---- */

#define TO_X9 "\xe9\x03\x1e\xaa"      /* mov x9, x30 */
#define FROM_X9 "\xfe\x03\x09\xaa"    /* mov x30, x9 */
#define TO_X10 "\xea\x03\x09\xaa"     /* mov x10, x9 */
#define FROM_X10 "\xfe\x03\x0a\xaa"   /* mov x30, x10 */
#define CHANGE_X9 "\x29\x05\x00\x91"  /* add x9, x9, #1 */
#define CALL_AWAY "\x00\x04\x00\x94"  /* bl of another function */
#define STORE_LINK "\xfe\x0f\x1f\xf8" /* str x30, [sp, #-16]! */
#define LOAD_LINK "\xfe\x07\x41\xf8"  /* ldr x30, [sp], #16 */
#define STORE_X9 "\xe9\x03\x00\xf9"   /* str x9, [sp] */

TEST(the_return_address_has_copies) {
  static const struct {
    const char *name, *bytes;
    size_t size;
    bool is_level;
  } ways[] = {
      {"lost", CALL_AWAY, 4, false},
      {"saved", STORE_LINK CALL_AWAY LOAD_LINK, 12, true},
      {"saved, and stored over", STORE_LINK CALL_AWAY STORE_X9 LOAD_LINK, 16, false},
      {"copied", TO_X9 CALL_AWAY FROM_X9, 12, true},
      {"copied again", TO_X9 CALL_AWAY TO_X10 CHANGE_X9 FROM_X10, 20, true},
      {"copied, and changed", TO_X9 CALL_AWAY CHANGE_X9 FROM_X9, 16, false},
      {"copied late", CALL_AWAY TO_X9 FROM_X9, 12, false},
      {"of another register", TO_X9 CALL_AWAY FROM_X10, 12, false},
  };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct state state = start_of(EM_AARCH64);
    follow(&state, EM_AARCH64, ways[i].bytes, ways[i].size);
    ck_assert_msg(is_level(&state, EM_AARCH64) == ways[i].is_level, "%s", ways[i].name);
  }
}

TEST(a_copy_of_the_return_address_is_read) {
  struct state state = start_of(EM_AARCH64);
  ck_assert(!ARM(&state, TO_X9).reads_return);
  ck_assert(!ARM(&state, TO_X10).reads_return);
  ck_assert(ARM(&state, CHANGE_X9).reads_return);
  ck_assert(!ARM(&state, CHANGE_X9).reads_return);
}

#define READ_LINK "\xc0\x13\x00\x91"       /* add x0, x30, #4 */
#define CHANGE_LINK "\xfe\x03\x01\xaa"     /* mov x30, x1 */
#define STORE_LINK_AWAY "\x3e\x00\x00\xf9" /* str x30, [x1] */
#define LOAD_LINK_ABOVE "\xfe\x07\x40\xf9" /* ldr x30, [sp, #8] */

TEST(a_return_address_in_the_link_register_is_read) {
  static const struct {
    const char *name, *bytes;
    size_t size;
    bool is_read;
  } ways[] = {
      {"its own", READ_LINK, 4, true},
      {"a call's", CALL_AWAY READ_LINK, 8, true},
      {"another value", CHANGE_LINK READ_LINK, 8, false},
      {"another value, after a call", CALL_AWAY CHANGE_LINK READ_LINK, 12, false},
      {"a loaded one", CALL_AWAY LOAD_LINK_ABOVE READ_LINK, 12, false},
      {"saved", STORE_LINK, 4, false},
      {"a call's, stored", CALL_AWAY STORE_LINK, 8, true},
      {"stored elsewhere", STORE_LINK_AWAY, 4, true},
      {"another value, stored elsewhere", CHANGE_LINK STORE_LINK_AWAY, 8, false},
      {"of another register", STORE_X9, 4, false},
  };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct state state = start_of(EM_AARCH64);
    const struct state_uses uses = follow(&state, EM_AARCH64, ways[i].bytes, ways[i].size);
    ck_assert_msg(uses.reads_return == ways[i].is_read, "%s", ways[i].name);
  }
}

TEST(a_return_address_is_signed) {
  struct state state = start_of(EM_AARCH64);
  ck_assert(!state.is_signed);
  ARM(&state, "\x3f\x23\x03\xd5"); /* paciasp */
  ck_assert(state.is_signed && is_level(&state, EM_AARCH64));
  ARM(&state, "\xbf\x23\x03\xd5"); /* autiasp */
  ck_assert(!state.is_signed);
}

/* ---- Pairs of registers ---- */

#define STORE_PAIR "\xf3\x53\xbe\xa9"                  /* stp x19, x20, [sp, #-32]! */
#define LOAD_PAIR "\xf3\x53\xc2\xa8"                   /* ldp x19, x20, [sp], #32 */
#define LOAD_EXCHANGED "\xf4\x4f\xc2\xa8"              /* ldp x20, x19, [sp], #32 */
#define CHANGE_PAIR "\x33\x00\x80\xd2\x34\x00\x80\xd2" /* mov x19, #1; mov x20, #1 */

TEST(a_pair_has_a_word_each) {
  struct state state = start_of(EM_AARCH64);
  ARM(&state, STORE_PAIR CHANGE_PAIR);
  const struct state changed = state;
  ARM(&state, LOAD_PAIR);
  ck_assert_uint_eq(state.own, start_of(EM_AARCH64).own);
  state = changed;
  ARM(&state, LOAD_EXCHANGED);
  ck_assert_uint_eq(state.own, changed.own);
}

/* ---- Joins ---- */

TEST(equal_states_stay) {
  struct state state = start_of(EM_AARCH64);
  ARM(&state, STORE_LINK);
  const struct state same = state;
  ck_assert(!state_join(&state, &same));
  ck_assert_mem_eq(&state, &same, sizeof state);
}

TEST(only_facts_of_both_ways_hold) {
  for (unsigned value = 0; value <= LAST; value++) {
    const uint16_t bit = (uint16_t)(1u << value), all = KEPT_REGISTERS | KEPT_LINK_BIT;
    struct state whole = {.own = all, .stored = all, .sure = all}, other = whole;
    other.own &= (uint16_t)~bit;
    ck_assert(state_join(&whole, &other));
    ck_assert_uint_eq(whole.own, all & ~bit);
    ck_assert(!state_join(&other, &whole));
    other = whole;
    other.places[value] = -8;
    ck_assert(state_join(&whole, &other));
    ck_assert_uint_eq(whole.stored, all & ~bit);
    other = whole;
    other.sure &= (uint16_t)~bit;
    ck_assert(state_join(&whole, &other));
    ck_assert_uint_eq(whole.sure, all & ~bit);
  }
  struct state stored = {.stored = KEPT_LINK_BIT};
  ck_assert(!state_join(&(struct state){0}, &stored));
  ck_assert(state_join(&stored, &(struct state){0}));
  ck_assert_uint_eq(stored.stored, 0);
  struct state state = {.link_copies = 6};
  ck_assert(state_join(&state, &(struct state){.link_copies = 3, .has_calls_link = true}));
  ck_assert_uint_eq(state.link_copies, 2);
  ck_assert(state.has_calls_link);
  ck_assert(state_join(&state, &(struct state){.has_calls_link = true}));
  ck_assert_uint_eq(state.link_copies, 0);
}

/* Another depth is unknown, but of this stack; what is made of another register may be another stack. */
TEST(signed_and_unsigned_return_addresses) {
  const struct state start = start_of(EM_AARCH64);
  struct state unsigned_one = start, signed_one = start;
  signed_one.is_signed = true;
  ck_assert(state_join(&unsigned_one, &signed_one));
  ck_assert(!is_level(&unsigned_one, EM_AARCH64) && (unsigned_one.stored & KEPT_LINK_BIT) == 0);
  ck_assert(!state_join(&unsigned_one, &signed_one));
}

TEST(depths_are_joined) {
  struct state deep = start_of(EM_X86_64), start = deep, other = deep;
  X86(&deep, PUSH_RBX);
  X86(&other, SWITCH);
  struct state state = start;
  ck_assert(state_join(&state, &deep));
  ck_assert(!state.stack.is_known && !state.stack.is_foreign);
  ck_assert(!state_join(&state, &deep));
  ck_assert(state_join(&state, &other));
  ck_assert(!state.stack.is_known && state.stack.is_foreign);
  ck_assert(state_join(&start, &other));
  ck_assert(!start.stack.is_known && start.stack.is_foreign);
  X86(&start, LOWER_8);
  ck_assert(start.stack.is_foreign);
  ck_assert(!state_join(&other, &deep));
}

TEST(the_frame_pointer_restores_the_stack) {
  struct state state = start_of(EM_X86_64);
  X86(&state, PUSH_RBP FRAME SWITCH "\x48\x89\xec" POP_RBP); /* mov %rbp, %rsp */
  ck_assert(is_level(&state, EM_X86_64));
  X86(&state, "\x48\x89\xec");
  ck_assert(!state.stack.is_known && state.stack.is_foreign);
  state = start_of(EM_X86_64);
  X86(&state, "\x48\x89\xec"); /* by the caller's */
  ck_assert(!state.stack.is_known && state.stack.is_foreign);
}
