/* walk_steps.c - tests walks over hand-made stacks: their frames, and their ends. Most of
 * the stacks are broken.
 *
 * The functions are numbers only. A stack is an array of words; frames lie in it as code would have
 * left them, the youngest lowest.
 */
#include "model_check.h"
#include "numbers.h"
#include "runtime/stackpack.h"
#include "suite.h"

#include <string.h>
#include <ucontext.h>

/* Where calls return to. */
enum {
  SMALL = 0x1010,    /* in a frame of 24 bytes; a root at stack pointer + 8 */
  LARGE = 0x2020,    /* of 56 bytes, no roots */
  UNSIZED = 0x3030,  /* of unknown size; a root at %rbp - 8 */
  SAVED = 0x4040,    /* of 8 bytes; a root in %rbx */
  BASED = 0x5050,    /* of unknown size; a root at %rbx + 16 */
  MAPPED = 0x6060,   /* a stack map, no statepoint */
  VECTOR = 0x7070,   /* of 40 bytes; two roots in a slot at stack pointer + 8 */
  HALF = 0x8080,     /* of 8 bytes; a root of 4 bytes */
  NO_POINT = 0x1020, /* managed, but no safepoint */
  PLAIN = 0x9090,    /* of 72 bytes; roots in each slot from stack pointer + 8 to + 64 */
  NATIVE = 0xa000,
  /* Of these, only LLVM's size is known; for the sized ones above, that the size is right; their
   * use of registers stays unknown. */
  UNCHECKED = 0x54010, /* of 24 bytes; a root as in SMALL */
  UNSURE = 0x55010,    /* of 56 bytes, no roots */
  KEEPER = 0x56010,    /* of 8 bytes; a root in %rbx */
  /* These have unwind tables. */
  SAVER = 0x50010,   /* in a frame of 24 bytes, with %rbx in the highest; a root at stack pointer */
  HOLDER = 0x51010,  /* of 8 bytes; a root in %rbx */
  POINTED = 0x52010, /* goes by the saved %rbp; a root at %rbp - 8 */
  PUSHED = 0x53010,  /* of 24 bytes, and 16 more that LLVM doesn't count */
  ODD = 0x58010,     /* goes by the return address, which is no register here */
  HUGE = 0x57010,    /* of HUGE_SIZE bytes, with %rbx in the highest */
  FIRST_OF_MANY =
      0xb010, /* others follow, 0x1000 apart: of 24, 40 or 56 bytes; a root as in SMALL */
};
enum { MANY = 12 }; /* more than a small cache has entries */

enum { WORDS = 64, GARBAGE = 0x5a5a, HUGE_SIZE = (8 << 16) + 16 };

static struct packed_model packed;
static uintptr_t words[WORDS];

static void add(struct model *model, uint64_t return_address, uint64_t frame_size,
                struct stackpack_location root) {
  const uint64_t start = return_address & ~UINT64_C(0xfff);
  model_add_function(model, start, frame_size, start + 0x100);
  struct model_record *record = model_add_record(model, (uint32_t)(return_address - start));
  if (root.kind != 0)
    model_add_pair(record, root, root);
}

enum { RETURN = 16 };

/* The facts of one of the functions with unwind tables. False: it is none. */
static bool facts_of(uint64_t address, struct frame_facts *facts) {
  *facts = (struct frame_facts){.cfa_register = STACKPACK_RSP,
                                .return_register = RETURN,
                                .saved = 1u << RETURN,
                                .offsets[RETURN] = -8};
  switch (address) {
  case SAVER:
    facts->cfa_offset = 32;
    facts->saved |= 1u << STACKPACK_RBX;
    facts->offsets[STACKPACK_RBX] = -16;
    return true;
  case HOLDER:
    facts->cfa_offset = 16;
    return true;
  case POINTED:
    facts->cfa_register = STACKPACK_RBP;
    facts->cfa_offset = 16;
    facts->saved |= 1u << STACKPACK_RBP;
    facts->offsets[STACKPACK_RBP] = -16;
    return true;
  case PUSHED:
    facts->cfa_offset = 48;
    return true;
  case ODD:
    facts->cfa_register = RETURN;
    facts->cfa_offset = 16;
    return true;
  case HUGE:
    facts->cfa_offset = HUGE_SIZE + 8;
    facts->saved |= 1u << STACKPACK_RBX;
    facts->offsets[STACKPACK_RBX] = -16;
    return true;
  default:
    return false;
  }
}

/* As read from the code of a function without unwind tables. */
static bool size_tells(const struct safepoints *table, uint32_t record, struct frame_facts *facts) {
  const uint64_t size = table->functions[table->records[record].function].frame_size;
  const uint64_t address = table->records[record].address;
  facts->cfa_offset = (int32_t)size + 8;
  facts->lost = STACKPACK_PRESERVED_REGISTERS;
  return size != STACKPACK_FRAME_SIZE_UNKNOWN && address != UNCHECKED && address != UNSURE &&
         address != KEEPER;
}

static void tell_frames(struct safepoints *table) {
  table->frame_machine = (struct frame_machine){STACKPACK_RSP, RETURN, 8};
  for (uint32_t i = 0; i < table->record_count; i++) {
    struct frame_facts facts;
    if (facts_of(table->records[i].address, &facts) || size_tells(table, i, &facts))
      table->records[i].frame = frame_facts_add(&table->frames, &facts);
  }
}

