/* machine.c - tests each machine's description on code: whether a call, or a nop, ends at a place.
 * For x86-64 a disassembler library gives the lengths of all
 * forms; the other machines' instructions are assemblers' output for the text beside them.
 */
#include "elf/machine.h"
#include "format/frames.h"
#include "suite.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

/* ---- x86-64 ---- */

/* The length of the instruction at bytes[0..size), if it is in a category; else 0. */
static size_t length_of(const uint8_t *bytes, size_t size, ZydisInstructionCategory category,
                        ZydisInstructionCategory other) {
  ZydisDecoder decoder;
  ZydisDecodedInstruction instruction;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, size, &instruction)) ||
      (instruction.meta.category != category && instruction.meta.category != other))
    return 0;
  return instruction.length;
}

static bool is_near_call(const uint8_t *bytes) {
  return bytes[0] != 0xff || (bytes[1] >> 3 & 7) == 2;
}

/* Every ModRM byte after an opcode, and every SIB byte after that. */
TEST(forms_of_x86_64) {
  unsigned calls = 0, nops = 0;
  for (unsigned form = 0; form < 1 << 16; form++) {
    uint8_t bytes[16] = {0xff, (uint8_t)form, (uint8_t)(form >> 8), 0x11, 0x22, 0x33, 0x44, 0x55};
    const size_t length = length_of(bytes, sizeof bytes, ZYDIS_CATEGORY_CALL, ZYDIS_CATEGORY_CALL);
    if (length > 0 && is_near_call(bytes)) {
      calls++;
      ck_assert_msg(machine_x86_64.ends_call(bytes + length, length), "call %04x", form);
    }
  }
  for (unsigned form = 0; form < 1 << 16; form++) {
    uint8_t bytes[16] = {0x0f, 0x1f, (uint8_t)form, (uint8_t)(form >> 8)};
    const size_t length =
        length_of(bytes, sizeof bytes, ZYDIS_CATEGORY_WIDENOP, ZYDIS_CATEGORY_NOP);
    if (length > 0 && (form >> 3 & 7) == 0) {
      nops++;
      ck_assert_msg(machine_x86_64.ends_nop(bytes + length, length), "nop %04x", form);
    }
  }
  ck_assert_uint_ge(calls, 32 * 256 - 256);
  ck_assert_uint_ge(nops, 24 * 256 - 256);
}

/* ---- All machines ---- */

enum kind { NEITHER, CALL, NOP };

static const struct {
  const struct machine *machine;
  const char *text;
  uint8_t bytes[8];
  size_t size;
  enum kind kind;
} examples[] = {
    {&machine_x86_64, "call .-0x2b", {0xe8, 0xd0, 0xff, 0xff, 0xff}, 5, CALL},
    {&machine_x86_64, "addr32 call .+6", {0x67, 0xe8, 0, 0, 0, 0}, 6, CALL},
    {&machine_x86_64, "call *%r11", {0x41, 0xff, 0xd3}, 3, CALL},
    {&machine_x86_64, "nop", {0x90}, 1, NOP},
    {&machine_x86_64, "data16 nop", {0x66, 0x90}, 2, NOP},
    {&machine_x86_64, "nopw 0x200(%rax,%rax)", {0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0}, 8, NOP},
    {&machine_x86_64, "jmp .+5", {0xe9, 0, 0, 0, 0}, 5, NEITHER},
    {&machine_x86_64, "jmp *%rax", {0xff, 0xe0}, 2, NEITHER},
    {&machine_x86_64, "push %rax", {0x50}, 1, NEITHER},
    {&machine_x86_64, "prefetch (%rax)", {0x0f, 0x0d, 0}, 3, NEITHER},
    {&machine_x86_64, "two bytes of another, add %al, (%rax)", {0x0e, 0x1f, 0}, 3, NEITHER},
    {&machine_aarch64, "bl .+8", {0x02, 0, 0, 0x94}, 4, CALL},
    {&machine_aarch64, "bl .-4", {0xff, 0xff, 0xff, 0x97}, 4, CALL},
    {&machine_aarch64, "blr x8", {0x00, 0x01, 0x3f, 0xd6}, 4, CALL},
    {&machine_aarch64, "blraaz x8", {0x1f, 0x09, 0x3f, 0xd6}, 4, CALL},
    {&machine_aarch64, "blrabz x8", {0x1f, 0x0d, 0x3f, 0xd6}, 4, CALL},
    {&machine_aarch64, "blraa x8, x1", {0x01, 0x09, 0x3f, 0xd7}, 4, CALL},
    {&machine_aarch64, "blrab x8, sp", {0x1f, 0x0d, 0x3f, 0xd7}, 4, CALL},
    {&machine_aarch64, "nop", {0x1f, 0x20, 0x03, 0xd5}, 4, NOP},
    {&machine_aarch64, "b .+8", {0x02, 0, 0, 0x14}, 4, NEITHER},
    {&machine_aarch64, "br x8", {0x00, 0x01, 0x1f, 0xd6}, 4, NEITHER},
    {&machine_aarch64, "ret", {0xc0, 0x03, 0x5f, 0xd6}, 4, NEITHER},
    {&machine_riscv64, "jal ra, .+16", {0xef, 0x00, 0x00, 0x01}, 4, CALL},
    {&machine_riscv64,
     "auipc ra, 0; jalr ra, 16(ra)",
     {0x97, 0, 0, 0, 0xe7, 0x80, 0, 0x01},
     8,
     CALL},
    {&machine_riscv64, "jalr a5", {0xe7, 0x80, 0x07, 0x00}, 4, CALL},
    {&machine_riscv64, "c.jalr a5", {0x82, 0x97}, 2, CALL},
    {&machine_riscv64, "nop", {0x13, 0, 0, 0}, 4, NOP},
    {&machine_riscv64, "c.nop", {0x01, 0}, 2, NOP},
    {&machine_riscv64, "j .+16", {0x6f, 0, 0, 0x01}, 4, NEITHER},
    {&machine_riscv64, "jr a5", {0x67, 0x80, 0x07, 0}, 4, NEITHER},
    {&machine_riscv64, "c.jr a5", {0x82, 0x87}, 2, NEITHER},
    {&machine_riscv64, "c.ebreak", {0x02, 0x90}, 2, NEITHER},
    {&machine_riscv64, "jal t0, .+16", {0xef, 0x02, 0x00, 0x01}, 4, NEITHER},
};

