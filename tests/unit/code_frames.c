/* code_frames.c - tests the facts on frames from code: where jumps have computed targets, on
 * instructions that assemblers give for the text beside them; and on a whole library, against its
 * unwind table.
 */
#include "tool/flow/code_frames.h"
#include "bytes.h"
#include "elf/evidence.h"
#include "suite.h"
#include "tool/code/code.h"
#include "tool/image/image.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>

enum { ADDRESS = 0x401000, UNTOLD = 0, RECORDS_MAX = 4 };

/* A call's return address, relative to the function, and the distance from there to the CFA: 8 more than the frame's size. */
struct call {
  uint64_t offset;
  int32_t distance;
};

static struct safepoints table_of(uint16_t machine, uint64_t size, const struct call *calls,
                                  size_t count) {
  struct safepoints table = {.machine = machine};
  uint64_t none;
  ck_assert(safepoints_add_function(
      &table, (struct safepoint_function){.address = ADDRESS, .frame_size = 0}));
  ck_assert_uint_eq(intern_add(&table.lists, NULL, 0), 0);
  const uint32_t live = safepoints_add_live(&table, &none, 0, 0);
  for (size_t i = 0; i < count; i++)
    ck_assert(safepoints_add_record(
        &table, (struct safepoint){.address = ADDRESS + calls[i].offset, .live = live}));
  ck_assert(safepoints_finish(&table));
  table.functions[0].end = ADDRESS + size;
  return table;
}

/* Of a function at the start of bytes[0..size). */
static void check_machine(uint16_t machine, uint64_t function_size, const uint8_t *bytes,
                          size_t size, const struct call *calls) {
  struct code code = {.machine = machine_find(machine)};
  size_t count = 0;
  while (count < RECORDS_MAX && calls[count].offset != 0)
    count++;
  struct safepoints table = table_of(machine, function_size, calls, count);
  ck_assert(code_add(&code, ADDRESS, bytes, size));
  code_frames_add(&table, &code, false);
  ck_assert_uint_eq(table.record_count, count);
  for (size_t i = 0; i < count; i++) {
    const uint32_t frame = table.records[i].frame;
    ck_assert_int_eq(calls[i].distance,
                     frame == 0 ? UNTOLD : frame_facts_get(&table.frames, frame).cfa_offset);
  }
  code_free(&code);
  safepoints_free(&table);
}

