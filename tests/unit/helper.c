/* helper.c - tests the straight-line code that functions share: its length in place of a jump or a call, or 0. The
 * instructions are those that assemblers give for the text beside them.
 */
#include "tool/flow/helper.h"
#include "suite.h"

#include <elf.h>

enum { ADDRESS = 0x401000, HELPER = ADDRESS + 64 };

/* The code at HELPER. */
struct text {
  const char *bytes;
  size_t size;
};

static uint64_t bytes_at(const void *context, uint64_t address, const uint8_t **bytes) {
  const struct text *text = context;
  if (address - HELPER >= text->size)
    return 0;
  *bytes = (const uint8_t *)text->bytes + (address - HELPER);
  return text->size - (address - HELPER);
}

static size_t read_helper(uint16_t machine, struct text transfer, struct text text,
                          bool has_copies) {
  const struct code_architecture *architecture = code_architecture(machine);
  const struct helper_code code = {&text, bytes_at};
  struct code_instruction instruction, instructions[HELPER_INSTRUCTIONS];
  architecture->decode((const uint8_t *)transfer.bytes, transfer.size, ADDRESS, &instruction);
  struct decoder decoder = decoder_open(architecture);
  const size_t count = helper_read(&decoder, &(struct parts){.is_fixed = true}, &code, &instruction,
                                   has_copies, instructions);
  decoder_close(&decoder);
  return count;
}

#define TEXT(bytes)                                                                                \
  { bytes, sizeof(bytes) - 1 }

struct way {
  const char *name;
  struct text transfer, helper;
  size_t count;
};

static void check(uint16_t machine, const struct way *ways, size_t count, bool has_copies) {
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(read_helper(machine, ways[i].transfer, ways[i].helper, has_copies) ==
                      ways[i].count,
                  "%s", ways[i].name);
}

#define CHECK(machine, ways, has_copies)                                                           \
  check(machine, ways, sizeof(ways) / sizeof *(ways), has_copies)

/* ---- By the link register, and by jumps ---- */

#define BL "\x10\x00\x00\x94"               /* bl .+64 */
#define B "\x10\x00\x00\x14"                /* b .+64 */
#define RET "\xc0\x03\x5f\xd6"              /* ret */
#define STORE "\xe9\x23\x00\xa9"            /* stp x9, x8, [sp] */
#define RAISE "\xff\xc3\x00\x91"            /* add sp, sp, #48 */
#define MOVE "\xe0\x03\x01\xaa"             /* mov x0, x1 */
#define SKIP "\x02\x00\x00\x14"             /* b .+8 */
#define REPEAT "\x00\x00\x00\x14"           /* b . */
#define SYSTEM "\x01\x00\x00\xd4"           /* svc #0 */
#define ADDRESS_OF_STACK "\xe0\x03\x00\x91" /* mov x0, sp */

TEST(helpers_of_aarch64) {
  static const struct way ways[] = {
      {"a store in the frame", TEXT(BL), TEXT(STORE RET), 1},
      {"nops", TEXT(BL), TEXT("\x1f\x20\x03\xd5" STORE RET), 2},
      {"a callee-saved register", TEXT(BL), TEXT("\xf3\x03\x01\xaa" RET), 1}, /* mov x19, x1 */
      {"the frame pointer", TEXT(BL), TEXT("\xfd\x03\x01\xaa" RET), 1},       /* mov x29, x1 */
      {"a place's address", TEXT(BL), TEXT(ADDRESS_OF_STACK RET), 1},
      {"a function", TEXT(BL), TEXT(MOVE RET), 0},
      {"another link", TEXT(BL), TEXT(STORE "\xfe\x03\x01\xaa" RET), 0}, /* mov x30, x1 */
      {"a call of the system", TEXT(BL), TEXT(STORE SYSTEM RET), 0},
      {"a jump", TEXT(BL), TEXT(STORE SKIP MOVE RET), 0},
      {"no end", TEXT(BL), TEXT(STORE), 0},
      {"an end of a function", TEXT(B), TEXT(RAISE RET), 1},
      {"a jump to it", TEXT(B), TEXT(SKIP MOVE RAISE RET), 1},
      {"a jump for ever", TEXT(B), TEXT(REPEAT), 0},
      {"work", TEXT(B), TEXT(RAISE MOVE RET), 0},
      {"a place's address, by a jump", TEXT(B), TEXT(ADDRESS_OF_STACK RET), 0},
      {"another stack", TEXT(B), TEXT("\x3f\x00\x00\x91" RET), 0},    /* mov sp, x1 */
      {"an address", TEXT(B), TEXT("\x00\x00\x00\x90" RAISE RET), 0}, /* adrp x0, . */
      {"by a branch", TEXT("\x00\x02\x00\x54"), TEXT(RAISE RET), 0},  /* b.eq .+64 */
      {"by a return", TEXT(RET), TEXT(RAISE RET), 0},
      {"by a pointer", TEXT("\x20\x00\x3f\xd6"), TEXT(STORE RET), 0}, /* blr x1 */
  };
  CHECK(EM_AARCH64, ways, false);
  static const struct way with_copies[] = {{"all of it", TEXT(BL), TEXT(MOVE RET), 1}};
  CHECK(EM_AARCH64, with_copies, true);
}

