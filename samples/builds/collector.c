/* collector.c - the smallest collector that moves objects: at every allocation, it copies the nodes
 * that are alive, and makes the old ones unusable.
 *
 * Roots are only on the stack. At an allocation, each managed function on it waits for a call to
 * return, and the return address is the key to a record of the references in that frame. All
 * objects are nodes, and no reference points into the middle of one: for what else a collector may
 * meet, see samples/semispace.
 */
#include <stackpack.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *forward; /* while nodes are copied: where this one is now */
  struct node *next;
  int64_t value;
};

enum { NODES = 1000 }; /* of a space: enough for what is alive here */
static struct node spaces[2][NODES];
static struct node *space = spaces[0];
static size_t used, collections, frames;

static struct stackpack_module modules[1];
static struct stackpack_process process;

static struct node *forward(struct node *node, struct node *to, size_t *count) {
  if (node != NULL && node->forward == NULL) {
    to[*count] = *node;
    node->forward = &to[(*count)++];
  }
  return node == NULL ? NULL : node->forward;
}

static void update_frame(const struct stackpack_frame *frame, const struct stackpack_record *record,
                         struct node *to, size_t *count) {
  struct stackpack_pairs pairs = stackpack_pairs(record);
  struct stackpack_location base, derived;
  while (stackpack_pairs_next(&pairs, &base, &derived)) {
    struct node **slot = stackpack_location_address(&base, frame, NULL);
    if (base.kind == STACKPACK_CONSTANT || base.kind == STACKPACK_LARGE_CONSTANT)
      continue; /* null */
    if (slot == NULL || base.kind != STACKPACK_INDIRECT || base.value != derived.value)
      abort(); /* not what this compiler makes */
    *slot = forward(*slot, to, count);
  }
  if (stackpack_pairs_corrupt(&pairs))
    abort();
}

static void collect(struct stackpack_frame frame) {
  struct node *const to = space == spaces[0] ? spaces[1] : spaces[0];
  struct stackpack_record record;
  enum stackpack_answer answer;
  size_t count = 0;
  while ((answer = stackpack_find(&process, frame.return_address, &record)) == STACKPACK_FOUND) {
    update_frame(&frame, &record, to, &count);
    frames++;
    if (!stackpack_frame_caller(&frame, &record))
      abort();
  }
  if (answer != STACKPACK_NOT_MANAGED)
    abort(); /* a frame of ours whose references aren't known */
  for (size_t i = 0; i < count; i++)
    to[i].next = forward(to[i].next, to, &count);
  memset(space, 0xdd, sizeof spaces[0]);
  space = to;
  used = count;
  collections++;
}

/* Where managed code enters the collector. The compiler keeps a frame pointer here: the return
 * address is behind it, and the caller's stack is behind that. */
__attribute__((noinline)) struct node *heap_allocate(void) {
  char *const frame = __builtin_frame_address(0);
  collect((struct stackpack_frame){(uintptr_t)__builtin_return_address(0), (uintptr_t)frame + 16});
  if (used == NODES)
    abort();
  return memset(&space[used++], 0, sizeof(struct node));
}

int64_t square(int64_t value) { return value * value; }

int64_t sum_of_squares(int64_t n); /* managed.ll */

int main(void) {
  if (stackpack_process_open(&process, modules, 1) != STACKPACK_OK)
    abort();
  printf("%" PRId64 "\n", sum_of_squares(100));
  fprintf(stderr, "%zu collections, %zu frames\n", collections, frames);
  stackpack_process_close(&process);
  return 0;
}
