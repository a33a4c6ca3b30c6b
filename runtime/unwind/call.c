/* call.c - a call that puts the registers where a walk can update them.
 *
 * A context lies on the stack here, and beside it the registers that a call preserves, one word each.
 * The context has their addresses. They are pushed and popped as any function's saved registers are;
 * what a collection writes into these words between is what the caller goes on with.
 *
 * The frame keeps a frame pointer, and its unwind rules are those of any such function, so that all
 * kinds of walkers, debuggers and exceptions can pass it.
 */
#include "runtime/unwind/stackpack_unwind.h"

#include <stddef.h>

/* The assembly below counts on these. */
_Static_assert(offsetof(struct stackpack_context, pc) == 0, "pc");
_Static_assert(offsetof(struct stackpack_context, stack_pointer) == 8, "stack_pointer");
_Static_assert(offsetof(struct stackpack_context, is_exact) == 16, "is_exact");
_Static_assert(offsetof(struct stackpack_context, known) == 20, "known");
_Static_assert(offsetof(struct stackpack_context, in_memory) == 24, "in_memory");
_Static_assert(offsetof(struct stackpack_context, doubled) == 28, "doubled");
_Static_assert(offsetof(struct stackpack_context, registers) == 32, "registers");
_Static_assert(sizeof(struct stackpack_context) == 288, "struct stackpack_context");
_Static_assert(STACKPACK_PRESERVED_REGISTERS == 0xf048, "the registers that are pushed");

#define UNUSED __attribute__((unused)) /* as far as C can see */

__attribute__((naked)) void
stackpack_unwinder_call(UNUSED void (*function)(struct stackpack_context *context, void *closure),
                        UNUSED void *closure) {
  __asm__("pushq %rbp\n"
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
          "retq\n");
}