static void open_table(void) {
  static const struct model_options options = {
      .section_address = 0x200000, .open_address = 0x200000, .tell_frames = tell_frames};
  const struct stackpack_location none = {0, 0, 0, 0};
  struct model model = {0};
  add(&model, SMALL, 24, model_slot(8));
  add(&model, LARGE, 56, none);
  add(&model, UNSIZED, STACKPACK_FRAME_SIZE_UNKNOWN,
      model_location(STACKPACK_INDIRECT, 8, STACKPACK_RBP, -8));
  add(&model, SAVED, 8, model_location(STACKPACK_REGISTER, 8, STACKPACK_RBX, 0));
  add(&model, BASED, STACKPACK_FRAME_SIZE_UNKNOWN,
      model_location(STACKPACK_INDIRECT, 8, STACKPACK_RBX, 16));
  add(&model, VECTOR, 40, model_location(STACKPACK_INDIRECT, 16, STACKPACK_RSP, 8));
  add(&model, HALF, 8, model_location(STACKPACK_INDIRECT, 4, STACKPACK_RSP, 0));
  /* With many slots of the usual kind, records that have only such ones have the usual layouts, and
   * a cache remembers these. */
  add(&model, PLAIN, 72, model_slot(8));
  for (int32_t slot = 16; slot <= 64; slot += 8)
    model_add_pair(&model.records[model.record_count - 1], model_slot(slot), model_slot(slot));
  add(&model, SAVER, 24, model_slot(0));
  add(&model, HOLDER, 8, model_location(STACKPACK_REGISTER, 8, STACKPACK_RBX, 0));
  add(&model, POINTED, 40, model_location(STACKPACK_INDIRECT, 8, STACKPACK_RBP, -8));
  add(&model, PUSHED, 24, model_slot(8));
  add(&model, UNCHECKED, 24, model_slot(8));
  add(&model, UNSURE, 56, none);
  add(&model, KEEPER, 8, model_location(STACKPACK_REGISTER, 8, STACKPACK_RBX, 0));
  add(&model, HUGE, HUGE_SIZE, none);
  add(&model, ODD, STACKPACK_FRAME_SIZE_UNKNOWN, none);
  add(&model, MAPPED, 8, none);
  model.records[model.record_count - 1].statepoint = false;
  for (unsigned i = 0; i < MANY; i++)
    add(&model, FIRST_OF_MANY + i * 0x1000, 24 + i % 3 * 16, model_slot(8));
  model_finish(&model);
  packed = packed_model_open(&model, &options);
  model_free(&model);
}

static struct stackpack_stack all_words(void) {
  return (struct stackpack_stack){(uintptr_t)words, (uintptr_t)(words + WORDS)};
}

/* Each test begins with this: an empty stack. */
static struct stackpack_walker walker_by(enum stackpack_way managed, enum stackpack_way native) {
  if (packed.bytes == NULL)
    open_table();
  for (unsigned i = 0; i < WORDS; i++)
    words[i] = GARBAGE;
  return (struct stackpack_walker){.table = &packed.table, .managed = managed, .native = native};
}

/* A walk that starts where a function of return address `pc` waits, with word `sp` on its top. */
static struct stackpack_walk start(const struct stackpack_walker *walker, uintptr_t pc, unsigned sp,
                                   struct stackpack_registers *registers) {
  struct stackpack_walk walk;
  const struct stackpack_context context =
      stackpack_context_at_call(pc, (uintptr_t)&words[sp], registers);
  stackpack_walk_start(&walk, walker, all_words(), &context);
  return walk;
}

static void expect(struct stackpack_walk *walk, enum stackpack_walk_answer answer, uintptr_t pc,
                   unsigned sp) {
  const enum stackpack_walk_answer got = stackpack_walk_next(walk);
  ck_assert_msg(got == answer, "%s, not %s", stackpack_walk_text(got), stackpack_walk_text(answer));
  ck_assert_uint_eq(walk->context.pc, pc);
  ck_assert_ptr_eq((uintptr_t *)walk->context.stack_pointer, &words[sp]);
}

/* A walk that starts at a managed frame. */
static struct stackpack_walk start_managed(const struct stackpack_walker *walker, uintptr_t pc,
                                           unsigned sp, struct stackpack_registers *registers) {
  struct stackpack_walk walk = start(walker, pc, sp, registers);
  expect(&walk, STACKPACK_WALK_MANAGED, pc, sp);
  return walk;
}

/* The walk is at an end, and stays there, for every further call. */
static void expect_end(struct stackpack_walk *walk, enum stackpack_walk_answer answer) {
  struct stackpack_root root;
  for (unsigned i = 0; i < 3; i++) {
    const enum stackpack_walk_answer got = stackpack_walk_next(walk);
    ck_assert_msg(got == answer, "%s, not %s", stackpack_walk_text(got),
                  stackpack_walk_text(answer));
    ck_assert(!stackpack_walk_root(walk, &root));
    ck_assert_int_eq(stackpack_walk_update(walk, NULL, NULL), answer);
  }
}

static uintptr_t forward_plus_one(void *closure, uintptr_t base) {
  (void)closure;
  return base + 1;
}

/* ---- By frame size ---- */

/* An empty cache, in static memory: the least there is, or one that has room for all frames. */
enum { SHIFT_SMALL = 4, SHIFT_LARGE = 5 };
static struct stackpack_cache open_cache(unsigned shift) {
  static uint64_t memory[(STACKPACK_CACHE_LINE << SHIFT_LARGE) / sizeof(uint64_t)];
  struct stackpack_cache cache;
  stackpack_cache_open(&cache, memory, shift);
  return cache;
}

/* Directly, and by way of a cache, an empty one and a filled one. */
TEST(frames_by_size) {
  struct stackpack_cache cache = open_cache(SHIFT_LARGE);
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  words[4] = LARGE; /* after the 24 bytes from word 1 on */
  words[12] = SMALL;
  words[16] = NATIVE;
  for (unsigned i = 0; i < 4; i++) {
    walker.cache = i == 0 ? NULL : &cache;
    words[2] = words[14] = 77;
    struct stackpack_walk walk = start_managed(&walker, SMALL, 1, NULL);
    ck_assert_uint_eq(walk.record.frame_size, 24);
    ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
    expect(&walk, STACKPACK_WALK_MANAGED, LARGE, 5);
    expect(&walk, STACKPACK_WALK_MANAGED, SMALL, 13);
    ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
    expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 17);
    expect_end(&walk, STACKPACK_WALK_AT_NATIVE);
    ck_assert_uint_eq(walk.managed_frames, 3);
    ck_assert_uint_eq(words[2], 78);
    ck_assert_uint_eq(words[14], 78);
  }
}

/* The frames' sizes may be wrong: so an apparent native frame may be another one. */
TEST(frames_by_sizes_that_arent_checked) {
  struct stackpack_cache cache = open_cache(SHIFT_LARGE);
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  words[4] = UNSURE;
  words[12] = SMALL;
  words[16] = NATIVE;
  for (unsigned i = 0; i < 6; i++) {
    walker.cache = i < 3 ? NULL : &cache;
    struct stackpack_walk walk = start(&walker, UNCHECKED, 1, NULL);
    if (i % 3 == 1)
      walk.private_.stack.end = (uintptr_t)&words[17];
    expect(&walk, STACKPACK_WALK_MANAGED, UNCHECKED, 1);
    ck_assert(!stackpack_record_frame(&walk.record).is_known);
    ck_assert_uint_eq(walk.record.frame_size, 24);
    expect(&walk, STACKPACK_WALK_MANAGED, UNSURE, 5);
    expect(&walk, STACKPACK_WALK_MANAGED, SMALL, 13);
    expect(&walk, i % 3 == 1 ? STACKPACK_WALK_END : STACKPACK_WALK_SIZE_UNKNOWN, NATIVE, 17);
    expect_end(&walk, i % 3 == 1 ? STACKPACK_WALK_END : STACKPACK_WALK_SIZE_UNKNOWN);
    const struct stackpack_context next =
        stackpack_context_at_call(SMALL, (uintptr_t)&words[21], NULL);
    words[24] = NATIVE;
    stackpack_walk_resume(&walk, all_words(), &next);
    expect(&walk, STACKPACK_WALK_MANAGED, SMALL, 21);
    expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 25);
  }
}