TEST(calls_and_nops) {
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    const struct machine *machine = examples[i].machine;
    const uint8_t *end = examples[i].bytes + examples[i].size;
    ck_assert_msg(machine->ends_call(end, examples[i].size) == (examples[i].kind == CALL), "%s: %s",
                  machine->name, examples[i].text);
    ck_assert_msg(machine->ends_nop(end, examples[i].size) == (examples[i].kind == NOP), "%s: %s",
                  machine->name, examples[i].text);
    ck_assert(!machine->ends_call(end, 0) && !machine->ends_nop(end, 0));
  }
}

TEST(names) {
  ck_assert_str_eq(machine_register_name(machine_find(EM_X86_64), 7), "rsp");
  ck_assert_str_eq(machine_register_name(machine_find(EM_X86_64), 32), "xmm15");
  ck_assert_ptr_null(machine_register_name(machine_find(EM_X86_64), 33));
  ck_assert_str_eq(machine_register_name(machine_find(EM_AARCH64), 31), "sp");
  ck_assert_ptr_null(machine_register_name(machine_find(EM_AARCH64), 34));
  ck_assert_str_eq(machine_register_name(machine_find(EM_AARCH64), 95), "v31");
  ck_assert_str_eq(machine_register_name(machine_find(EM_RISCV), 8), "s0");
  ck_assert_str_eq(machine_register_name(machine_find(EM_RISCV), 63), "ft11");
  ck_assert_str_eq(machine_register_name(machine_find(EM_RISCV), 127), "v31");
  ck_assert_ptr_null(machine_find(EM_386));
}

/* As the machines' ABIs have them, and LLVM's hasFP of functions with a stack map. */
TEST(numbers) {
  static const struct {
    const struct machine *machine;
    uint16_t stack_pointer, return_address, pushed_by_call;
    bool linker_moves_code, maps_have_frame_pointer;
  } cases[] = {
      {&machine_x86_64, 7, 16, 8, false, true},
      {&machine_aarch64, 31, 30, 0, false, true},
      {&machine_riscv64, 2, 1, 0, true, false},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct machine *machine = cases[i].machine;
    ck_assert_ptr_eq(machine_find(machine->elf_number), machine);
    ck_assert_uint_eq(machine->stack_pointer, cases[i].stack_pointer);
    ck_assert_uint_eq(machine->return_address, cases[i].return_address);
    ck_assert_uint_eq(machine->pushed_by_call, cases[i].pushed_by_call);
    ck_assert(machine->linker_moves_code == cases[i].linker_moves_code);
    ck_assert(machine->maps_have_frame_pointer == cases[i].maps_have_frame_pointer);
  }
}

/* ---- The registers that RISC-V saves by one instruction ---- */

enum { RA = 1, S_REGISTERS = 12 };
static const unsigned s_registers[S_REGISTERS] = {8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};

/* Facts with ra, and the first of s0 to s11, in words below the CFA, as an unwind table lists them;
 * the code before them; and the registers that are saved then, of which s0 is in this word. */
