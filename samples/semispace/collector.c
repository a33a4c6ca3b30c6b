/* collector.c - a moving collector: Cheney's, with two spaces.
 *
 * Objects are allocated one behind the other in a space. When it is full, or at every allocation in
 * stress mode, all objects that can still be reached move to the other space; the first one is
 * empty then, and the two change roles.
 *
 *   1. Each reference on the stack is forwarded: its object is copied, if it hasn't been, and the
 * new address replaces the old one. The old object keeps the new address, for those who come later.
 *   2. The copies lie one behind the other. They are scanned in that order, and each reference in
 * them is forwarded, which may add copies at the end. When the scan catches up with the end, none
 * is left.
 *
 * A moving collector is an unforgiving test of stack maps. If one reference is missing in them, the
 * program goes on with the object's old address. So the old space is made inaccessible after each
 * collection: the first use of such a reference faults. If it isn't used but met by the next
 * collection, or if something is no base reference at all, the check of the object header finds it.
 *
 * The roots are on the stack only: the workload keeps no reference elsewhere. A collector for a
 * language with global variables would forward those as well, next to the call of stack_update.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "collector.h"
#include "die.h"
#include "stack.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A reference points at `words`: first data_words of data, then the references. */
struct object {
  uintptr_t state; /* OBJECT_HERE, or the reference to its copy */
  uint32_t data_words, references;
  uintptr_t words[];
};

/* Odd, so that it is no reference, and not likely to be met by chance. */
#define OBJECT_HERE UINT64_C(0x0b1ec7adde5ca1ed)

struct space {
  char *start, *next, *end;
};

static size_t space_bytes;
static struct space active, other; /* `other` is inaccessible but during a collection */
static bool collect_always;

static struct {
  struct stack_counts stack;
  uint64_t collections, objects, bytes;
} counts;

static struct space space_new(void) {
  char *start = mmap(NULL, space_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    die("no memory for a space of %zu bytes", space_bytes);
  return (struct space){start, start, start + space_bytes};
}

static void space_protect(const struct space *space, int protection) {
  if (mprotect(space->start, space_bytes, protection) != 0)
    die("cannot change the protection of a space");
}

void heap_open(size_t bytes, bool stress) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  space_bytes = (bytes + page - 1) / page * page;
  collect_always = stress;
  active = space_new();
  other = space_new();
  space_protect(&active, PROT_READ | PROT_WRITE);
  stack_open();
}

void heap_close(void) {
  stack_close();
  munmap(active.start, space_bytes);
  munmap(other.start, space_bytes);
}

static size_t object_bytes(const struct object *object) {
  return sizeof *object + ((size_t)object->data_words + object->references) * sizeof(uintptr_t);
}

static bool is_within(const struct space *space, uintptr_t address) {
  return (uintptr_t)space->start <= address && address < (uintptr_t)space->next;
}

/* The object of a base reference into the space that is being left. */
static struct object *object_of(uintptr_t reference) {
  uintptr_t header = reference - offsetof(struct object, words);
  if (!is_within(&active, header))
    die("reference %#" PRIxPTR " is not into the heap: a root was missed earlier", reference);
  struct object *object = (struct object *)header;
  if (header % sizeof(uintptr_t) != 0 ||
      (object->state != OBJECT_HERE && !is_within(&other, object->state - 1)))
    die("reference %#" PRIxPTR " is not to the start of an object", reference);
  return object;
}

static uintptr_t object_copy(struct object *object) {
  size_t bytes = object_bytes(object);
  struct object *copy = (struct object *)other.next;
  memcpy(copy, object, bytes);
  other.next += bytes;
  object->state = (uintptr_t)copy->words;
  counts.objects++;
  counts.bytes += bytes;
  return object->state;
}

static uintptr_t forward(void *nothing, uintptr_t reference) {
  (void)nothing;
  if (reference == 0)
    return 0;
  struct object *object = object_of(reference);
  return object->state == OBJECT_HERE ? object_copy(object) : object->state;
}

static void scan_copies(void) {
  for (char *scan = other.start; scan != other.next;) {
    struct object *object = (struct object *)scan;
    uintptr_t *field = object->words + object->data_words;
    for (uint32_t i = 0; i < object->references; i++)
      field[i] = forward(NULL, field[i]);
    scan += object_bytes(object);
  }
}

static void collect(struct stackpack_context context) {
  space_protect(&other, PROT_READ | PROT_WRITE);
  other.next = other.start;
  stack_update(&context, forward, &counts.stack);
  scan_copies();
  space_protect(&active, PROT_NONE);
  struct space left = active;
  active = other;
  other = left;
  counts.collections++;
}

static struct object *space_take(size_t bytes) {
  if (bytes > (size_t)(active.end - active.next))
    return NULL;
  struct object *object = (struct object *)active.next;
  active.next += bytes;
  return object;
}

/* What heap_allocate of heap.h comes to: heap_allocate.S adds the frame of its caller. */
void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
                              uintptr_t stack_pointer);

void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
                              uintptr_t stack_pointer) {
  if (data_bytes > space_bytes || references > space_bytes / sizeof(uintptr_t))
    die("an object of %" PRIu64 " bytes and %" PRIu64 " references is too large", data_bytes,
        references);
  struct object header = {OBJECT_HERE, (uint32_t)((data_bytes + 7) / 8), (uint32_t)references};
  size_t bytes = object_bytes(&header);
  struct object *object = collect_always ? NULL : space_take(bytes);
  if (!object) {
    collect(stackpack_context_at_call(return_address, stack_pointer, NULL));
    object = space_take(bytes);
  }
  if (!object)
    die("the heap of %zu bytes is full", space_bytes);
  memset(object, 0, bytes);
  *object = header;
  return object->words;
}

void heap_report(FILE *file) {
  fprintf(file, "collections: %" PRIu64 "\n", counts.collections);
  fprintf(file, "objects moved: %" PRIu64 " (%" PRIu64 " bytes)\n", counts.objects, counts.bytes);
  fprintf(file, "frames walked: %" PRIu64 " (at most %" PRIu64 " in one collection)\n",
          counts.stack.frames, counts.stack.deepest);
  fprintf(file, "pairs updated: %" PRIu64 " (%" PRIu64 " of them derived references)\n",
          counts.stack.pairs, counts.stack.derived);
}