TEST(unchecked_sizes_out_of_bounds) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  for (unsigned sp = WORDS - 7; sp < WORDS; sp++) {
    struct stackpack_walk walk = start(&walker, UNSURE, sp, NULL);
    expect(&walk, STACKPACK_WALK_MANAGED, UNSURE, sp);
    expect(&walk, STACKPACK_WALK_OUT_OF_STACK, UNSURE, sp);
    expect_end(&walk, STACKPACK_WALK_OUT_OF_STACK);
  }
}

static void expect_same_context(const struct stackpack_context *a,
                                const struct stackpack_context *b) {
  ck_assert_uint_eq(a->pc, b->pc);
  ck_assert_uint_eq(a->stack_pointer, b->stack_pointer);
  ck_assert_uint_eq(a->is_exact, b->is_exact);
  ck_assert_uint_eq(a->known, b->known);
  ck_assert_uint_eq(a->in_memory & a->known, b->in_memory & a->known);
  ck_assert_uint_eq(a->doubled, b->doubled);
  for (unsigned reg = 0; reg < STACKPACK_REGISTERS; reg++)
    if ((a->known >> reg & 1) != 0)
      ck_assert_uint_eq(a->registers[reg], b->registers[reg]);
}

/* The frames of two walks of the same stack, one by one, to the end. */
static void expect_same_walk(const struct stackpack_walker *a, const struct stackpack_walker *b,
                             uintptr_t pc, struct stackpack_registers *registers) {
  struct stackpack_walk x = start(a, pc, 1, registers), y = start(b, pc, 1, registers);
  enum stackpack_walk_answer answer;
  do {
    answer = stackpack_walk_next(&x);
    ck_assert_int_eq(stackpack_walk_next(&y), answer);
    expect_same_context(&x.context, &y.context);
    ck_assert_uint_eq(x.managed_frames, y.managed_frames);
    if (answer == STACKPACK_WALK_MANAGED) {
      ck_assert_uint_eq(x.record.address, y.record.address);
      ck_assert_uint_eq(x.record.frame_size, y.record.frame_size);
      ck_assert_int_eq(x.record.kind, y.record.kind);
    }
  } while (stackpack_walk_is_frame(answer));
}

/* The same frames with a cache: one that is too small for all, and a large enough one. The facts on
 * registers are the same, too; frames are computed from one, and the words that it is loaded from
 * may be addresses in the stack. Or many more functions call each other than a small cache has
 * room for. */
static void expect_same_walks(unsigned shift, uint64_t seed, bool many) {
  static const uintptr_t points[] = {SMALL,   SAVER, POINTED, PUSHED, HOLDER,
                                     POINTED, LARGE, SAVED,   PLAIN,  NATIVE};
  enum { POINTS = sizeof points / sizeof *points };
  struct numbers numbers = {seed};
  struct stackpack_cache cache = open_cache(shift);
  for (unsigned round = 0; round < 5000; round++) {
    struct stackpack_registers registers = {.known = STACKPACK_PRESERVED_REGISTERS};
    struct stackpack_walker plain = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
    struct stackpack_walker cached = plain;
    cached.cache = &cache;
    registers.values[STACKPACK_RBP] = (uintptr_t)&words[numbers_below(&numbers, 20)];
    for (unsigned i = 0; i < WORDS; i++) {
      words[i] = points[numbers_below(&numbers, round % 7 == 0 ? POINTS : POINTS - 1)];
      if (many && numbers_below(&numbers, 2) == 0)
        words[i] = FIRST_OF_MANY + numbers_below(&numbers, MANY) * 0x1000;
      else if (numbers_below(&numbers, 3) == 0)
        words[i] = (uintptr_t)words + (i + numbers_below(&numbers, 10)) * sizeof *words +
                   (numbers_below(&numbers, 8) == 0);
    }
    expect_same_walk(&plain, &cached, points[numbers_below(&numbers, POINTS - 1)], &registers);
    expect_same_walk(&plain, &cached, points[numbers_below(&numbers, POINTS - 1)], NULL);
  }
}

TEST(the_same_frames_by_way_of_a_cache) {
  expect_same_walks(SHIFT_SMALL, 1, false);
  expect_same_walks(SHIFT_LARGE, 2, false);
  expect_same_walks(SHIFT_SMALL, 3, true);
}

static void ignore(void *context, struct stackpack_location base,
                   struct stackpack_location derived) {
  (void)context;
  (void)base;
  (void)derived;
}

/* The walk's frame is forgotten by its cache: in the middle of its roots, before they are updated, and before
 * the walk goes on. */
TEST(a_cache_that_forgets_under_way) {
  struct stackpack_cache cache = open_cache(SHIFT_SMALL);
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  walker.cache = &cache;
  for (unsigned when = 0; when <= 10; when++) {
    struct stackpack_walk walk = start(&walker, PLAIN, 1, NULL);
    words[10] = SMALL;
    words[14] = NATIVE;
    expect(&walk, STACKPACK_WALK_MANAGED, PLAIN, 1);
    for (unsigned i = 0; i <= 9; i++) {
      struct stackpack_root root;
      struct stackpack_record record;
      for (unsigned other = 0; i == when && other < 40 * MANY; other++)
        stackpack_table_visit(&packed.table, &cache, FIRST_OF_MANY + other % MANY * 0x1000, &record,
                              ignore, NULL);
      ck_assert_int_eq(stackpack_walk_root(&walk, &root), i < 8);
      if (i < 8)
        ck_assert_ptr_eq(root.base, &words[2 + i]);
    }
    words[2] = 77;
    ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
    ck_assert_uint_eq(words[2], 78);
    expect(&walk, STACKPACK_WALK_MANAGED, SMALL, 11);
    expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 15);
  }
}

/* The walk's cache finds records again without their table. */
TEST(a_walk_fills_its_cache) {
  static const struct stackpack_table none;
  struct stackpack_cache cache = open_cache(SHIFT_LARGE);
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  walker.cache = &cache;
  (void)start_managed(&walker, PLAIN, 1, NULL);
  walker.table = &none;
  (void)start_managed(&walker, PLAIN, 1, NULL);
  struct stackpack_walk walk = start(&walker, SMALL, 1, NULL);
  ck_assert_int_ne(stackpack_walk_next(&walk), STACKPACK_WALK_MANAGED);
}

