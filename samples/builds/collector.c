/* collector.c - the smallest collector that moves objects: at every allocation, it copies the live
 * nodes, and makes the old ones unusable.
 *
 * Only the stack has roots. During an allocation, each managed function on the stack waits for a
 * call to return. The return address is the key to a record of the references in the function's
 * frame. All objects are nodes. samples/semispace is a collector for more kinds of objects.
 */
#include <stackpack.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *forward; /* during a collection: the node's copy */
  struct node *next;
  int64_t value;
};

enum { NODES = 1000 }; /* of a space: enough for this program */
static struct node spaces[2][NODES];
static struct node *space = spaces[0];
static size_t used, collections, frames;

static struct stackpack_module modules[1];
static struct stackpack_process process;
static const struct stackpack_walker walker = {.process = &process};
static uintptr_t stack_end; /* stack pointer of main's call of managed code; 0: outside of it */

/* Returns function(argument). Before the call it writes the stack pointer to *end: a walk that
 * gets there has passed all managed frames. */
int64_t call_managed(int64_t (*function)(int64_t), int64_t argument, uintptr_t *end);
__asm__(".text\n"
        ".type call_managed, @function\n"
        "call_managed:\n"
        "  .cfi_startproc\n"
        "  push %rbp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  mov %rsp, (%rdx)\n"
        "  mov %rdi, %rax\n"
        "  mov %rsi, %rdi\n"
        "  call *%rax\n"
        "  pop %rbp\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size call_managed, . - call_managed\n");

/* The space that nodes are copied to. */
struct copies {
  struct node *nodes;
  size_t count;
};

/* Returns a node's new address. The first visit of a node copies it. */
static uintptr_t forward(void *closure, uintptr_t address) {
  struct copies *copies = closure;
  struct node *node = (struct node *)address;
  if (node->forward == NULL) {
    copies->nodes[copies->count] = *node;
    node->forward = &copies->nodes[copies->count++];
  }
  return (uintptr_t)node->forward;
}

static void collect(uintptr_t return_address, uintptr_t stack_pointer) {
  struct copies copies = {space == spaces[0] ? spaces[1] : spaces[0], 0};
  const struct stackpack_stack stack = {stack_pointer, stack_end};
  const struct stackpack_context youngest =
      stackpack_context_at_call(return_address, stack_pointer, NULL);
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  stackpack_walk_start(&walk, &walker, stack, &youngest);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    stackpack_walk_update(&walk, forward, &copies);
  if (answer != STACKPACK_WALK_END) {
    fprintf(stderr, "the walk stopped: %s\n", stackpack_walk_text(answer));
    abort();
  }
  for (size_t i = 0; i < copies.count; i++)
    if (copies.nodes[i].next != NULL)
      copies.nodes[i].next = (struct node *)forward(&copies, (uintptr_t)copies.nodes[i].next);
  memset(space, 0xdd, sizeof spaces[0]);
  space = copies.nodes;
  used = copies.count;
  frames += walk.managed_frames;
  collections++;
}

/* The collector's entry for managed code. This function has a frame pointer: the return address is
 * above it, and the caller's stack is above that. */
__attribute__((noinline)) struct node *heap_allocate(void) {
  char *const frame = __builtin_frame_address(0);
  collect((uintptr_t)__builtin_return_address(0), (uintptr_t)frame + 16);
  if (used == NODES)
    abort();
  return memset(&space[used++], 0, sizeof(struct node));
}

int64_t square(int64_t value) { return value * value; }

int64_t sum_of_squares(int64_t n); /* managed.ll */

/* C code that managed code calls must never call this: the walk would end at the second call.
 * doc/tutorial.md has such calls. */
static int64_t enter(int64_t (*function)(int64_t), int64_t argument) {
  if (stack_end != 0)
    abort();
  const int64_t result = call_managed(function, argument, &stack_end);
  stack_end = 0;
  return result;
}

int main(void) {
  if (stackpack_process_open(&process, modules, 1) != STACKPACK_OK)
    abort();
  printf("%" PRId64 "\n", enter(sum_of_squares, 100));
  fprintf(stderr, "%zu collections, %zu frames\n", collections, frames);
  stackpack_process_close(&process);
  return 0;
}
