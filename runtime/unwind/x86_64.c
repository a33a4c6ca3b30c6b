/* x86_64.c - what the unwinder knows of x86-64. */
#ifdef __x86_64__
#include "runtime/unwind/machine.h"
#include "runtime/unwind/stackpack_unwind.h"

#include <libunwind.h>
#include <stddef.h>
#include <ucontext.h>

/* ---- Stubs ---- */

/* Instructions, with what has been pushed before them. `slot`, `number` and `header` are 4 bytes. */
#define ENDBR64(pushed)                                                                            \
  { 0xfa1e0ff3, 0xffffffff, 4, pushed }
#define PUSH_NUMBER(pushed)                                                                        \
  { 0x68, 0xff, 5, pushed }
#define PUSH_SLOT(pushed)                                                                          \
  { 0x35ff, 0xffff, 6, pushed }
#define PUSH_R11(pushed)                                                                           \
  { 0x5341, 0xffff, 2, pushed }
#define MOVE_NUMBER_TO_R11D(pushed)                                                                \
  { 0xbb41, 0xffff, 6, pushed }
#define JUMP_TO_HEADER(pushed)                                                                     \
  { 0xe9, 0xff, 5, pushed }
#define BND_JUMP_TO_HEADER(pushed)                                                                 \
  { 0xe9f2, 0xffff, 6, pushed }
#define JUMP_BY_SLOT(pushed)                                                                       \
  { 0x25ff, 0xffff, 6, pushed }
#define BND_JUMP_BY_SLOT(pushed)                                                                   \
  { 0x25fff2, 0xffffff, 7, pushed }

static const struct machine_code stubs[] = {
    {{JUMP_BY_SLOT(0), PUSH_NUMBER(0), JUMP_TO_HEADER(1)}},
    {{PUSH_SLOT(1), JUMP_BY_SLOT(2)}}, /* the header */
    {{ENDBR64(0), PUSH_NUMBER(0), JUMP_TO_HEADER(1)}},
    {{ENDBR64(0), PUSH_NUMBER(0), BND_JUMP_TO_HEADER(1)}},
    {{PUSH_SLOT(1), BND_JUMP_BY_SLOT(2)}}, /* its header */
    {{ENDBR64(0), JUMP_BY_SLOT(0)}},
    {{ENDBR64(0), BND_JUMP_BY_SLOT(0)}},
    {{ENDBR64(0), MOVE_NUMBER_TO_R11D(0), JUMP_BY_SLOT(0)}},    /* mold's, */
    {{ENDBR64(0), PUSH_R11(0), PUSH_SLOT(1), JUMP_BY_SLOT(2)}}, /* and its header */
};

/* ---- The machine ---- */

/* While __restore_rt runs, the stack pointer is the ucontext's address: Linux,
 * arch/x86/kernel/signal_64.c, struct rt_sigframe. */
const struct unwinder_machine unwinder_machine = {
    .pc = UNW_X86_64_RIP,
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
        "pushq %r12\n" /* at rbp - 16 */
        "pushq %r13\n" /* at rbp - 24 */
        "pushq %r14\n" /* at rbp - 32 */
        "pushq %r15\n" /* at rbp - 40 */
        ".cfi_offset %rbx, -24\n"
        ".cfi_offset %r12, -32\n"
        ".cfi_offset %r13, -40\n"
        ".cfi_offset %r14, -48\n"
        ".cfi_offset %r15, -56\n"
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
        "leaq -16(%rbp), %rax\n"
        "movq %rax, 32 + 8 * 12(%rsp)\n"
        "leaq -24(%rbp), %rax\n"
        "movq %rax, 32 + 8 * 13(%rsp)\n"
        "leaq -32(%rbp), %rax\n"
        "movq %rax, 32 + 8 * 14(%rsp)\n"
        "leaq -40(%rbp), %rax\n"
        "movq %rax, 32 + 8 * 15(%rsp)\n"
        "movq %rdi, %rax\n"
        "movq %rsp, %rdi\n"
        "callq *%rax\n"
        "addq $296, %rsp\n"
        "popq %r15\n"
        "popq %r14\n"
        "popq %r13\n"
        "popq %r12\n"
        "popq %rbx\n"
        "popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size stackpack_unwinder_call, . - stackpack_unwinder_call\n");
#endif
