/* check.c - tests stackpack_check.h: two walks over one hand-made stack, by two tables that differ in
 * one function's frame size or roots.
 */
#include "runtime/stackpack_check.h"

#include "model_check.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

/* Where calls return to. */
enum {
  YOUNG = 0x1010,    /* of 24 bytes in the first table */
  OLD = 0x2010,      /* of 24 bytes; with roots */
  NO_POINT = 0x2020, /* managed, but no safepoint */
  NATIVE = 0xa000,
};
enum { WORDS = 32, GARBAGE = 0x5a5a, UNKNOWN = -1, RETURN = 16 };

static uintptr_t words[WORDS];
static struct stackpack_check check;

/* The frames that a table tells of. A root by a letter: a to c, slots from the stack pointer on; r, in
 * a register that the younger frame has lost. */
struct side {
  int64_t young_size, old_size;
  const char *roots;
};

static void tell_frames(struct safepoints *table) {
  table->frame_machine = (struct frame_machine){STACKPACK_RSP, RETURN, 8};
  for (uint32_t i = 0; i < table->record_count; i++) {
    const uint64_t size = table->functions[table->records[i].function].frame_size;
    struct frame_facts facts = {.cfa_register = STACKPACK_RSP,
                                .cfa_offset = (int32_t)size + 8,
                                .return_register = RETURN,
                                .saved = 1u << RETURN,
                                .lost = 1u << STACKPACK_RBX,
                                .offsets[RETURN] = -8};
    if (size != STACKPACK_FRAME_SIZE_UNKNOWN)
      table->records[i].frame = frame_facts_add(&table->frames, &facts);
  }
}

static struct packed_model open_side(const struct side *side) {
  static const struct model_options options = {
      .section_address = 0x200000, .open_address = 0x200000, .tell_frames = tell_frames};
  struct model model = {0};
  model_add_function(&model, 0x1000, (uint64_t)side->young_size, 0x1100);
  model_add_record(&model, YOUNG & 0xfff);
  model_add_function(&model, 0x2000, (uint64_t)side->old_size, 0x2100);
  struct model_record *record = model_add_record(&model, OLD & 0xfff);
  for (const char *root = side->roots; *root != 0; root++) {
    const struct stackpack_location place =
        *root == 'r' ? model_location(STACKPACK_REGISTER, 8, STACKPACK_RBX, 0)
                     : model_slot(8 * (*root - 'a'));
    model_add_pair(record, place, place);
  }
  model_finish(&model);
  const struct packed_model packed = packed_model_open(&model, &options);
  model_free(&model);
  return packed;
}

/* Two frames of 24 bytes, at words 1 and 5, below a native one. */
static void fill_words(void) {
  for (unsigned i = 0; i < WORDS; i++)
    words[i] = GARBAGE;
  words[4] = OLD;
  words[8] = NATIVE;
}

static bool check_walks(const struct stackpack_walker *first, const struct stackpack_walker *second,
                        uintptr_t pc, unsigned end) {
  const struct stackpack_stack stack = {(uintptr_t)words, (uintptr_t)&words[end]};
  const struct stackpack_context context =
      stackpack_context_at_call(pc, (uintptr_t)&words[1], NULL);
  memset(&check, 0x55, sizeof check);
  return stackpack_check_walks(&check, first, second, stack, &context);
}

/* The same with tables, each as the first one. */
static void check_both_ways(const struct side *a, const struct side *b, uintptr_t pc, unsigned end,
                            enum stackpack_check_answer expected, uint64_t frames) {
  struct packed_model packed[] = {open_side(a), open_side(b)};
  for (unsigned i = 0; i < 2; i++) {
    const struct stackpack_walker first = {.table = &packed[i].table},
                                  second = {.table = &packed[1 - i].table};
    const bool same = check_walks(&first, &second, pc, end);
    ck_assert_int_eq(check.answer, expected);
    ck_assert(same == (expected < STACKPACK_CHECK_ANSWER));
    ck_assert_uint_eq(check.frames, frames);
    ck_assert_uint_eq(check.last_pc, frames == 0 ? 0 : frames == 1 ? YOUNG : OLD);
    ck_assert_uint_eq(check.last_stack_pointer,
                      frames == 0 ? 0 : (uintptr_t)&words[frames == 1 ? 1 : 5]);
  }
  for (unsigned i = 0; i < 2; i++)
    packed_model_free(&packed[i]);
}

/* ---- Frames ---- */

