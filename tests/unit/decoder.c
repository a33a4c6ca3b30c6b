/* decoder.c - tests that remembered instructions are the ones that decoding gives. */
#include "tool/code/decoder.h"
#include "numbers.h"
#include "suite.h"

#include <elf.h>

enum { ADDRESS = 0x401000, SIZE = 1 << 16 };

/* Reads instructions from the first byte to the last, and compares each with its decoding. */
static void check(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address) {
  struct code_instruction read = {0}, decoded = {0};
  for (size_t at = 0; at < size; at += decoded.length) {
    decoder->architecture->decode(bytes + at, size - at, address + at, &decoded);
    decoder_read(decoder, bytes + at, size - at, address + at, &read);
    read.form = 0;                  /* decoding alone gives none, */
    decoded.address = address + at; /* and not always this */
    ck_assert_mem_eq(&read, &decoded, sizeof read);
  }
}

#define CHECK(decoder, text, address)                                                              \
  check(decoder, (const uint8_t *)(text), sizeof(text) - 1, address)

/* A program's instructions, at several places, with what is at a distance from them. */
TEST(remembered_instructions_are_the_decoded_ones) {
  static const char text[] = "\x53"                                     /* push %rbx */
                             "\x48\x89\xfb"                             /* mov %rdi, %rbx */
                             "\x74\x05"                                 /* je .+7 */
                             "\xe8\x00\x01\x00\x00"                     /* call .+261 */
                             "\xeb\xf4"                                 /* jmp .-10 */
                             "\x83\x3d\x00\x01\x00\x00\x01"             /* cmpl $1, 256(%rip) */
                             "\x48\x8d\x05\x00\x01\x00\x00"             /* lea 256(%rip), %rax */
                             "\xff\x25\x00\x01\x00\x00"                 /* jmp *256(%rip) */
                             "\xff\x14\x25\x00\x01\x00\x00"             /* call *256 */
                             "\xc7\xf8\x00\x01\x00\x00"                 /* xbegin .+262 */
                             "\xe3\x05"                                 /* jrcxz .+7 */
                             "\xb8\x00\x10\x40\x00"                     /* mov $0x401000, %eax */
                             "\x48\xb8\x00\x10\x40\x00\x00\x00\x00\x00" /* movabs $0x401000, %rax */
                             "\x66\x90\x5b\xc3\x06\x5b\xc3";
  struct decoder decoder = decoder_open(code_architecture(EM_X86_64));
  ck_assert_ptr_nonnull(decoder.memory);
  for (uint64_t address = ADDRESS; address < ADDRESS + 3; address++)
    CHECK(&decoder, text, address);
  decoder_close(&decoder);
}

TEST(distances_of_other_machines) {
  static const char aarch64[] = "\x00\x01\x00\x10"  /* adr x0, .+32 */
                                "\x00\x01\x00\xb0"  /* adrp x0, .+131072 */
                                "\x00\x01\x00\x58"  /* ldr x0, .+32 */
                                "\x00\x01\x00\x1c"  /* ldr s0, .+32 */
                                "\x10\x00\x00\x14"  /* b .+64 */
                                "\x10\x00\x00\x94"  /* bl .+64 */
                                "\x00\x01\x00\x54"  /* b.eq .+32 */
                                "\x00\x01\x00\xb4"  /* cbz x0, .+32 */
                                "\x00\x01\x00\x36"  /* tbz w0, #0, .+32 */
                                "\xfd\x7b\xbf\xa9"; /* stp x29, x30, [sp, #-16]! */
  static const char riscv64[] = "\x17\x05\x01\x00"  /* auipc a0, 16 */
                                "\x37\x05\x01\x00"  /* lui a0, 16 */
                                "\xef\x00\x00\x02"  /* jal .+32 */
                                "\x63\x00\x05\x02"  /* beqz a0, .+32 */
                                "\x01\xa0"          /* c.j . */
                                "\x19\xc1"          /* c.beqz a0, .+6 */
                                "\x41\x11\x06\xe4"; /* c.addi sp, -16; c.sdsp ra, 8(sp) */
  struct decoder decoders[] = {decoder_open(code_architecture(EM_AARCH64)),
                               decoder_open(code_architecture(EM_RISCV))};
  for (uint64_t address = ADDRESS; address < ADDRESS + 0x3000; address += 0x804) {
    CHECK(&decoders[0], aarch64, address);
    CHECK(&decoders[1], riscv64, address);
  }
  decoder_close(&decoders[0]);
  decoder_close(&decoders[1]);
}

/* The same first bytes, with other lengths; the same bytes with other ones before them. */
TEST(prefixes_and_lengths_are_told_apart) {
  struct decoder decoder = decoder_open(code_architecture(EM_X86_64));
  for (int i = 0; i < 2; i++) {
    CHECK(&decoder, "\x90\x53\x90\x90\x90\x90\x90\x90\x90\x90", ADDRESS);
    CHECK(&decoder, "\x48\x8b\x04\x25\x00\x10\x40\x00\x90\x90\x90\x90\x90\x90\x90\x90", ADDRESS);
    CHECK(&decoder, "\x48\x8b\x04\x24\x90\x90\x90\x90\x90\x90\x90\x90\x90", ADDRESS);
    CHECK(&decoder, "\x66\x48\x8b\x04\x24\x90\x90\x90\x90\x90\x90\x90\x90", ADDRESS);
    CHECK(&decoder, "\x0f\x1f\x00\x0f\x1f\x40\x00\x0f\x1f\x44\x00\x00\x90\x90\x90", ADDRESS);
  }
  decoder_close(&decoder);
}

/* Bytes of few values repeat, in all forms and lengths. */
TEST(random_bytes) {
  static const uint8_t often[] = {0x48, 0x89, 0x8b, 0x44, 0x24, 0x0f, 0x66, 0x74,
                                  0x05, 0xe8, 0xff, 0x25, 0x15, 0x83, 0x3d, 0x00};
  static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_RISCV};
  static uint8_t bytes[SIZE];
  for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
    struct decoder decoder = decoder_open(code_architecture(machines[m]));
    struct numbers numbers = {1};
    for (size_t i = 0; i < SIZE; i++)
      bytes[i] = numbers_below(&numbers, 8) == 0 ? (uint8_t)numbers_below(&numbers, 256)
                                                 : often[numbers_below(&numbers, sizeof often)];
    check(&decoder, bytes, sizeof bytes, ADDRESS);
    check(&decoder, bytes, sizeof bytes, ADDRESS + 4 * SIZE);
    decoder_close(&decoder);
  }
}
