/* aarch64.c - AArch64, for the unwinder. */
#ifdef __aarch64__
#include "runtime/stackpack_unwind.h"
#include "runtime/unwind/machine.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

/* ---- Stubs ---- */

/* Instructions, to be followed by the words that have been pushed before them. x16 and x17 are for
 * stubs (AAPCS64, 6.1.1); the others' bits of addresses are left out. */
#define BTI 0xd503245f, 0xffffffff, 4          /* bti c */
#define AUTIA1716 0xd503219f, 0xffffffff, 4    /* checks x17's signature */
#define PUSH_X16_X30 0xa9bf7bf0, 0xffffffff, 4 /* stp x16, x30, [sp, #-16]! */
#define PAGE_X16 0x90000010, 0x9f00001f, 4     /* adrp x16, page */
#define HERE_X17 0x10000011, 0xffffffff, 4     /* adr x17, . */
#define LOAD_X17 0xf9400211, 0xffc003ff, 4     /* ldr x17, [x16, offset] */
#define ADD_X16 0x91000210, 0xff8003ff, 4      /* add x16, x16, offset */
#define ADD_X16_X17 0x8b110210, 0xffffffff, 4  /* add x16, x16, x17 */
#define LITERAL_X16 0x58000010, 0xff00001f, 4  /* ldr x16, address */
#define JUMP_X16 0xd61f0200, 0xffffffff, 4     /* br x16 */
#define JUMP_X17 0xd61f0220, 0xffffffff, 4     /* br x17 */
#define JUMP 0x14000000, 0xfc000000, 4         /* b address */

static const struct machine_code stubs[] = {
    /* headers stand first: the end of each is a stub, too */
    {{{BTI, 0}, {PUSH_X16_X30, 0}, {PAGE_X16, 2}, {LOAD_X17, 2}, {ADD_X16, 2}, {JUMP_X17, 2}}},
    {{{PUSH_X16_X30, 0}, {PAGE_X16, 2}, {LOAD_X17, 2}, {ADD_X16, 2}, {JUMP_X17, 2}}},
    {{{PAGE_X16, 0}, {LOAD_X17, 0}, {ADD_X16, 0}, {JUMP_X17, 0}}},
    {{{PAGE_X16, 0}, {LOAD_X17, 0}, {ADD_X16, 0}, {AUTIA1716, 0}, {JUMP_X17, 0}}},
    {{{BTI, 0}, {PAGE_X16, 0}, {LOAD_X17, 0}, {ADD_X16, 0}, {JUMP_X17, 0}}},
    {{{BTI, 0}, {PAGE_X16, 0}, {LOAD_X17, 0}, {ADD_X16, 0}, {AUTIA1716, 0}, {JUMP_X17, 0}}},
    /* to functions that a branch doesn't reach, or that have no landing pad for an indirect one */
    {{{PAGE_X16, 0}, {ADD_X16, 0}, {JUMP_X16, 0}}},
    {{{LITERAL_X16, 0}, {JUMP_X16, 0}}},
    {{{LITERAL_X16, 0}, {HERE_X17, 0}, {ADD_X16_X17, 0}, {JUMP_X16, 0}}},
    {{{BTI, 0}, {JUMP, 0}}},
};

/* glibc's _dl_runtime_resolve, the target of headers' jumps: its rules include the headers' pushed
 * words from its second instruction on. (sysdeps/aarch64/dl-trampoline.S) */
#define NOP 0xd503201f, 0xffffffff, 4
#define PUSH_X8_X9 0xa98027e8, 0xffc07fff, 4 /* stp x8, x9, [sp, #-size]! */

static const struct machine_code resolver[] = {
    {{{NOP, 2}, {PUSH_X8_X9, 2}}},
    {{{BTI, 2}, {PUSH_X8_X9, 2}}},
};

/* ---- The stack pointer (Arm Architecture Reference Manual, C4.1) ---- */

enum { SP = 31, INSTRUCTION = 4 };

/* A signed field of an instruction. */
static int64_t field(uint32_t word, unsigned low, unsigned bits) {
  return (int32_t)(word << (32 - low - bits)) >> (32 - bits);
}

/* The bytes that an instruction adds to the stack pointer: ADD and SUB of a number; loads and
 * stores of one register, or of two, that move their base. */
static int64_t movement(uint32_t word) {
  const bool by_sp = (word >> 5 & 31) == SP;
  const int64_t number = (int64_t)(word >> 10 & 0xfff) << (word >> 22 & 1) * 12;
  if ((word & 0xbf8003ff) == 0x910003ff)
    return (word >> 30 & 1) != 0 ? -number : number;
  if ((word & 0x3b200400) == 0x38000400 && by_sp)
    return field(word, 12, 9);
  const unsigned size = (word >> 26 & 1) != 0 ? 4u << (word >> 30) : 4u << (word >> 31);
  return (word & 0x3a800000) == 0x28800000 && by_sp ? field(word, 15, 7) * size : 0;
}

/* Whether it loads x29 from the stack: LDP and LDR of 64 bits. */
static bool loads_frame_pointer(uint32_t word) {
  if ((word >> 5 & 31) != SP)
    return false;
  return ((word & 0xfe400000) == 0xa8400000 && ((word & 31) == 29 || (word >> 10 & 31) == 29)) ||
         ((word & 0xfec00000) == 0xf8400000 && (word & 31) == 29);
}

