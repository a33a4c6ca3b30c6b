/* riscv64.c - RISC-V, for the unwinder. */
#ifdef __riscv
#include "runtime/stackpack_unwind.h"
#include "runtime/unwind/machine.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

/* ---- Stubs (RISC-V psABI, "Program Linkage Table") ---- */

/* Of an instruction with a number of 12 or 20 bits, these bits are left out. */
#define WHOLE 0xffffffff, 4, 0
#define NUMBER12 0x000fffff, 4, 0
#define NUMBER20 0x00000fff, 4, 0

static const struct machine_code stubs[] = {
    {{{0x00000e17, NUMBER20}, /* auipc t3, high */
      {0x000e3e03, NUMBER12}, /* ld t3, low(t3) */
      {0x000e0367, WHOLE}}},  /* jalr t1, t3 */
    {{{0x00000397, NUMBER20}, /* the header: auipc t2, high */
      {0x41c30333, WHOLE},    /* sub t1, t1, t3 */
      {0x0003be03, NUMBER12}, /* ld t3, low(t2) */
      {0x00030313, NUMBER12}, /* addi t1, t1, -(size of the header + 12) */
      {0x00038293, NUMBER12}, /* addi t0, t2, low */
      {0x00135313, WHOLE},    /* srli t1, t1, 1 */
      {0x0082b283, WHOLE},    /* ld t0, 8(t0) */
      {0x000e0067, WHOLE}}},  /* jr t3 */
};

/* ---- The machine ---- */

/* While the kernel's __vdso_rt_sigreturn runs, the stack pointer is the address of a siginfo, and
 * the ucontext follows it: Linux, arch/riscv/kernel/signal.c, struct rt_sigframe. */
const struct unwinder_machine unwinder_machine = {
    .pc = MACHINE_NO_NUMBER,
    .link = 1,
    .preserved = {8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27},
    .red_zone = 0,
    .signal_return = {{{0x08b00893, WHOLE},   /* li a7, 139 */
                       {0x00000073, WHOLE}}}, /* ecall */
    .ucontext = sizeof(siginfo_t),
    .registers = offsetof(ucontext_t, uc_mcontext.__gregs),
    .registers_end =
        offsetof(ucontext_t, uc_mcontext.__gregs) + sizeof((ucontext_t){0}.uc_mcontext.__gregs),
    .stubs = {stubs, sizeof stubs / sizeof *stubs},
    .switches = {{{0x0b82b083, WHOLE}}}, /* ld ra, 184(t0) */
};

/* ---- stackpack_unwinder_call: see machine.h ---- */

_Static_assert(STACKPACK_PRESERVED_REGISTERS == 0x0ffc0300, "the registers that are stored");
_Static_assert(sizeof(struct stackpack_context) == 544, "struct stackpack_context");

__asm__(".text\n"
        ".globl stackpack_unwinder_call\n"
        ".type stackpack_unwinder_call, @function\n"
        ".p2align 2\n"
        "stackpack_unwinder_call:\n"
        ".cfi_startproc\n"
        "addi sp, sp, -112\n"
        ".cfi_def_cfa_offset 112\n"
        "sd ra, 104(sp)\n"
        "sd s0, 96(sp)\n"
        "sd s1, 88(sp)\n"
        ".cfi_offset 1, -8\n"
        ".cfi_offset 8, -16\n"
        ".cfi_offset 9, -24\n"
        ".irp register, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27\n"
        "sd x\\register, 8 * (\\register - 18)(sp)\n"
        ".cfi_offset \\register, 8 * (\\register - 18) - 112\n"
        ".endr\n"
        "addi s0, sp, 112\n"
        ".cfi_def_cfa 8, 0\n"
        "addi sp, sp, -544\n" /* the context */
        "sd ra, 0(sp)\n"      /* pc: where this call returns to */
        "sd s0, 8(sp)\n"      /* the stack pointer */
        "li t0, 0x0ffc0300\n"
        "sw zero, 16(sp)\n"
        "sw t0, 20(sp)\n"
        "sw t0, 24(sp)\n"
        "sw zero, 28(sp)\n"
        "addi t0, s0, -16\n"
        "sd t0, 32 + 8 * 8(sp)\n"
        "addi t0, s0, -24\n"
        "sd t0, 32 + 8 * 9(sp)\n"
        ".irp register, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27\n"
        "addi t0, s0, 8 * (\\register - 18) - 112\n"
        "sd t0, 32 + 8 * \\register(sp)\n"
        ".endr\n"
        "mv t0, a0\n"
        "mv a0, sp\n"
        "jalr t0\n"
        "addi sp, s0, -112\n"
        ".cfi_def_cfa 2, 112\n"
        ".irp register, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27\n"
        "ld x\\register, 8 * (\\register - 18)(sp)\n"
        ".cfi_restore \\register\n"
        ".endr\n"
        "ld s1, 88(sp)\n"
        ".cfi_restore 9\n"
        "ld s0, 96(sp)\n"
        ".cfi_restore 8\n"
        "ld ra, 104(sp)\n"
        ".cfi_restore 1\n"
        "addi sp, sp, 112\n"
        ".cfi_def_cfa_offset 0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size stackpack_unwinder_call, . - stackpack_unwinder_call\n");
#endif