/* A frame that is too large for a cache's entry. */
TEST(a_huge_frame) {
  static uintptr_t stack[HUGE_SIZE / sizeof(uintptr_t) + 16];
  const struct stackpack_stack bounds = {(uintptr_t)stack, (uintptr_t)stack + sizeof stack};
  struct stackpack_cache cache = open_cache(SHIFT_LARGE);
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  walker.cache = &cache;
  stack[HUGE_SIZE / sizeof(uintptr_t)] = HOLDER;
  stack[HUGE_SIZE / sizeof(uintptr_t) + 2] = NATIVE;
  for (unsigned i = 0; i < 3; i++) {
    struct stackpack_walk walk;
    const struct stackpack_context context =
        stackpack_context_at_call(HUGE, (uintptr_t)stack, NULL);
    stackpack_walk_start(&walk, &walker, bounds, &context);
    ck_assert_int_eq(stackpack_walk_next(&walk), STACKPACK_WALK_MANAGED);
    ck_assert_uint_eq(walk.record.frame_size, HUGE_SIZE);
    ck_assert_int_eq(stackpack_walk_next(&walk), STACKPACK_WALK_MANAGED);
    ck_assert_uint_eq(walk.context.pc, HOLDER);
    ck_assert_uint_eq(walk.context.registers[STACKPACK_RBX],
                      walk.context.stack_pointer - 2 * sizeof(uintptr_t));
    ck_assert_int_eq(stackpack_walk_next(&walk), STACKPACK_WALK_AT_NATIVE);
  }
}

/* The word before it may look like a return address to managed code. */
TEST(the_declared_end) {
  static const uintptr_t points[] = {GARBAGE, SAVER};
  for (unsigned i = 0; i < 4; i++) {
    struct stackpack_cache cache = open_cache(SHIFT_LARGE);
    struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
    words[WORDS - 1] = points[i % 2];
    words[WORDS - 5] = SAVER;
    walker.cache = i < 2 ? NULL : &cache;
    for (unsigned round = 0; round < 3; round++) {
      struct stackpack_walk walk = start_managed(&walker, SAVER, WORDS - 8, NULL);
      expect(&walk, STACKPACK_WALK_MANAGED, SAVER, WORDS - 4);
      expect(&walk, STACKPACK_WALK_END, points[i % 2], WORDS);
      expect_end(&walk, STACKPACK_WALK_END);
    }
  }
}

TEST(no_managed_frame) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  struct stackpack_walk walk = start(&walker, NATIVE, 1, NULL);
  expect_end(&walk, STACKPACK_WALK_NO_MANAGED);
  walk = start(&walker, SMALL, WORDS, NULL);
  expect_end(&walk, STACKPACK_WALK_NO_MANAGED);
  ck_assert_uint_eq(walk.managed_frames, 0);
}

TEST(no_safepoint) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  words[4] = NO_POINT;
  struct stackpack_walk walk = start_managed(&walker, SMALL, 1, NULL);
  expect(&walk, STACKPACK_WALK_NOT_SAFEPOINT, NO_POINT, 5);
  expect_end(&walk, STACKPACK_WALK_NOT_SAFEPOINT);
}

/* A native function that ends in a noreturn call, with a managed one after it: the
 * return address is that one's start. As an exact address it is no safepoint. */
TEST(a_return_address_at_a_start) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  words[4] = SMALL & ~0xfff;
  struct stackpack_walk walk = start_managed(&walker, SMALL, 1, NULL);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, SMALL & ~0xfff, 5);
  struct stackpack_context context =
      stackpack_context_at_call(SMALL & ~0xfff, (uintptr_t)words, NULL);
  context.is_exact = 1;
  stackpack_walk_start(&walk, &walker, all_words(), &context);
  expect_end(&walk, STACKPACK_WALK_NOT_SAFEPOINT);
}

TEST(out_of_bounds) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  struct stackpack_walk walk = start_managed(&walker, LARGE, WORDS - 7, NULL);
  expect_end(&walk, STACKPACK_WALK_OUT_OF_STACK); /* the return address would be after the end */
  struct stackpack_context context = stackpack_context_at_call(SMALL, (uintptr_t)words - 8, NULL);
  stackpack_walk_start(&walk, &walker, all_words(), &context);
  expect_end(&walk, STACKPACK_WALK_OUT_OF_STACK);
  context.stack_pointer = (uintptr_t)(words + WORDS) + 8;
  stackpack_walk_start(&walk, &walker, all_words(), &context);
  expect_end(&walk, STACKPACK_WALK_OUT_OF_STACK);
}

TEST(misaligned) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  struct stackpack_walk walk;
  const struct stackpack_context context =
      stackpack_context_at_call(SMALL, (uintptr_t)words + 4, NULL);
  stackpack_walk_start(&walk, &walker, all_words(), &context);
  expect_end(&walk, STACKPACK_WALK_MISALIGNED);
}

TEST(an_unknown_size_needs_more) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  words[4] = UNSIZED;
  struct stackpack_walk walk = start_managed(&walker, SMALL, 1, NULL);
  expect(&walk, STACKPACK_WALK_MANAGED, UNSIZED, 5);
  expect_end(&walk, STACKPACK_WALK_SIZE_UNKNOWN);
}

/* The youngest frame's %rbp comes from the stub: such a frame always keeps it. */
TEST(an_unknown_size_with_a_frame_pointer) {
  struct stackpack_registers registers = {.known = STACKPACK_PRESERVED_REGISTERS};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  registers.values[STACKPACK_RBP] = (uintptr_t)&words[20];
  words[19] = 77; /* the root */
  words[20] = GARBAGE;
  words[21] = SMALL;
  words[25] = NATIVE;
  struct stackpack_walk walk = start_managed(&walker, UNSIZED, 3, &registers);
  ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
  ck_assert_uint_eq(words[19], 78);
  expect(&walk, STACKPACK_WALK_MANAGED, SMALL, 22);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 26);
}

/* ---- By unwind tables ---- */