TEST(frames) {
  static const struct {
    struct side other;
    uintptr_t pc, words[2]; /* at 4 and 5 */
    unsigned end;
    enum stackpack_check_answer expected;
    uint64_t frames;
  } cases[] = {
      {{24, 24, "ab"}, YOUNG, {OLD, GARBAGE}, WORDS, STACKPACK_CHECK_SAME, 2},
      {{24, 24, "ab"}, YOUNG, {OLD, GARBAGE}, 9, STACKPACK_CHECK_SAME, 2}, /* the stack's end */
      {{24, 24, "ab"}, NATIVE, {OLD, GARBAGE}, WORDS, STACKPACK_CHECK_NO_MANAGED, 0},
      {{24, 24, "ab"}, YOUNG, {NO_POINT, GARBAGE}, WORDS, STACKPACK_CHECK_STOPPED, 1},
      {{24, 24, "ab"}, NO_POINT, {OLD, GARBAGE}, WORDS, STACKPACK_CHECK_STOPPED, 0},
      /* Another size leads to the next word: to another frame, or to none. */
      {{32, 24, "ab"}, YOUNG, {OLD, OLD}, WORDS, STACKPACK_CHECK_FRAME, 1},
      {{32, 24, "ab"}, YOUNG, {OLD, YOUNG}, WORDS, STACKPACK_CHECK_FRAME, 1},
      {{32, 24, "ab"}, YOUNG, {OLD, GARBAGE}, WORDS, STACKPACK_CHECK_ANSWER, 1},
      {{32, 24, "ab"}, YOUNG, {OLD, GARBAGE}, 6, STACKPACK_CHECK_ANSWER, 1},
      {{32, 24, "ab"}, YOUNG, {NO_POINT, NO_POINT}, WORDS, STACKPACK_CHECK_ANSWER, 1},
      {{32, 24, "ab"}, YOUNG, {GARBAGE, GARBAGE}, WORDS, STACKPACK_CHECK_ANSWER, 1},
      {{24, 32, "ab"}, YOUNG, {OLD, GARBAGE}, WORDS, STACKPACK_CHECK_ANSWER, 2},
      {{UNKNOWN, 24, "ab"}, YOUNG, {OLD, GARBAGE}, WORDS, STACKPACK_CHECK_ANSWER, 1},
      {{24, UNKNOWN, "ab"}, YOUNG, {OLD, GARBAGE}, WORDS, STACKPACK_CHECK_ANSWER, 2},
      {{24, 24, "ab"}, YOUNG, {OLD, GARBAGE}, 7, STACKPACK_CHECK_STOPPED, 2},
  };
  static const struct side right = {24, 24, "ab"};
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    fill_words();
    memcpy(&words[4], cases[i].words, sizeof cases[i].words);
    check_both_ways(&right, &cases[i].other, cases[i].pc, cases[i].end, cases[i].expected,
                    cases[i].frames);
  }
}

/* A walk ends at a native frame. The other, by a table with this size of the older frame, passes such
 * frames by the chain of frame pointers, to the stack's end or to a managed frame. */
TEST(native_frames) {
  static const struct {
    int64_t old_size;
    uintptr_t word_9, word_12; /* where a frame of 32 bytes returns to, and the native one */
    enum stackpack_check_answer expected;
  } cases[] = {
      {24, GARBAGE, NATIVE + 8, STACKPACK_CHECK_SAME},
      {24, GARBAGE, OLD, STACKPACK_CHECK_SAME},
      {32, NATIVE, NATIVE + 8, STACKPACK_CHECK_ANSWER},
      {32, NATIVE, OLD, STACKPACK_CHECK_ANSWER},
  };
  static const struct side right = {24, 24, "a"};
  for (unsigned i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    struct packed_model packed[] = {open_side(&right),
                                    open_side(&(struct side){24, cases[i / 2].old_size, "a"})};
    const struct stackpack_walker ends = {.table = &packed[0].table},
                                  passes = {.table = &packed[1].table,
                                            .native = STACKPACK_BY_FRAME_POINTER};
    const struct stackpack_stack stack = {(uintptr_t)words, (uintptr_t)(words + WORDS)};
    struct stackpack_context context = {.pc = YOUNG, .stack_pointer = (uintptr_t)&words[1]};
    uintptr_t pointer = (uintptr_t)&words[11];
    fill_words();
    words[9] = cases[i / 2].word_9;
    words[11] = 0;
    words[12] = cases[i / 2].word_12;
    stackpack_context_save(&context, STACKPACK_FRAME_POINTER, &pointer);
    stackpack_check_walks(&check, i % 2 == 0 ? &ends : &passes, i % 2 == 0 ? &passes : &ends, stack,
                          &context);
    ck_assert_int_eq(check.answer, cases[i / 2].expected);
    ck_assert_uint_eq(check.frames, 2);
    for (unsigned k = 0; k < 2; k++)
      packed_model_free(&packed[k]);
  }
}

/* ---- Roots ---- */

