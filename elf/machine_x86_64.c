/* machine_x86_64.c - x86-64, as the System V ABI has it (AMD64 psABI).
 *
 * Calls come in two forms (AMD64 Architecture Programmer's Manual 3, CALL (Near)): E8 and a
 * distance of 32 bits; and FF with a ModRM byte whose middle three bits are 2, for a target in a
 * register or in memory, followed by a SIB byte and a displacement as that byte says. Prefixes come
 * before these, and are irrelevant here. Far calls (9A; FF, 3) push more than an address: no
 * compiler makes them.
 *
 *     e8 d0 ff ff ff         call  somewhere            ff d0                call *%rax
 *     ff 15 00 10 00 00      call *0x1000(%rip)         ff 54 c8 08          call *8(%rax,%rcx,8)
 */
#include "elf/machine.h"

#include <string.h>

/* psABI, 3.6.2, "DWARF Register Number Mapping". */
static const char register_names[][MACHINE_REGISTER_NAME_SIZE] = {
    "rax",  "rdx",  "rcx",  "rbx",  "rsi",  "rdi",   "rbp",   "rsp",   "r8",    "r9",    "r10",
    "r11",  "r12",  "r13",  "r14",  "r15",  "rip",   "xmm0",  "xmm1",  "xmm2",  "xmm3",  "xmm4",
    "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
};

/* The length of an instruction of the form FF /2 at bytes[0..size); 0 if there is none. */
static size_t indirect_call_length(const uint8_t *bytes, size_t size) {
  if (size < 2 || bytes[0] != 0xff || (bytes[1] >> 3 & 7) != 2)
    return 0;
  const unsigned mode = bytes[1] >> 6, memory = bytes[1] & 7;
  if (mode == 3)
    return 2;
  const size_t index = memory == 4; /* the SIB byte */
  const unsigned base = index == 0 ? memory : size < 3 ? 0 : bytes[2] & 7;
  const bool is_long = mode == 2 || (mode == 0 && base == 5);
  return 2 + index + (is_long ? 4 : mode == 1 ? 1 : 0);
}

static bool ends_call(const uint8_t *end, size_t size) {
  enum { LONGEST = 7 };
  if (size >= 5 && end[-5] == 0xe8)
    return true;
  for (size_t length = 2; length <= LONGEST && length <= size; length++)
    if (indirect_call_length(end - length, length) == length)
      return true;
  return false;
}

/* The nops of LLVM (X86MCInstLower.cpp, emitNop) and of assemblers: 90, and 0F 1F with a zero in
 * the middle of its ModRM byte, in the forms of a call's. */
static bool ends_nop(const uint8_t *end, size_t size) {
  enum { LONGEST = 8 };
  if (size >= 1 && end[-1] == 0x90)
    return true;
  for (size_t length = 3; length <= LONGEST && length <= size; length++) {
    uint8_t call[LONGEST - 1];
    memcpy(call, end - length + 1, length - 1);
    if (end[-(ptrdiff_t)length] != 0x0f || call[0] != 0x1f || (call[1] >> 3 & 7) != 0)
      continue;
    call[0] = 0xff;
    call[1] |= 2 << 3;
    if (indirect_call_length(call, length - 1) == length - 1)
      return true;
  }
  return false;
}

const struct machine machine_x86_64 = {
    .elf_number = EM_X86_64,
    .name = "x86-64",
    .relocations = {.none = R_X86_64_NONE, .relative = R_X86_64_RELATIVE, .absolute = R_X86_64_64},
    .maps_have_frame_pointer = true,
    .stack_pointer = 7,
    .frame_pointer = 6,
    .return_address = 16,
    .pushed_by_call = 8,
    .register_count = sizeof register_names / sizeof *register_names,
    .register_names = register_names,
    .ends_call = ends_call,
    .ends_nop = ends_nop,
};