/* A register goes through a frame that saves it, and through one that leaves it alone. */
TEST(a_register_that_is_saved) {
  struct stackpack_registers registers = {.known = STACKPACK_PRESERVED_REGISTERS};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  words[3] = 77; /* the caller's %rbx */
  words[4] = PUSHED;
  words[10] = HOLDER;
  words[12] = HOLDER;
  words[14] = NATIVE;
  registers.values[STACKPACK_RBX] = 55;
  struct stackpack_walk walk = start_managed(&walker, SAVER, 1, &registers);
  ck_assert_uint_eq(walk.record.frame_size, 24);
  expect(&walk, STACKPACK_WALK_MANAGED, PUSHED, 5);
  ck_assert_uint_eq(walk.record.frame_size, 40);
  expect(&walk, STACKPACK_WALK_MANAGED, HOLDER, 11);
  ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
  expect(&walk, STACKPACK_WALK_MANAGED, HOLDER, 13);
  ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 15);
  ck_assert_uint_eq(words[3], 79);
  ck_assert_uint_eq(registers.values[STACKPACK_RBX], 55);
}

TEST(frames_by_a_register) {
  struct stackpack_registers registers = {.known = STACKPACK_PRESERVED_REGISTERS};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  registers.values[STACKPACK_RBP] = (uintptr_t)&words[20];
  words[20] = (uintptr_t)&words[30];
  words[21] = POINTED;
  words[29] = 77;
  words[31] = NATIVE;
  struct stackpack_walk walk = start_managed(&walker, POINTED, 1, &registers);
  expect(&walk, STACKPACK_WALK_MANAGED, POINTED, 22);
  ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
  ck_assert_uint_eq(words[29], 78);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 32);
  walk = start_managed(&walker, POINTED, 1, NULL);
  expect_end(&walk, STACKPACK_WALK_REGISTER_UNKNOWN);
  walk = start_managed(&walker, ODD, 1, &registers);
  expect_end(&walk, STACKPACK_WALK_REGISTER_UNKNOWN);
}

/* Registers of other values than a frame's end. */
TEST(broken_registers) {
  static const struct {
    intptr_t word; /* of the stack */
    unsigned beside;
    enum stackpack_walk_answer answer;
  } cases[] = {
      {20, 4, STACKPACK_WALK_MISALIGNED},
      {-2, 0, STACKPACK_WALK_NO_PROGRESS},  /* the frame would end at the stack pointer */
      {-1, 0, STACKPACK_WALK_OUT_OF_STACK}, /* too small for its saved registers */
      {WORDS - 1, 0, STACKPACK_WALK_OUT_OF_STACK},
      {WORDS - 2, 0, STACKPACK_WALK_END},
  };
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct stackpack_registers registers = {.known = STACKPACK_PRESERVED_REGISTERS};
    registers.values[STACKPACK_RBP] =
        (uintptr_t)words + (uintptr_t)cases[i].word * sizeof *words + cases[i].beside;
    struct stackpack_walk walk = start_managed(&walker, POINTED, 0, &registers);
    const enum stackpack_walk_answer answer = stackpack_walk_next(&walk);
    ck_assert_msg(answer == cases[i].answer, "case %u: %s", i, stackpack_walk_text(answer));
  }
}

TEST(facts_of_records) {
  struct stackpack_record record;
  walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  ck_assert_int_eq(stackpack_table_find(&packed.table, SAVER, &record), STACKPACK_FOUND);
  const struct stackpack_frame_facts facts = stackpack_record_frame(&record);
  ck_assert(facts.is_known && !facts.is_signed);
  ck_assert_uint_eq(facts.cfa_register, STACKPACK_RSP);
  ck_assert_uint_eq(facts.return_register, RETURN);
  ck_assert_int_eq(facts.cfa_offset, 32);
  ck_assert_uint_eq(facts.saved, 1u << STACKPACK_RBX | 1u << RETURN);
  ck_assert_uint_eq(facts.lost, 0);
  ck_assert_int_eq(facts.offsets[STACKPACK_RBX], -16);
  ck_assert_int_eq(stackpack_table_find(&packed.table, UNCHECKED, &record), STACKPACK_FOUND);
  ck_assert(!stackpack_record_frame(&record).is_known);
}

/* ---- By frame pointer ---- */

static struct stackpack_walk start_with_pointer(const struct stackpack_walker *walker, uintptr_t pc,
                                                unsigned sp, uintptr_t *frame_pointer) {
  struct stackpack_walk walk;
  struct stackpack_context context = {.pc = pc, .stack_pointer = (uintptr_t)&words[sp]};
  stackpack_context_save(&context, STACKPACK_FRAME_POINTER, frame_pointer);
  stackpack_walk_start(&walk, walker, all_words(), &context);
  return walk;
}

/* A managed, a native, an unsized and a managed frame; then main, whose %rbp was 0. */
static uintptr_t build_chain(void) {
  words[3] = (uintptr_t)&words[10];
  words[4] = NATIVE;
  words[10] = (uintptr_t)&words[15];
  words[11] = UNSIZED;
  words[15] = (uintptr_t)&words[19];
  words[16] = POINTED;
  words[19] = 0;
  words[20] = NATIVE + 8;
  return (uintptr_t)&words[3];
}

TEST(frames_by_pointer) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_FRAME_POINTER);
  uintptr_t pointer = build_chain();
  struct stackpack_walk walk = start_with_pointer(&walker, POINTED, 1, &pointer);
  expect(&walk, STACKPACK_WALK_MANAGED, POINTED, 1);
  expect(&walk, STACKPACK_WALK_NATIVE, NATIVE, 5);
  expect(&walk, STACKPACK_WALK_MANAGED, UNSIZED, 12);
  expect(&walk, STACKPACK_WALK_MANAGED, POINTED, 17);
  expect(&walk, STACKPACK_WALK_NATIVE, NATIVE + 8, 21);
  expect_end(&walk, STACKPACK_WALK_END);
  ck_assert_uint_eq(walk.managed_frames, 3);
}

TEST(native_frames_that_promise_nothing) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  uintptr_t pointer = build_chain();
  struct stackpack_walk walk = start_with_pointer(&walker, POINTED, 1, &pointer);
  expect(&walk, STACKPACK_WALK_MANAGED, POINTED, 1);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 5);
}

TEST(no_frame_pointer) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_FRAME_POINTER);
  words[4] = NATIVE;
  struct stackpack_walk walk = start_managed(&walker, SMALL, 1, NULL);
  expect(&walk, STACKPACK_WALK_NATIVE, NATIVE, 5);
  expect_end(&walk, STACKPACK_WALK_NO_FRAME_POINTER);
  /* An interrupted native function may be at its first instruction. */
  uintptr_t pointer = build_chain();
  struct stackpack_context context = {
      .pc = NATIVE, .stack_pointer = (uintptr_t)&words[1], .is_exact = 1};
  stackpack_context_save(&context, STACKPACK_FRAME_POINTER, &pointer);
  stackpack_walk_start(&walk, &walker, all_words(), &context);
  expect(&walk, STACKPACK_WALK_NATIVE, NATIVE, 1);
  expect_end(&walk, STACKPACK_WALK_NO_FRAME_POINTER);
}