static bool has_moved(uintptr_t from, uintptr_t to, bool frame_pointer) {
  int64_t moved = 0;
  for (; from < to; from += INSTRUCTION) {
    const uint32_t word = *(const uint32_t *)from;
    moved += frame_pointer ? loads_frame_pointer(word) : movement(word);
  }
  return moved != 0;
}

/* Whether an instruction saves or loads a caller's register in a frame (LDP, STP, LDR and STR of 64
 * bits), or makes a stack or frame pointer (ADD and SUB of a number). */
static bool uses_frame(uint32_t word) {
  const unsigned base = word >> 5 & 31, first = word & 31, second = word >> 10 & 31;
  const bool is_pair = (word & 0xfe000000) == 0xa8000000,
             is_one = (word & 0xfe800000) == 0xf8000000;
  if ((word & 0xbf80001d) == 0x9100001d)
    return true;
  return (base == SP || base == 29) && (((is_pair || is_one) && first >= 19 && first < SP) ||
                                        (is_pair && second >= 19 && second < SP));
}

static bool has_frame(uintptr_t from, uintptr_t to) {
  while (from < to && !uses_frame(*(const uint32_t *)from))
    from += INSTRUCTION;
  return from < to;
}

/* Whether there is a store of x30: STP or STR of 64 bits. */
static bool saves_link(uintptr_t from, uintptr_t to) {
  for (; from < to; from += INSTRUCTION) {
    const uint32_t word = *(const uint32_t *)from;
    const bool is_pair = (word & 0xfe400000) == 0xa8000000;
    if ((is_pair && (word >> 10 & 31) == 30) ||
        ((is_pair || (word & 0xfec00000) == 0xf8000000) && (word & 31) == 30))
      return true;
  }
  return false;
}

/* ---- The machine ---- */

/* While the kernel's __kernel_rt_sigreturn runs, the stack pointer is the address of a siginfo, and
 * the ucontext follows it: Linux, arch/arm64/kernel/signal.c, struct rt_sigframe. */
const struct unwinder_machine unwinder_machine = {
    .pc = MACHINE_NO_NUMBER,
    .link = 30,
    .preserved = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29},
    .red_zone = 0,
    .signal_return = {{{0xd2801168, 0xffffffff, 4, 0},   /* mov x8, #139 */
                       {0xd4000001, 0xffffffff, 4, 0}}}, /* svc #0 */
    .ucontext = sizeof(siginfo_t),
    .registers = offsetof(ucontext_t, uc_mcontext.regs),
    .registers_end = offsetof(ucontext_t, uc_mcontext.pstate),
    .stubs = {stubs, sizeof stubs / sizeof *stubs},
    .linker = {resolver, sizeof resolver / sizeof *resolver},
    .has_moved = has_moved,
    .has_frame = has_frame,
    .saves_link = saves_link,
};

/* ---- stackpack_unwinder_call: see machine.h ---- */

_Static_assert(STACKPACK_PRESERVED_REGISTERS == 0x3ff8 << 16, "the registers that are stored");
_Static_assert(sizeof(struct stackpack_context) == 544, "struct stackpack_context");

__asm__(".text\n"
        ".globl stackpack_unwinder_call\n"
        ".type stackpack_unwinder_call, %function\n"
        ".p2align 4\n"
        "stackpack_unwinder_call:\n"
        ".cfi_startproc\n"
        "hint #34\n" /* bti c */
        "stp x29, x30, [sp, #-96]!\n"
        ".cfi_def_cfa_offset 96\n"
        ".cfi_offset 29, -96\n"
        ".cfi_offset 30, -88\n"
        "mov x29, sp\n"
        ".cfi_def_cfa_register 29\n"
        "stp x19, x20, [x29, #16]\n"
        "stp x21, x22, [x29, #32]\n"
        "stp x23, x24, [x29, #48]\n"
        "stp x25, x26, [x29, #64]\n"
        "stp x27, x28, [x29, #80]\n"
        ".irp register, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28\n"
        ".cfi_offset \\register, 8 * (\\register - 19) - 80\n"
        ".endr\n"
        "sub sp, sp, #544\n" /* the context */
        "add x9, x29, #96\n"
        "stp x30, x9, [sp]\n" /* pc: where this call returns to; and the stack pointer */
        "mov w9, #0x3ff80000\n"
        "stp wzr, w9, [sp, #16]\n"
        "stp w9, wzr, [sp, #24]\n"
        ".irp register, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28\n"
        "add x9, x29, #(16 + 8 * (\\register - 19))\n"
        "str x9, [sp, #(32 + 8 * \\register)]\n"
        ".endr\n"
        "str x29, [sp, #(32 + 8 * 29)]\n"
        "mov x9, x0\n"
        "mov x0, sp\n"
        "blr x9\n"
        "mov sp, x29\n"
        "ldp x19, x20, [sp, #16]\n"
        "ldp x21, x22, [sp, #32]\n"
        "ldp x23, x24, [sp, #48]\n"
        "ldp x25, x26, [sp, #64]\n"
        "ldp x27, x28, [sp, #80]\n"
        "ldp x29, x30, [sp], #96\n"
        ".cfi_def_cfa 31, 0\n"
        ".cfi_restore 29\n"
        ".cfi_restore 30\n"
        ".irp register, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28\n"
        ".cfi_restore \\register\n"
        ".endr\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size stackpack_unwinder_call, . - stackpack_unwinder_call\n");
#endif
