/* nest.c - for nest.ll: a heap of one node after another, whose collections are walks by `update_stack`, the documents'
 * example. NESTED: C calls managed code a second time. */
#include <inttypes.h>
#include <stackpack.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
  struct node *moved;
  void *next;
  int64_t value;
};
static struct node nodes[100];
static size_t used;
static uintptr_t stack_end;

void start_up(void);
void update_stack(struct stackpack_stack stack, const struct stackpack_context *youngest,
                  stackpack_forward *forward, void *heap);
int64_t call_managed(int64_t (*function)(int64_t), int64_t argument, uintptr_t *end);
int64_t inner(int64_t n), outer(int64_t n);

__asm__(".text\ncall_managed:\n push %rbp\n mov %rsp, (%rdx)\n mov %rdi, %rax\n mov %rsi, %rdi\n call *%rax\n pop %rbp\n ret\n"
        "heap_allocate: .globl heap_allocate\n mov (%rsp), %rdi\n lea 8(%rsp), %rsi\n jmp allocate_for\n");

/* The object's new place; the old one is overwritten. */
static uintptr_t forward(void *heap, uintptr_t base) {
  struct node *from = (struct node *)base, *to = &nodes[used++];
  (void)heap;
  *to = *from;
  from->value = -1;
  return (uintptr_t)to;
}

__attribute__((used)) void *allocate_for(uintptr_t return_address, uintptr_t stack_pointer) {
  const struct stackpack_context youngest = stackpack_context_at_call(return_address, stack_pointer, NULL);
  update_stack((struct stackpack_stack){stack_pointer, stack_end}, &youngest, forward, NULL);
  return &nodes[used++];
}

int64_t call_back(int64_t n) { return NESTED ? inner(n) + 1 : n; }

int main(void) {
  start_up();
  printf("%" PRId64 "\n", call_managed(outer, 1, &stack_end));
  return 0;
}