static void check(const uint8_t *bytes, size_t size, const struct call *calls) {
  check_machine(EM_X86_64, size, bytes, size, calls);
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define CALLS(...)                                                                                 \
  (const struct call[RECORDS_MAX]) { __VA_ARGS__ }
#define CALL 0xe8, 0, 0, 0x10, 0                   /* of a function further on */
#define JUMP_BY_TABLE 0xff, 0x24, 0xf5, 0, 0, 0, 0 /* jmp *table(,%rsi,8) */
#define PUSH_RAX 0x50
#define PUSH_RBP 0x55
#define POP_RBP 0x5d
#define LEAVE 0xc9
#define PUSH_1 0x6a, 0x01
#define POP_RAX 0x58
#define ADD_8 0x48, 0x83, 0xc4, 0x08 /* add $8, %rsp */
#define RETURN 0xc3
#define PADDING 0x66, 0x90

TEST(jumps_by_a_table) {
  /* Two blocks, reached in this way alone; one pushes an argument. */
  check(BYTES(PUSH_RAX, JUMP_BY_TABLE, CALL, POP_RAX, RETURN, PADDING, PUSH_1, CALL, ADD_8, POP_RAX,
              RETURN),
        CALLS({13, 16}, {24, 24}));
  /* A call before the jump is proven by a return after it. */
  check(BYTES(PUSH_RAX, CALL, JUMP_BY_TABLE, POP_RAX, RETURN), CALLS({6, 16}));
  check(BYTES(PUSH_RAX, CALL, JUMP_BY_TABLE, CALL, POP_RAX, RETURN), CALLS({6, 16}, {18, 16}));
}

/* A jump out of the function proves nothing: it may be a tail call, of a convention whose callee
 * pops its arguments. */
TEST(jumps_to_other_functions) {
  check(BYTES(PUSH_RAX, CALL, CALL, POP_RAX, 0xff, 0xe0 /* jmp *%rax */),
        CALLS({6, 16}, {11, UNTOLD}));
  check(BYTES(PUSH_RAX, CALL, CALL, POP_RAX, 0xff, 0xe0, PADDING), CALLS({6, 16}, {11, UNTOLD}));
  check(BYTES(PUSH_RAX, CALL, CALL, 0xe9, 0, 0, 0x10, 0 /* jmp, where no code is */),
        CALLS({6, 16}, {11, UNTOLD}));
}

/* At two depths, jumps go to no code that is unreachable otherwise; padding, and traps, are no such code. */
TEST(padding_after_jumps) {
#define TWO_DEPTHS(...)                                                                            \
  check(BYTES(0x75, 0x04 /* jne .+6 */, 0xff, 0xe0, __VA_ARGS__, PUSH_RAX, CALL, 0xff, 0xe0), calls)
  const struct call *calls = CALLS({12, 16});
  TWO_DEPTHS(PADDING);
  TWO_DEPTHS(0x0f, 0x0b);
  calls = CALLS({12, UNTOLD});
  TWO_DEPTHS(PUSH_RAX, POP_RAX);
}

/* A block that is the target of such a jump may seem to follow a noreturn call. */
TEST(calls_that_may_not_return) {
  /* With an argument on the stack: then the function returns with another stack depth. */
  check(BYTES(PUSH_RAX, JUMP_BY_TABLE, PUSH_1, CALL, CALL, POP_RAX, RETURN),
        CALLS({15, 24}, {20, UNTOLD}));
  /* Or it never returns. */
  check(BYTES(PUSH_RAX, JUMP_BY_TABLE, PUSH_1, CALL, CALL, 0x0f, 0x0b /* ud2 */),
        CALLS({15, 24}, {20, UNTOLD}));
  /* Before the function has its frame: the code after the second call may be reached by the
   * jump. */
  check(BYTES(0x75, 0x0b /* jne */, CALL, CALL, RETURN, PUSH_RAX, JUMP_BY_TABLE, POP_RAX, RETURN),
        CALLS({7, UNTOLD}, {12, UNTOLD}));
}

TEST(jumps_at_different_depths) {
  check(BYTES(PUSH_RAX, JUMP_BY_TABLE, CALL, PUSH_RAX, JUMP_BY_TABLE, POP_RAX, POP_RAX, RETURN),
        CALLS({13, UNTOLD}));
}

/* The frame pointer's register may hold a number on one way, and a place on the stack on another one: that matters only where the
 * stack pointer is made of it. */
TEST(frame_pointers_that_differ) {
#define TWO_WAYS PUSH_RBP, 0x75, 0x08 /* jne */, 0x48, 0x89, 0xe5 /* mov %rsp, %rbp */, CALL, CALL
  check(BYTES(TWO_WAYS, CALL, POP_RBP, RETURN), CALLS({11, 16}, {16, 16}, {21, 16}));
  check(BYTES(TWO_WAYS, CALL, LEAVE, RETURN), CALLS({11, 16}, {16, 16}, {21, UNTOLD}));
}

/* The stack pointer is made anew after the second call, by a frame pointer that was set after the first one: a return at the right
 * depth says nothing about the call. */
TEST(a_stack_pointer_that_is_remade) {
  check(BYTES(PUSH_RBP, CALL, 0x48, 0x89, 0xe5, CALL, LEAVE, RETURN), CALLS({6, 16}, {14, UNTOLD}));
  check(BYTES(PUSH_RBP, CALL, 0x48, 0x89, 0xe5, CALL, POP_RBP, RETURN), CALLS({6, 16}, {14, 16}));
}

/* A branch to code that never returns: its depth was proven where it branched off, up to its next call. */
TEST(depths_that_are_proven_earlier) {
  check(BYTES(PUSH_RAX, CALL, 0x75, 0x02 /* jne .+4 */, POP_RAX, RETURN, CALL, CALL, 0x0f, 0x0b),
        CALLS({6, 16}, {15, 16}, {20, UNTOLD}));
  check(BYTES(PUSH_RAX, CALL, 0x75, 0x02, POP_RAX, RETURN, PADDING, 0x75, 0x00, CALL, 0x0f, 0x0b),
        CALLS({6, 16}, {19, 16}));
}

/* Functions with an unwind table, even of a part, are left out; those beside one aren't. */
TEST(functions_with_unwind_tables) {
  static const uint8_t bytes[] = {PUSH_RAX, CALL, POP_RAX, RETURN};
  enum { SIZE = sizeof bytes, FAR = 0x1000 };
  static const struct {
    int start, end;
    bool is_told;
  } ways[] = {{0, SIZE, false}, {-8, 1, false}, {SIZE - 1, FAR, false},
              {2, 3, false},    {-8, 0, true},  {SIZE, SIZE + 8, true}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct code code = {.machine = machine_find(EM_X86_64)};
    struct safepoints table = table_of(EM_X86_64, SIZE, CALLS({6, 16}), 1);
    ck_assert(code_add(&code, ADDRESS, bytes, SIZE));
    ck_assert(code_ranges_add(&code.unwound, ADDRESS - FAR, ADDRESS - FAR + 8));
    ck_assert(code_ranges_add(&code.unwound, ADDRESS + (uint64_t)(int64_t)ways[i].start,
                              ADDRESS + (uint64_t)(int64_t)ways[i].end));
    for (unsigned k = 1; k < 4; k++)
      ck_assert(code_ranges_add(&code.unwound, ADDRESS + k * FAR, ADDRESS + k * FAR + 8));
    code_ranges_sort(&code.unwound);
    code_frames_add(&table, &code, false);
    ck_assert_msg((table.records[0].frame != 0) == ways[i].is_told, "%zu", i);
    code_free(&code);
    safepoints_free(&table);
  }
}

/* The second call is met at the depth of the first one's argument, unless that has popped it; the code after it has another depth
 * by the branch. */
TEST(calls_before_another_depth) {
  check(BYTES(PUSH_RAX, 0x75, 0x0c /* jne .+14 */, PUSH_1, CALL, CALL, POP_RAX, RETURN),
        CALLS({10, 24}, {15, UNTOLD}));
  check(BYTES(PUSH_RAX, 0x75, 0x07 /* jne .+9 */, PUSH_1, CALL, CALL, POP_RAX, RETURN),
        CALLS({10, 24}, {15, 16})); /* of the second one, the branch's counts */
}

/* Below the stack pointer, a callee overwrites what was saved. */
TEST(registers_saved_below_the_stack) {
#define PUSH_RBX 0x53
#define CHANGE_RBX 0x31, 0xdb /* xor %ebx, %ebx */
  static const uint8_t above[] = {PUSH_RBX, CHANGE_RBX, CALL, 0x5b, RETURN},
                       below[] = {PUSH_RBX, ADD_8, CHANGE_RBX, CALL, RETURN};
  for (unsigned is_below = 0; is_below < 2; is_below++) {
    struct code code = {.machine = machine_find(EM_X86_64)};
    const size_t size = is_below ? sizeof below : sizeof above;
    struct safepoints table = table_of(EM_X86_64, size, CALLS({is_below ? 12 : 8, 0}), 1);
    ck_assert(code_add(&code, ADDRESS, is_below ? below : above, size));
    code_frames_add(&table, &code, false);
    ck_assert_uint_ne(table.records[0].frame, 0);
    const struct frame_facts facts = frame_facts_get(&table.frames, table.records[0].frame);
    ck_assert((facts.saved >> 3 & 1) == !is_below && (facts.lost >> 3 & 1) == is_below);
    code_free(&code);
    safepoints_free(&table);
  }
}

/* LLVM's size of the frame is the least. */
TEST(frames_that_are_too_small) {
  static const uint8_t bytes[] = {PUSH_RAX, CALL, POP_RAX, RETURN};
  for (uint64_t size = 0; size <= 16; size += 8) {
    struct code code = {.machine = machine_find(EM_X86_64)};
    struct safepoints table = table_of(EM_X86_64, sizeof bytes, CALLS({6, 16}), 1);
    table.functions[0].frame_size = size;
    ck_assert(code_add(&code, ADDRESS, bytes, sizeof bytes));
    code_frames_add(&table, &code, false);
    ck_assert((table.records[0].frame != 0) == (size <= 8));
    code_free(&code);
    safepoints_free(&table);
  }
}

/* ---- Machines whose calls leave the return address in a register ---- */

TEST(frames_of_aarch64) {
#define PUSH_LINK 0xfd, 0x7b, 0xbf, 0xa9 /* stp x29, x30, [sp, #-16]! */
#define POP_LINK 0xfd, 0x7b, 0xc1, 0xa8  /* ldp x29, x30, [sp], #16 */
#define BL 0x40, 0, 0, 0x94              /* bl .+256 */
#define RET 0xc0, 0x03, 0x5f, 0xd6
#define ARM(...)                                                                                   \
  check_machine(EM_AARCH64, sizeof((const uint8_t[]){__VA_ARGS__}), BYTES(__VA_ARGS__), calls)
  /* The call after another one is proven by the function's end. */
  const struct call *calls = CALLS({8, 16}, {12, 16});
  ARM(PUSH_LINK, BL, BL, POP_LINK, RET);
  calls = CALLS({16, UNTOLD}); /* at two depths */
  ARM(PUSH_LINK, 0x40, 0, 0, 0xb4 /* cbz x0, .+8 */, 0xff, 0x43, 0, 0xd1 /* sub sp, sp, #16 */, BL,
      POP_LINK, RET);
}

TEST(frames_of_riscv64) {
#define JAL 0xef, 0, 0, 0x10 /* jal ra, .+256 */
#define RISCV(SIZE, ...) check_machine(EM_RISCV, SIZE, BYTES(__VA_ARGS__), calls)
#define MAKE_FRAME 0x41, 0x11, 0x06, 0xe4 /* addi sp, sp, -16; sd ra, 8(sp) */
#define LOAD_LINK 0xa2, 0x60              /* ld ra, 8(sp) */
#define END_FRAME 0x41, 0x01              /* addi sp, sp, 16 */
#define JR_RA 0x82, 0x80
  const struct call *calls = CALLS({8, 16}, {12, 16});
  RISCV(18, MAKE_FRAME, JAL, JAL, LOAD_LINK, END_FRAME, JR_RA);
  /* By helpers behind the function. */
  RISCV(16, 0xef, 0x02, 0x00, 0x01 /* jal t0, .+16 */, JAL, JAL, 0x6f, 0, 0xa0, 0 /* j .+10 */,
        MAKE_FRAME, 0x82, 0x82 /* jr t0 */, LOAD_LINK, END_FRAME, JR_RA);
  calls = CALLS({12, UNTOLD});
  RISCV(18, MAKE_FRAME, 0x11, 0xc1 /* beqz a0, .+4 */, 0x41, 0x11 /* addi sp, sp, -16 */, JAL,
        LOAD_LINK, END_FRAME, JR_RA);
}

/* ---- A library ---- */

/* The code at a range of addresses; NULL if it is in several pieces. */
static const uint8_t *bytes_at(const struct code *code, struct code_range range) {
  for (size_t i = 0; i < code->count; i++) {
    const struct section_bytes *part = &code->parts[i];
    if (range.start - part->address < part->size && range.end - part->address <= part->size)
      return part->bytes + (range.start - part->address);
  }
  return NULL;
}

/* A function with a record for each call. */
static void add_calls(struct safepoints *table, const uint8_t *bytes, struct code_range range) {
  struct code_instruction instruction;
  uint64_t none;
  ck_assert(safepoints_add_function(
      table, (struct safepoint_function){.address = range.start, .end = range.end}));
  ck_assert_uint_eq(intern_add(&table->lists, NULL, 0), 0);
  const uint32_t live = safepoints_add_live(table, &none, 0, 0);
  for (uint64_t at = range.start; at < range.end; at += instruction.length) {
    code_architecture(EM_X86_64)->decode(bytes + (at - range.start), range.end - at, at,
                                         &instruction);
    if (instruction.kind == CODE_CALL)
      ck_assert(
          safepoints_add_record(table, (struct safepoint){.address = at + instruction.length,
                                                          .function = table->function_count - 1,
                                                          .live = live}));
  }
}

static struct safepoints calls_of(const struct code *code) {
  struct safepoints table = {.machine = EM_X86_64};
  uint64_t end = 0;
  for (size_t i = 0; i < code->unwound.count; i++) {
    const struct code_range range = code->unwound.items[i];
    const uint8_t *bytes = bytes_at(code, range);
    if (range.start < end || range.start == range.end || bytes == NULL)
      continue;
    add_calls(&table, bytes, range);
    end = range.end;
  }
  ck_assert(safepoints_finish(&table));
  return table;
}

static int32_t distance_of(const struct safepoints *table, uint32_t frame) {
  if (frame == 0)
    return UNTOLD;
  const struct frame_facts facts = frame_facts_get(&table->frames, frame);
  return facts.cfa_register == table->frame_machine.stack_pointer ? facts.cfa_offset : UNTOLD;
}

/* The code's facts on registers that calls preserve: saved where the unwind table has them, or
 * lost. */
enum { PRESERVED = 0xf048 }; /* rbx, rbp, r12 to r15 */
static void check_registers(const struct safepoints *table, uint32_t frame, uint32_t right_frame) {
  const struct frame_facts facts = frame_facts_get(&table->frames, frame);
  const struct frame_facts right = frame_facts_get(&table->frames, right_frame);
  ck_assert_uint_eq(right.saved & PRESERVED & ~facts.saved & ~facts.lost, 0);
  for (unsigned i = 0; i < FRAME_REGISTERS; i++)
    if ((facts.saved & right.saved) >> i & 1)
      ck_assert_int_eq(facts.offsets[i], right.offsets[i]);
}

/* Parts of functions, and stubs of the linkage table, start with more on the stack than a call leaves there. No stack map is of
 * such a one. */
static void leave_out_parts(struct evidence *evidence) {
  struct code_ranges *unwound = &evidence->code.unwound;
  uint64_t *starts = test_allocate((unwound->count + 1) * sizeof *starts);
  uint32_t *numbers = test_allocate((unwound->count + 1) * sizeof *numbers);
  struct intern facts = {0};
  for (size_t i = 0; i < unwound->count; i++) {
    starts[i] = unwound->items[i].start;
    numbers[i] = 0;
  }
  ck_assert(eh_frame_facts(&facts, numbers, starts, unwound->count, NULL, &evidence->unwind));
  for (size_t i = 0; i < unwound->count; i++)
    if (numbers[i] == 0 || frame_facts_get(&facts, numbers[i]).cfa_offset != sizeof(uint64_t))
      unwound->items[i].end = unwound->items[i].start;
  intern_free(&facts);
  free(numbers);
  free(starts);
}

/* The facts on a call from the code, with the unwind table ignored, equal the unwind table's. Of
 * `least` or more calls in frames that end at a distance from the stack pointer, it finds a third.
 * */
static void check_file(const char *path, uint32_t least) {
  struct image image;
  struct problem problem = {0};
  struct evidence evidence;
  uint32_t told = 0, comparable = 0;
  ck_assert(image_open(&image, path, &problem));
  if (image.machine->elf_number != EM_X86_64) {
    image_close(&image);
    return;
  }
  ck_assert(evidence_find(&evidence, &image.elf_image));
  leave_out_parts(&evidence);
  struct safepoints table = calls_of(&evidence.code);
  ck_assert(eh_frame_tell_frames(&table, &evidence.code, &evidence.unwind));
  uint32_t *right = test_allocate(((size_t)table.record_count + 1) * sizeof *right);
  for (uint32_t i = 0; i < table.record_count; i++) {
    right[i] = table.records[i].frame;
    table.records[i].frame = 0;
  }
  evidence.code.unwound.count = 0;
  code_frames_add(&table, &evidence.code, false);
  for (uint32_t i = 0; i < table.record_count; i++) {
    const uint32_t frame = table.records[i].frame;
    const int32_t distance = distance_of(&table, frame);
    comparable += distance_of(&table, right[i]) != UNTOLD;
    if (distance == UNTOLD || distance_of(&table, right[i]) == UNTOLD) /* by the frame pointer */
      continue;
    ck_assert_int_eq(distance, distance_of(&table, right[i]));
    check_registers(&table, frame, right[i]);
    told++;
  }
  ck_assert_uint_ge(comparable, least);
  ck_assert(least == 0 || told >= comparable / 3);
  free(right);
  safepoints_free(&table);
  evidence_free(&evidence);
  image_close(&image);
}

/* With sanitizers, most of its frames end at a distance from the frame pointer. */
TEST(this_program) { check_file("/proc/self/exe", 100); }

/* Some distributions compile it with frame pointers: then little is to be compared. */
TEST(the_c_library) {
  Dl_info info;
  ck_assert(dladdr((void *)abort, &info) != 0);
  check_file(info.dli_fname, 0);
}