/* The younger frame has lost the register. */
TEST(roots_that_are_unknown) {
  static const struct side known = {24, 24, "ab"}, lost = {24, 24, "ar"}, more = {24, 24, "abr"};
  fill_words();
  check_both_ways(&lost, &lost, YOUNG, WORDS, STACKPACK_CHECK_STOPPED, 1);
  check_both_ways(&lost, &more, YOUNG, WORDS, STACKPACK_CHECK_STOPPED, 1);
  check_both_ways(&known, &lost, YOUNG, WORDS, STACKPACK_CHECK_ANSWER, 1);
  check_both_ways(&known, &more, YOUNG, WORDS, STACKPACK_CHECK_ANSWER, 1);
}

/* The roots of the frame at word 5 that one walk has and the other lacks; the first such one. */
TEST(roots) {
  static const struct {
    const char *roots[2];
    char missing[2]; /* a letter, or 0 */
  } cases[] = {
      {{"", ""}, {0}},           {{"abc", "abc"}, {0}},      {{"abc", "cba"}, {0}},
      {{"ab", "a"}, {'b', 0}},   {{"ab", "b"}, {'a', 0}},    {{"a", ""}, {'a', 0}},
      {{"abc", "ab"}, {'c', 0}}, {{"ab", "ac"}, {'b', 'c'}}, {{"a", "bc"}, {'a', 'b'}},
  };
  for (unsigned i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    const unsigned turn = i % 2;
    struct packed_model packed[2];
    fill_words();
    for (unsigned k = 0; k < 2; k++)
      packed[k] = open_side(&(struct side){24, 24, cases[i / 2].roots[k ^ turn]});
    const struct stackpack_walker first = {.table = &packed[0].table},
                                  second = {.table = &packed[1].table};
    const bool is_same = cases[i / 2].missing[0] == 0;
    ck_assert(check_walks(&first, &second, YOUNG, WORDS) == is_same);
    ck_assert_int_eq(check.answer, is_same ? STACKPACK_CHECK_SAME : STACKPACK_CHECK_ROOT);
    const struct stackpack_checked *sides[] = {&check.first, &check.second};
    for (unsigned k = 0; k < 2; k++) {
      const char missing = cases[i / 2].missing[k ^ turn];
      ck_assert(sides[k]->has_root == (missing != 0));
      if (missing != 0)
        ck_assert_ptr_eq(sides[k]->root.base, &words[5 + missing - 'a']);
      packed_model_free(&packed[k]);
    }
  }
}

/* ---- In words ---- */

/* Checks the walks by two tables, of which the second is this one; the text must be as expected. */
static void check_text(const struct side *other, uintptr_t pc, const char *expected) {
  static const struct side right = {24, 24, "ab"};
  struct packed_model packed[] = {open_side(&right), open_side(other)};
  const struct stackpack_walker first = {.table = &packed[0].table},
                                second = {.table = &packed[1].table};
  char text[STACKPACK_CHECK_TEXT];
  check_walks(&first, &second, pc, WORDS);
  ck_assert_str_eq(stackpack_check_text(&check, text), expected);
  for (unsigned i = 0; i < 2; i++)
    packed_model_free(&packed[i]);
}

TEST(texts) {
  static const struct side right = {24, 24, "ab"}, lacks = {24, 24, "a"},
                           unknown = {24, UNKNOWN, "ab"};
  char expected[STACKPACK_CHECK_TEXT];
  fill_words();
  snprintf(
      expected, sizeof expected,
      "2 managed frames are the same, the last with pc 0x2010, stack pointer %p, frame size 24",
      (void *)&words[5]);
  check_text(&right, YOUNG, expected);
  check_text(&right, NATIVE, "0 managed frames are the same");
  snprintf(expected, sizeof expected,
           "0 managed frames are the same; then, by both: %s (pc 0x2020, stack pointer %p)",
           stackpack_walk_text(STACKPACK_WALK_NOT_SAFEPOINT), (void *)&words[1]);
  check_text(&right, NO_POINT, expected);
  snprintf(expected, sizeof expected,
           "1 managed frames are the same, the last with pc 0x1010, stack pointer %p, frame size 24"
           "; then, of the frame with pc 0x2010, stack pointer %p, by the first: a reference at %p "
           "with its base at %p; by the second: none that the other hasn't",
           (void *)&words[1], (void *)&words[5], (void *)&words[6], (void *)&words[6]);
  check_text(&lacks, YOUNG, expected);
  snprintf(expected, sizeof expected,
           "2 managed frames are the same, the last with pc 0x2010, stack pointer %p, frame size 24"
           "; then, by the first: %s (pc 0xa000, stack pointer %p); by the second: %s (pc 0x2010, "
           "stack pointer %p)",
           (void *)&words[5], stackpack_walk_text(STACKPACK_WALK_AT_NATIVE), (void *)&words[9],
           stackpack_walk_text(STACKPACK_WALK_SIZE_UNKNOWN), (void *)&words[5]);
  check_text(&unknown, YOUNG, expected);
}
