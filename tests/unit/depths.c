/* depths.c - tests what code tells of frames' sizes where jumps have computed targets, on instructions that assemblers give
 * for the text beside them.
 */
#include "tool/code/depths.h"
#include "suite.h"

#include <elf.h>

enum { ADDRESS = 0x401000, UNTOLD = 0, RECORDS_MAX = 4 };

/* A call's return address, relative to the function, and the distance from there to the CFA: 8 more than the frame's size. */
struct call {
  uint64_t offset;
  int32_t distance;
};

static struct safepoints table_of(uint64_t size, const struct call *calls, size_t count) {
  struct safepoints table = {.machine = EM_X86_64};
  uint64_t none;
  ck_assert(safepoints_add_function(
      &table, (struct safepoint_function){.address = ADDRESS, .frame_size = 0}));
  const uint32_t live = safepoints_add_live(&table, &none, 0, 0);
  for (size_t i = 0; i < count; i++)
    ck_assert(safepoints_add_record(
        &table, (struct safepoint){.address = ADDRESS + calls[i].offset, .live = live}));
  ck_assert(safepoints_finish(&table));
  table.functions[0].end = ADDRESS + size;
  return table;
}

static void check(const uint8_t *bytes, size_t size, const struct call *calls) {
  struct code code = {.machine = machine_find(EM_X86_64)};
  size_t count = 0;
  while (count < RECORDS_MAX && calls[count].offset != 0)
    count++;
  struct safepoints table = table_of(size, calls, count);
  code_add(&code, ADDRESS, bytes, size);
  ck_assert(depths_tell_frames(&table, &code));
  ck_assert_uint_eq(table.record_count, count);
  for (size_t i = 0; i < count; i++) {
    const uint32_t frame = table.records[i].frame;
    ck_assert_int_eq(
        calls[i].distance,
        frame == 0 ? UNTOLD : frame_from_words(intern_get(&table.frames, frame - 1)).cfa_offset);
  }
  safepoints_free(&table);
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define CALLS(...)                                                                                 \
  (const struct call[RECORDS_MAX]) { __VA_ARGS__ }
#define CALL 0xe8, 0, 0, 0, 0
#define JUMP_BY_TABLE 0xff, 0x24, 0xf5, 0, 0, 0, 0 /* jmp *table(,%rsi,8) */
#define PUSH_RAX 0x50
#define PUSH_1 0x6a, 0x01
#define POP_RAX 0x58
#define ADD_8 0x48, 0x83, 0xc4, 0x08 /* add $8, %rsp */
#define RETURN 0xc3
#define PADDING 0x66, 0x90

START_TEST(jumps_by_a_table) {
  /* Two blocks, which nothing else leads to; one pushes an argument. */
  check(BYTES(PUSH_RAX, JUMP_BY_TABLE, CALL, POP_RAX, RETURN, PADDING, PUSH_1, CALL, ADD_8, POP_RAX,
              RETURN),
        CALLS({13, 16}, {24, 24}));
  /* A call before the jump is proven by a return behind it. */
  check(BYTES(PUSH_RAX, CALL, JUMP_BY_TABLE, POP_RAX, RETURN), CALLS({6, 16}));
}

/* Nothing is proven by a jump that leads nowhere in the function: it may be a call of another one, of a convention by
 * which it takes its arguments off the stack. */
START_TEST(jumps_to_other_functions) {
  check(BYTES(PUSH_RAX, CALL, POP_RAX, 0xff, 0xe0 /* jmp *%rax */), CALLS({6, UNTOLD}));
  check(BYTES(PUSH_RAX, CALL, POP_RAX, 0xff, 0xe0, PADDING), CALLS({6, UNTOLD}));
}

/* A block that such a jump leads to may seem to follow on a call that doesn't return. */
START_TEST(calls_that_may_not_return) {
  /* With an argument on the stack: then the function doesn't return as it was entered. */
  check(BYTES(PUSH_RAX, JUMP_BY_TABLE, PUSH_1, CALL, CALL, POP_RAX, RETURN),
        CALLS({15, UNTOLD}, {20, UNTOLD}));
  /* Or it doesn't return at all. */
  check(BYTES(PUSH_RAX, JUMP_BY_TABLE, PUSH_1, CALL, CALL, 0x0f, 0x0b /* ud2 */),
        CALLS({15, UNTOLD}, {20, UNTOLD}));
  /* Before the function has its frame. */
  check(BYTES(0x75, 0x06 /* jne */, CALL, RETURN, PUSH_RAX, JUMP_BY_TABLE, POP_RAX, RETURN),
        CALLS({7, UNTOLD}));
}

START_TEST(jumps_at_different_depths) {
  check(BYTES(PUSH_RAX, JUMP_BY_TABLE, CALL, PUSH_RAX, JUMP_BY_TABLE, POP_RAX, POP_RAX, RETURN),
        CALLS({13, UNTOLD}));
}

SUITE("depths", jumps_by_a_table, jumps_to_other_functions, calls_that_may_not_return,
      jumps_at_different_depths)