static const struct {
  const char *text;
  int32_t cfa_offset, ra;
  unsigned listed;
  unsigned halves;
  uint16_t code[9];
  unsigned expected;
  int32_t s0;
} savers[] = {
    {"cm.push {ra}", 16, 1, 0, 1, {0xb842}, 0, 0},
    {"cm.push {ra, s0-s1}", 32, 3, 0, 1, {0xb862}, 2, 2},
    {"cm.push {ra, s0-s1}; c.addi sp, -16", 48, 3, 0, 2, {0xb862, 0x1141}, 2, 2},
    {"cm.push {ra, s0-s11}", 112, 13, 0, 1, {0xb8f2}, 12, 12},
    {"cm.push {ra, s0-s1}, not there", 32, 4, 0, 1, {0xb862}, 0, 0},
    {"a list of no register", 16, 1, 0, 1, {0xb832}, 0, 0},
    {"c.mv", 32, 1, 0, 1, {0x842a}, 0, 0},
    {"jal t0", 32, 1, 0, 2, {0x02ef, 0x0040}, 3, -2},
    {"jalr t0, t1", 32, 1, 0, 2, {0x02e7, 0x0003}, 3, -2},
    {"jal t0, ra not there", 32, 3, 0, 2, {0x02ef, 0x0040}, 0, 0},
    {"jal t0, many", 112, 1, 0, 2, {0x02ef, 0x0040}, 12, -2},
    {"jal t0; c.addi sp", 64, 1, 0, 3, {0x02ef, 0x0040, 0x1101}, 1, -2},
    {"jal t0; c.addi sp, s0 listed", 64, 1, 1, 3, {0x02ef, 0x0040, 0x1101}, 1, -2},
    {"jal t0; c.addi16sp, s1 listed", 64, 1, 2, 3, {0x02ef, 0x0040, 0x7139}, 3, -2},
    {"jal t0; addi sp", 64, 1, 0, 4, {0x02ef, 0x0040, 0x0113, 0xfc01}, 1, -2},
    {"jal t0; lui; addiw; sub sp",
     64,
     1,
     2,
     8,
     {0x02ef, 0x0040, 0x12b7, 0x0000, 0x829b, 0x0012, 0x0133, 0x4051},
     3,
     -2},
    {"jal t0; sub a0", 64, 1, 2, 4, {0x02ef, 0x0040, 0x0533, 0x4051}, 2, -2},
    {"jal t0; add sp", 64, 1, 2, 4, {0x02ef, 0x0040, 0x0133, 0x0051}, 2, -2},
    {"jal t0; c.lwsp", 64, 1, 2, 3, {0x02ef, 0x0040, 0x4502}, 2, -2},
    {"jal t0; c.j", 64, 1, 2, 3, {0x02ef, 0x0040, 0xa001}, 2, -2},
    {"jal t0; 14 bytes",
     64,
     1,
     2,
     9,
     {0x02ef, 0x0040, 0x1101, 0x1101, 0x1101, 0x1101, 0x1101, 0x1101, 0x1101},
     2,
     -2},
    {"jal t0; 12 bytes",
     64,
     1,
     2,
     8,
     {0x02ef, 0x0040, 0x1101, 0x1101, 0x1101, 0x1101, 0x1101, 0x1101},
     3,
     -2},
};

TEST(registers_saved_by_one_instruction) {
  for (size_t i = 0; i < sizeof savers / sizeof *savers; i++) {
    struct frame_facts facts = {.cfa_offset = savers[i].cfa_offset, .saved = 1u << RA};
    facts.offsets[RA] = -8 * savers[i].ra;
    for (unsigned k = 0; k < savers[i].listed; k++) {
      facts.saved |= 1u << s_registers[k];
      facts.offsets[s_registers[k]] = -8 * (int32_t)(k + 2);
    }
    uint8_t code[18];
    size_t size = 0;
    for (unsigned k = 0; k < savers[i].halves; k++) {
      code[size++] = (uint8_t)savers[i].code[k];
      code[size++] = (uint8_t)(savers[i].code[k] >> 8);
    }
    machine_riscv64.save_more(&facts, code + size, size);
    for (unsigned k = 0; k < S_REGISTERS; k++) {
      const bool is_saved = (facts.saved >> s_registers[k] & 1) != 0;
      const int32_t word = savers[i].s0 < 0 ? savers[i].s0 - (int32_t)k : (int32_t)k - savers[i].s0;
      ck_assert_msg(is_saved == (k < savers[i].expected), "%s: s%u", savers[i].text, k);
      if (is_saved)
        ck_assert_msg(facts.offsets[s_registers[k]] == 8 * word, "%s: s%u", savers[i].text, k);
    }
    ck_assert((facts.saved >> RA & 1) != 0);
    struct frame_facts none = {.saved = 1u << RA}; /* no code to look at */
    machine_riscv64.save_more(&none, code, 0);
    ck_assert_uint_eq(none.saved, 1u << RA);
  }
}

/* The code before the function ends as a call of a shared prologue starts. */
TEST(registers_saved_by_the_first_instruction) {
  static const uint8_t code[] = {0xef, 0x02, 0x62, 0xb8 /* cm.push {ra, s0-s1} */, 0x41, 0x11};
  for (size_t size = 2; size <= 4; size += 2) { /* alone, and with c.addi sp, -16 */
    struct frame_facts facts = {.cfa_offset = 32, .saved = 1u << RA, .offsets[RA] = -24};
    machine_riscv64.save_more(&facts, code + 2 + size, size);
    ck_assert_uint_eq(facts.saved, 1u << RA | 1u << 8 | 1u << 9);
    ck_assert_int_eq(facts.offsets[8], -16);
    ck_assert_int_eq(facts.offsets[9], -8);
  }
}