/* A false frame pointer: a value that a function without frame pointer left there. */
TEST(broken_chains) {
  static const struct {
    unsigned from; /* the word that is smashed */
    bool is_address;
    uintptr_t with;
    enum stackpack_walk_answer answer;
  } cases[] = {
      {10, true, 10, STACKPACK_WALK_NO_PROGRESS}, /* to itself */
      {10, true, 3, STACKPACK_WALK_NO_PROGRESS},  /* back */
      {10, false, 0, STACKPACK_WALK_NO_PROGRESS}, /* an end in a managed function */
      {10, false, UINTPTR_MAX - 7, STACKPACK_WALK_OUT_OF_STACK},
      {10, true, WORDS, STACKPACK_WALK_OUT_OF_STACK},
      {10, true, WORDS - 1, STACKPACK_WALK_OUT_OF_STACK}, /* the return address is outside */
      {15, true, 16, STACKPACK_WALK_OUT_OF_STACK}, /* a managed frame's end, in the one it called */
      {15, true, 13, STACKPACK_WALK_NO_PROGRESS},
  };
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_FRAME_POINTER);
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    uintptr_t pointer = build_chain();
    words[cases[i].from] = cases[i].is_address ? (uintptr_t)(words + cases[i].with) : cases[i].with;
    struct stackpack_walk walk = start_with_pointer(&walker, POINTED, 1, &pointer);
    enum stackpack_walk_answer answer;
    while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
      ;
    ck_assert_msg(answer == cases[i].answer, "case %u: %s", i, stackpack_walk_text(answer));
  }
  uintptr_t pointer = build_chain() + 4;
  struct stackpack_walk walk = start_with_pointer(&walker, UNSIZED, 1, &pointer);
  expect(&walk, STACKPACK_WALK_MANAGED, UNSIZED, 1);
  expect_end(&walk, STACKPACK_WALK_MISALIGNED);
}

/* ---- By unwinding ---- */

/* An unwinder for one stack: the contexts above the youngest. */
struct script {
  const struct stackpack_context *contexts;
  unsigned count, calls;
};

static enum stackpack_unwound unwind_script(void *unwinder, struct stackpack_stack stack,
                                            struct stackpack_context *context) {
  struct script *script = unwinder;
  ck_assert_uint_eq(stack.low, (uintptr_t)words);
  script->calls++;
  for (unsigned i = 0; i < script->count; i++)
    if (script->contexts[i].stack_pointer > context->stack_pointer) {
      *context = script->contexts[i];
      return STACKPACK_UNWOUND;
    }
  return script->count == 0 ? STACKPACK_NOT_UNWOUND : STACKPACK_OUTERMOST;
}

static struct stackpack_context scripted(uintptr_t pc, unsigned sp, unsigned rbx, unsigned rbp) {
  struct stackpack_context context = {.pc = pc, .stack_pointer = (uintptr_t)&words[sp]};
  stackpack_context_save(&context, STACKPACK_RBX, &words[rbx]);
  stackpack_context_save(&context, STACKPACK_RBP, &words[rbp]);
  return context;
}

TEST(frames_by_unwinding) {
  const struct stackpack_context contexts[] = {
      scripted(NATIVE, 5, 2, 3), scripted(SAVED, 20, 18, 3), scripted(NATIVE, 22, 21, 3)};
  struct script script = {contexts, 3, 0};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_UNWINDING, STACKPACK_BY_UNWINDING);
  walker.unwind = unwind_script;
  walker.unwinder = &script;
  words[18] = 77; /* where a native frame has saved %rbx */
  struct stackpack_walk walk = start_managed(&walker, SMALL, 1, NULL);
  expect(&walk, STACKPACK_WALK_NATIVE, NATIVE, 5);
  expect(&walk, STACKPACK_WALK_MANAGED, SAVED, 20);
  ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
  ck_assert_uint_eq(words[18], 78);
  expect(&walk, STACKPACK_WALK_NATIVE, NATIVE, 22);
  expect_end(&walk, STACKPACK_WALK_END);
  ck_assert_uint_eq(script.calls, 4);
}

/* The unwinder is asked for unknown managed frames. */
TEST(unknown_frames_by_unwinding) {
  const struct stackpack_context contexts[] = {
      scripted(UNCHECKED, 5, 2, 3), scripted(UNSIZED, 9, 7, 8), scripted(UNCHECKED, 30, 7, 29),
      scripted(UNCHECKED, 34, 7, 33), scripted(NATIVE, 38, 7, 33)};
  struct script script = {contexts, 5, 0};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  walker.unwind = unwind_script;
  walker.unwinder = &script;
  words[4] = UNCHECKED;
  words[8] = UNSIZED;
  words[33] = UNCHECKED;
  words[37] = NATIVE;
  struct stackpack_walk walk = start_managed(&walker, UNCHECKED, 1, NULL);
  expect(&walk, STACKPACK_WALK_MANAGED, UNCHECKED, 5);
  expect(&walk, STACKPACK_WALK_MANAGED, UNSIZED, 9);
  expect(&walk, STACKPACK_WALK_MANAGED, UNCHECKED, 30);
  expect(&walk, STACKPACK_WALK_MANAGED, UNCHECKED, 34);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 38);
  ck_assert_uint_eq(script.calls, 5);
}

TEST(a_register_by_unwinding) {
  const struct stackpack_context contexts[] = {scripted(KEEPER, 5, 2, 3),
                                               scripted(NATIVE, 7, 6, 3)};
  struct script script = {contexts, 2, 0};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  struct stackpack_root root;
  walker.unwind = unwind_script;
  walker.unwinder = &script;
  words[4] = KEEPER;
  words[6] = NATIVE;
  struct stackpack_walk walk = start_managed(&walker, UNCHECKED, 1, NULL);
  expect(&walk, STACKPACK_WALK_MANAGED, KEEPER, 5);
  ck_assert(stackpack_walk_root(&walk, &root));
  ck_assert_ptr_eq(root.base, &words[2]);
  ck_assert_ptr_eq(root.derived, &words[2]);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 7);
  ck_assert_uint_eq(script.calls, 2);
}

TEST(unwinders_that_fail) {
  struct script none = {NULL, 0, 0};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_UNWINDING, STACKPACK_BY_UNWINDING);
  struct stackpack_walk walk = start_managed(&walker, SMALL, 1, NULL);
  expect_end(&walk, STACKPACK_WALK_NOT_UNWOUND); /* there is none at all */
  walker.unwind = unwind_script;
  walker.unwinder = &none;
  walk = start_managed(&walker, SMALL, 1, NULL);
  expect_end(&walk, STACKPACK_WALK_NOT_UNWOUND);
}