#define STORES_4 STORE STORE STORE STORE
#define STORES_28 STORES_4 STORES_4 STORES_4 STORES_4 STORES_4 STORES_4 STORES_4

TEST(a_helper_has_a_largest_size) {
  static const struct way ways[] = {
      {"31", TEXT(BL), TEXT(STORES_28 STORE STORE STORE RET), 31},
      {"32", TEXT(BL), TEXT(STORES_28 STORES_4 RET), 0},
  };
  CHECK(EM_AARCH64, ways, false);
}

/* ---- By another register ---- */

#define JAL_T0 "\xef\x02\x00\x04"     /* jal t0, .+64 */
#define MAKE_FRAME "\x13\x01\x01\xff" /* addi sp, sp, -16 */
#define STORE_LINK "\x23\x34\x11\x00" /* sd ra, 8(sp) */
#define JR_T0 "\x67\x80\x02\x00"      /* jr t0 */
#define NUMBER "\x37\x13\x00\x00"     /* lui t1, 1 */
#define SUBTRACT "\x33\x01\x61\x40"   /* sub sp, sp, t1 */

TEST(helpers_of_riscv64) {
  static const struct way ways[] = {
      {"a prologue", TEXT(JAL_T0), TEXT(MAKE_FRAME STORE_LINK JR_T0), 2},
      {"a large frame", TEXT(JAL_T0), TEXT(NUMBER SUBTRACT JR_T0), 2},
      {"a number alone", TEXT(JAL_T0), TEXT(NUMBER JR_T0), 1},
      {"a small number", TEXT(JAL_T0), TEXT("\x13\x03\x80\x00" JR_T0), 1}, /* li t1, 8 */
      {"a shift", TEXT(JAL_T0), TEXT("\x13\x15\x15\x00" JR_T0), 1},        /* slli a0, a0, 1 */
      {"nothing", TEXT(JAL_T0), TEXT(JR_T0), 0},
      {"work", TEXT(JAL_T0), TEXT(MAKE_FRAME "\x33\x45\xb5\x00" JR_T0), 0}, /* xor a0, a0, a1 */
      {"an address", TEXT(JAL_T0), TEXT(MAKE_FRAME "\x17\x13\x00\x00" JR_T0), 0},  /* auipc t1, 1 */
      {"another end", TEXT(JAL_T0), TEXT(MAKE_FRAME "\x67\x00\x03\x00"), 0},       /* jr t1 */
      {"an end further on", TEXT(JAL_T0), TEXT(MAKE_FRAME "\x67\x80\x42\x00"), 0}, /* jr 4(t0) */
      {"a return", TEXT(JAL_T0), TEXT(MAKE_FRAME "\x67\x80\x00\x00"), 0},
      {"another link", TEXT(JAL_T0), TEXT("\x93\x82\x42\x00" JR_T0), 0}, /* addi t0, t0, 4 */
      {"an end of a function", TEXT("\x6f\x00\x00\x04"), TEXT(MAKE_FRAME "\x67\x80\x00\x00"),
       1}, /* j .+64 */
      {"its other end", TEXT("\x6f\x00\x00\x04"), TEXT(MAKE_FRAME JR_T0), 0},
  };
  CHECK(EM_RISCV, ways, false);
}

/* ---- Where calls push the return address ---- */

TEST(helpers_of_x86_64) {
  static const struct way ways[] = {
      {"an end of a function", TEXT("\xe9\x3b\x00\x00\x00"), TEXT("\x5b\xc3"),
       1}, /* pop %rbx; ret */
      {"a call", TEXT("\xe8\x3b\x00\x00\x00"), TEXT("\x5b\xc3"), 0},
      {"a branch", TEXT("\x74\x3e"), TEXT("\x5b\xc3"), 0},
      {"a pointer", TEXT("\xff\xe0"), TEXT("\x5b\xc3"), 0},
      {"an address", TEXT("\xe9\x3b\x00\x00\x00"), TEXT("\x48\x8d\x05\x08\x00\x00\x00\xc3"), 0},
      {"a place's address", TEXT("\xe9\x3b\x00\x00\x00"), TEXT("\x48\x8d\x44\x24\x08\xc3"), 0},
      {"another stack", TEXT("\xe9\x3b\x00\x00\x00"), TEXT("\x48\x89\xcc\xc3"), 0},
  };
  CHECK(EM_X86_64, ways, false);
}
