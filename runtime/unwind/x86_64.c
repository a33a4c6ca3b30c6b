/* x86_64.c - x86-64, for the unwinder. */
#ifdef __x86_64__
#include "runtime/stackpack_unwind.h"
#include "runtime/unwind/machine.h"

#include <stddef.h>
#include <ucontext.h>

/* ---- Stubs ---- */

/* Instructions, to be followed by the number of words that have been pushed before them. `slot`,
 * `number` and `header` are 4 bytes. */
#define ENDBR64 0xfa1e0ff3, 0xffffffff, 4
#define PUSH_NUMBER 0x68, 0xff, 5
#define PUSH_SLOT 0x35ff, 0xffff, 6
#define PUSH_R11 0x5341, 0xffff, 2
#define MOVE_NUMBER_TO_R11D 0xbb41, 0xffff, 6
#define JUMP_TO_HEADER 0xe9, 0xff, 5
#define BND_JUMP_TO_HEADER 0xe9f2, 0xffff, 6
#define JUMP_BY_SLOT 0x25ff, 0xffff, 6
#define BND_JUMP_BY_SLOT 0x25fff2, 0xffffff, 7

static const struct machine_code stubs[] = {
    {{{JUMP_BY_SLOT, 0}, {PUSH_NUMBER, 0}, {JUMP_TO_HEADER, 1}}},
    {{{PUSH_SLOT, 1}, {JUMP_BY_SLOT, 2}}}, /* the header */
    {{{ENDBR64, 0}, {PUSH_NUMBER, 0}, {JUMP_TO_HEADER, 1}}},
    {{{ENDBR64, 0}, {PUSH_NUMBER, 0}, {BND_JUMP_TO_HEADER, 1}}},
    {{{PUSH_SLOT, 1}, {BND_JUMP_BY_SLOT, 2}}}, /* its header */
    {{{ENDBR64, 0}, {JUMP_BY_SLOT, 0}}},
    {{{ENDBR64, 0}, {BND_JUMP_BY_SLOT, 0}}},
    {{{ENDBR64, 0}, {MOVE_NUMBER_TO_R11D, 0}, {JUMP_BY_SLOT, 0}}},      /* mold's, */
    {{{ENDBR64, 0}, {PUSH_R11, 0}, {PUSH_SLOT, 1}, {JUMP_BY_SLOT, 2}}}, /* and its header */
};

/* Returns that speculation can't follow: their rules leave out the word that a call of their own
 * has pushed (GCC's -mfunction-return=thunk), */
#define DROP_WORD 0x0824648d48, 0xffffffffff, 5 /* lea 8(%rsp), %rsp */
#define RETURN 0xc3, 0xff, 1

static const struct machine_code returns[] = {
    {{{DROP_WORD, 1}, {RETURN, 0}}},
};

/* or that the return address is in a register (Clang's -mlvi-cfi). */
#define LFENCE 0xe8ae0f, 0xffffff, 3
#define JUMP_BY_REGISTER 0xe0ff, 0xf8ff, 2

static const struct machine_code jumps[] = {
    {{{LFENCE, 0}, {JUMP_BY_REGISTER, 0}}},
};

/* ---- The machine ---- */

/* While __restore_rt runs, the stack pointer is the ucontext's address: Linux,
 * arch/x86/kernel/signal_64.c, struct rt_sigframe. */
const struct unwinder_machine unwinder_machine = {
    .pc = 16, /* AMD64 psABI, figure 3.36: the return address */
    .link = MACHINE_CALL_PUSHES,
    .preserved = {STACKPACK_RBX, STACKPACK_RBP, STACKPACK_R12, STACKPACK_R13, STACKPACK_R14,
                  STACKPACK_R15},
    .red_zone = 128,                                               /* AMD64 psABI, 3.2.2 */
    .signal_return = {{{0x0000000fc0c748, 0xffffffffffffff, 7, 0}, /* mov $15, %rax */
                       {0x050f, 0xffff, 2, 0}}},                   /* syscall */
    .ucontext = 0,
    .registers = offsetof(ucontext_t, uc_mcontext.gregs),
    .registers_end =
        offsetof(ucontext_t, uc_mcontext.gregs) + sizeof((ucontext_t){0}.uc_mcontext.gregs),
    .stubs = {stubs, sizeof stubs / sizeof *stubs},
    .linker = {returns, sizeof returns / sizeof *returns},
    .jumps = {jumps, sizeof jumps / sizeof *jumps},
    .switches = {{{0xa0a28b48, 0xffffffffffffff, 7, 0}}}, /* mov 0xa0(%rdx), %rsp */
};

/* ---- A call that puts the registers where a walk can update them: see machine.h ---- */

_Static_assert(STACKPACK_PRESERVED_REGISTERS == 0xf048, "the registers that are pushed");
_Static_assert(sizeof(struct stackpack_context) == 288, "struct stackpack_context");

__asm__(".text\n"
        ".globl stackpack_unwinder_call\n"
        ".type stackpack_unwinder_call, @function\n"
        ".p2align 4\n"
        "stackpack_unwinder_call:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "pushq %rbx\n" /* at rbp - 8 */
        ".cfi_offset %rbx, -24\n"
        ".irp register, 12, 13, 14, 15\n" /* from rbp - 16 on */
        "pushq %r\\register\n"
        ".cfi_offset %r\\register, -32 - 8 * (\\register - 12)\n"
        ".endr\n"
        "subq $296, %rsp\n" /* the context, and a word that aligns the stack */
        "movq 8(%rbp), %rax\n"
        "movq %rax, (%rsp)\n" /* pc: where this call returns to */
        "leaq 16(%rbp), %rax\n"
        "movq %rax, 8(%rsp)\n"
        "movl $0, 16(%rsp)\n"
        "movl $0xf048, 20(%rsp)\n"
        "movl $0xf048, 24(%rsp)\n"
        "movl $0, 28(%rsp)\n"
        "leaq -8(%rbp), %rax\n"
        "movq %rax, 32 + 8 * 3(%rsp)\n"
        "movq %rbp, 32 + 8 * 6(%rsp)\n"
        ".irp register, 12, 13, 14, 15\n"
        "leaq -16 - 8 * (\\register - 12)(%rbp), %rax\n"
        "movq %rax, 32 + 8 * \\register(%rsp)\n"
        ".endr\n"
        "movq %rdi, %rax\n"
        "movq %rsp, %rdi\n"
        "callq *%rax\n"
        "addq $296, %rsp\n"
        ".irp register, 15, 14, 13, 12\n"
        "popq %r\\register\n"
        ".endr\n"
        "popq %rbx\n"
        "popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size stackpack_unwinder_call, . - stackpack_unwinder_call\n");
#endif