static enum stackpack_unwound unwind_in_place(void *unwinder, struct stackpack_stack stack,
                                              struct stackpack_context *context) {
  (void)stack;
  context->stack_pointer -= *(const unsigned *)unwinder;
  context->is_exact = 0;
  return STACKPACK_UNWOUND;
}

TEST(unwinders_that_go_round) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_UNWINDING, STACKPACK_BY_UNWINDING);
  for (unsigned back = 0; back <= 8; back += 8) {
    walker.unwind = unwind_in_place;
    walker.unwinder = &back;
    struct stackpack_walk walk = start_managed(&walker, SMALL, 8, NULL);
    expect_end(&walk, STACKPACK_WALK_NO_PROGRESS);
    /* A function that was interrupted needs no frame on some machines, and its caller has one. */
    const struct stackpack_context context = {
        .pc = NATIVE, .stack_pointer = (uintptr_t)&words[8], .is_exact = 1};
    stackpack_walk_start(&walk, &walker, all_words(), &context);
    expect(&walk, STACKPACK_WALK_NATIVE, NATIVE, 8);
    if (back == 0)
      expect(&walk, STACKPACK_WALK_NATIVE, NATIVE, 8);
    expect_end(&walk, STACKPACK_WALK_NO_PROGRESS);
  }
}

/* ---- Registers ---- */

TEST(a_register_of_the_stub) {
  struct stackpack_registers registers = {.known = STACKPACK_PRESERVED_REGISTERS};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  registers.values[STACKPACK_RBX] = 77;
  struct stackpack_walk walk = start_managed(&walker, SAVED, 1, &registers);
  ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
  ck_assert_uint_eq(registers.values[STACKPACK_RBX], 78);
}

TEST(a_base_register_of_the_stub) {
  struct stackpack_registers registers = {.known = STACKPACK_PRESERVED_REGISTERS};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  registers.values[STACKPACK_RBX] = (uintptr_t)&words[5];
  words[7] = 77;
  struct stackpack_walk walk = start_managed(&walker, BASED, 1, &registers);
  ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
  ck_assert_uint_eq(words[7], 78);
}

/* The register's place is unknown, as a frame in between has taken it: the walk stops at the
 * root. */
TEST(a_register_that_is_lost) {
  static const uintptr_t points[] = {SAVED, BASED};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  for (unsigned i = 0; i < 2; i++) {
    struct stackpack_registers registers = {.known = STACKPACK_PRESERVED_REGISTERS};
    struct stackpack_root root;
    words[4] = points[i];
    struct stackpack_walk walk = start_managed(&walker, SMALL, 1, &registers);
    expect(&walk, STACKPACK_WALK_MANAGED, points[i], 5);
    struct stackpack_walk again = walk;
    ck_assert(!stackpack_walk_root(&walk, &root));
    expect_end(&walk, STACKPACK_WALK_REGISTER_UNKNOWN);
    ck_assert_int_eq(stackpack_walk_update(&again, NULL, NULL), STACKPACK_WALK_REGISTER_UNKNOWN);
    expect_end(&again, STACKPACK_WALK_REGISTER_UNKNOWN);
  }
}

/* The same by way of a cache that has all frames beyond: the walk stops at a lost root. */
TEST(a_register_that_is_lost_with_a_cache) {
  struct stackpack_cache cache = open_cache(SHIFT_LARGE);
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  walker.cache = &cache;
  words[4] = SAVED;
  words[6] = SMALL;
  words[10] = NATIVE;
  for (unsigned round = 0; round < 4; round++) {
    struct stackpack_root root;
    struct stackpack_walk walk = start_managed(&walker, SMALL, 1, NULL);
    expect(&walk, STACKPACK_WALK_MANAGED, SAVED, 5);
    if (round % 2 != 0) {
      if (round == 1)
        ck_assert(!stackpack_walk_root(&walk, &root));
      else
        ck_assert_int_eq(stackpack_walk_update(&walk, NULL, NULL), STACKPACK_WALK_REGISTER_UNKNOWN);
      expect_end(&walk, STACKPACK_WALK_REGISTER_UNKNOWN);
      continue;
    }
    expect(&walk, STACKPACK_WALK_MANAGED, SMALL, 7);
    expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 11);
  }
}

/* A register with a known value of unknown origin: an address can be computed by it, but updating a
 * root in it fails. */
TEST(a_register_that_can_only_be_read) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  struct stackpack_context context = stackpack_context_at_call(BASED, (uintptr_t)&words[1], NULL);
  struct stackpack_walk walk;
  struct stackpack_root root;
  stackpack_context_set(&context, STACKPACK_RBX, (uintptr_t)&words[5]);
  stackpack_walk_start(&walk, &walker, all_words(), &context);
  expect(&walk, STACKPACK_WALK_MANAGED, BASED, 1);
  ck_assert(stackpack_walk_root(&walk, &root));
  ck_assert_ptr_eq(root.base, &words[7]);
  context.pc = SAVED;
  stackpack_walk_start(&walk, &walker, all_words(), &context);
  expect(&walk, STACKPACK_WALK_MANAGED, SAVED, 1);
  ck_assert(!stackpack_walk_root(&walk, &root));
  expect_end(&walk, STACKPACK_WALK_REGISTER_UNKNOWN);
}

TEST(from_a_signal) {
  static ucontext_t ucontext;
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  greg_t *registers = ucontext.uc_mcontext.gregs;
  struct stackpack_walk walk;
  registers[REG_RIP] = SAVED;
  registers[REG_RSP] = (greg_t)(uintptr_t)&words[1];
  registers[REG_RBX] = 77;
  words[2] = NATIVE;
  struct stackpack_context context = stackpack_context_at_signal(&ucontext);
  /* A call that has returned: its result may be in %rax, as a reference missing in all records. */
  stackpack_walk_start(&walk, &walker, all_words(), &context);
  expect_end(&walk, STACKPACK_WALK_NOT_SAFEPOINT);
  /* A trap that the runtime itself has put there. */
  context.is_exact = 0;
  stackpack_walk_start(&walk, &walker, all_words(), &context);
  expect(&walk, STACKPACK_WALK_MANAGED, SAVED, 1);
  ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
  ck_assert_int_eq(registers[REG_RBX], 78);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 3);
}

/* Each register by its DWARF number, as the compiler's own numbering has it. */
TEST(registers_of_a_signal) {
  static const unsigned numbers[][2] = {{0, REG_RAX},  {1, REG_RDX},  {2, REG_RCX},  {3, REG_RBX},
                                        {4, REG_RSI},  {5, REG_RDI},  {6, REG_RBP},  {7, REG_RSP},
                                        {8, REG_R8},   {9, REG_R9},   {10, REG_R10}, {11, REG_R11},
                                        {12, REG_R12}, {13, REG_R13}, {14, REG_R14}, {15, REG_R15}};
  static ucontext_t ucontext;
  const struct stackpack_context context = stackpack_context_at_signal(&ucontext);
  ck_assert_uint_eq(context.known, 0xffff);
  ck_assert_uint_eq(context.in_memory, 0xffff);
  ck_assert_uint_ne(context.is_exact, 0);
  for (unsigned i = 0; i < STACKPACK_REGISTERS; i++)
    ck_assert_ptr_eq((void *)context.registers[numbers[i][0]],
                     &ucontext.uc_mcontext.gregs[numbers[i][1]]);
}

/* ---- Other ways on, other records ---- */

TEST(on_at_the_next_context) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  words[4] = NATIVE;
  words[24] = NATIVE;
  struct stackpack_walk walk = start_managed(&walker, SMALL, 1, NULL);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 5);
  const struct stackpack_context next =
      stackpack_context_at_call(SMALL, (uintptr_t)&words[21], NULL);
  stackpack_walk_resume(&walk, all_words(), &next);
  expect(&walk, STACKPACK_WALK_MANAGED, SMALL, 21);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 25);
  ck_assert_uint_eq(walk.managed_frames, 2);
  const struct stackpack_context native =
      stackpack_context_at_call(NATIVE, (uintptr_t)&words[40], NULL);
  stackpack_walk_resume(&walk, all_words(), &native);
  expect_end(&walk, STACKPACK_WALK_NO_MANAGED); /* a wrong context isn't taken for an end */
  stackpack_walk_resume(&walk, all_words(), &next);
  expect_end(&walk, STACKPACK_WALK_NO_PROGRESS); /* back to where it has been */
}

TEST(on_another_stack) {
  uintptr_t other[8] = {[3] = NATIVE};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  const struct stackpack_stack stack = {(uintptr_t)other, (uintptr_t)(other + 8)};
  words[4] = NATIVE;
  struct stackpack_walk walk = start_managed(&walker, SMALL, 1, NULL);
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 5);
  const struct stackpack_context next = stackpack_context_at_call(SMALL, (uintptr_t)other, NULL);
  stackpack_walk_resume(&walk, stack, &next);
  ck_assert_int_eq(stackpack_walk_next(&walk), STACKPACK_WALK_MANAGED);
  ck_assert_int_eq(stackpack_walk_next(&walk), STACKPACK_WALK_AT_NATIVE);
  ck_assert_uint_eq(walk.managed_frames, 2);
}

TEST(roots_of_a_stack_map) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  struct stackpack_walk walk = start(&walker, MAPPED, 1, NULL);
  words[2] = NATIVE;
  expect(&walk, STACKPACK_WALK_MANAGED, MAPPED, 1);
  struct stackpack_walk again = walk;
  expect(&walk, STACKPACK_WALK_AT_NATIVE, NATIVE, 3); /* who doesn't ask can go on */
  ck_assert_int_eq(stackpack_walk_update(&again, NULL, NULL), STACKPACK_WALK_NOT_STATEPOINT);
  expect_end(&again, STACKPACK_WALK_NOT_STATEPOINT);
}

TEST(a_vector_of_references) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  struct stackpack_root root;
  words[2] = 77;
  words[3] = 88;
  struct stackpack_walk walk = start_managed(&walker, VECTOR, 1, NULL);
  for (unsigned i = 2; i <= 3; i++) {
    ck_assert(stackpack_walk_root(&walk, &root));
    ck_assert_ptr_eq(root.base, &words[i]);
    ck_assert_ptr_eq(root.derived, &words[i]);
  }
  ck_assert(!stackpack_walk_root(&walk, &root));
  ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL), STACKPACK_WALK_MANAGED);
  ck_assert_uint_eq(words[1], GARBAGE);
  ck_assert_uint_eq(words[2], 78);
  ck_assert_uint_eq(words[3], 89);
  ck_assert_uint_eq(words[4], GARBAGE);
}

TEST(half_a_reference) {
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  struct stackpack_walk walk = start_managed(&walker, HALF, 1, NULL);
  ck_assert_int_eq(stackpack_walk_update(&walk, forward_plus_one, NULL),
                   STACKPACK_WALK_BAD_LOCATION);
  expect_end(&walk, STACKPACK_WALK_BAD_LOCATION);
}

TEST(addresses) {
  struct stackpack_registers registers = {.known = STACKPACK_PRESERVED_REGISTERS};
  struct stackpack_walker walker = walker_by(STACKPACK_BY_TABLE, STACKPACK_BY_TABLE);
  struct stackpack_walk walk = start_managed(&walker, SMALL, 1, &registers);
  const struct stackpack_location slot = model_slot(16);
  const struct stackpack_location object = model_location(STACKPACK_DIRECT, 8, STACKPACK_RSP, 8);
  const struct stackpack_location in_rbx = model_location(STACKPACK_REGISTER, 8, STACKPACK_RBX, 0);
  const struct stackpack_location in_rax = model_location(STACKPACK_REGISTER, 8, 0, 0);
  const struct stackpack_location number = model_constant(5);
  const struct stackpack_location outside = model_slot(WORDS * 8);
  ck_assert_ptr_eq(stackpack_walk_address(&walk, &slot), &words[3]);
  ck_assert_ptr_eq(stackpack_walk_address(&walk, &object), &words[2]);
  ck_assert_ptr_eq(stackpack_walk_address(&walk, &in_rbx), &registers.values[STACKPACK_RBX]);
  ck_assert_ptr_null(stackpack_walk_address(&walk, &in_rax));
  ck_assert_ptr_null(stackpack_walk_address(&walk, &number));
  ck_assert_ptr_null(stackpack_walk_address(&walk, &outside));
}

TEST(answer_texts) {
  for (unsigned i = 0; i <= STACKPACK_WALK_BAD_LOCATION + 3; i++) {
    const char *text = stackpack_walk_text((enum stackpack_walk_answer)i);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_gt(strlen(text), 0);
    ck_assert_int_ne(text[strlen(text) - 1], '.');
    for (unsigned k = 0; k < i && i <= STACKPACK_WALK_BAD_LOCATION; k++)
      ck_assert_str_ne(text, stackpack_walk_text((enum stackpack_walk_answer)k));
  }
}
