/* copier.c - a moving collector's heap: Cheney's, with two spaces.
 *
 * Objects are allocated one after another in a space. A collection moves all reachable objects to
 * the other space. The first one is empty then, and the two change roles.
 *
 *   1. Each root is forwarded: the first visit copies its object, and the new address replaces the
 *      old one. The old object keeps the new address for later visits.
 *   2. The copies are scanned in order, and each reference in them is forwarded, which may add
 *      copies at the end. The collection is complete when the scan reaches the end.
 *
 * A moving collector is a strict test of stack maps. If a stack map lacks a reference, the program
 * continues with the object's old address. So the old space is made inaccessible after each
 * collection, and the first use of such a reference faults. A stale reference that the next
 * collection finds, and a value that isn't a base reference, fail the check of the object header.
 */
#include "copier.h"

#include "die.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A reference points to `words`: first data_words of data, then the references. */
struct object {
  uintptr_t state; /* OBJECT_HERE, or the reference to its copy */
  uint32_t data_words, references;
  uintptr_t words[];
};

/* Odd, so that it differs from all references, and unlikely to occur by chance. */
#define OBJECT_HERE UINT64_C(0x0b1ec7adde5ca1ed)

static size_t space_bytes(const struct copier_space *space) {
  return (size_t)(space->end - space->start);
}

static struct copier_space space_new(size_t bytes) {
  char *start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    die("no memory for a space of %zu bytes", bytes);
  return (struct copier_space){start, start, start + bytes};
}

static void space_protect(const struct copier_space *space, int protection) {
  if (mprotect(space->start, space_bytes(space), protection) != 0)
    die("cannot change the protection of a space");
}

static bool is_within(const struct copier_space *space, uintptr_t address) {
  return (uintptr_t)space->start <= address && address < (uintptr_t)space->next;
}

void copier_open(struct copier *copier, size_t bytes, bool stress) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  bytes = (bytes + page - 1) / page * page;
  *copier =
      (struct copier){.active = space_new(bytes), .other = space_new(bytes), .stress = stress};
  space_protect(&copier->active, PROT_READ | PROT_WRITE);
}

void copier_close(struct copier *copier) {
  munmap(copier->active.start, space_bytes(&copier->active));
  munmap(copier->other.start, space_bytes(&copier->other));
}

static size_t object_bytes(const struct object *object) {
  return sizeof *object + ((size_t)object->data_words + object->references) * sizeof(uintptr_t);
}

void *copier_take(struct copier *copier, uint64_t data_bytes, uint64_t references) {
  struct copier_space *space = &copier->active;
  size_t most = space_bytes(space);
  if (data_bytes > most || references > most / sizeof(uintptr_t))
    die("an object of %" PRIu64 " bytes and %" PRIu64 " references is too large", data_bytes,
        references);
  struct object header = {OBJECT_HERE, (uint32_t)((data_bytes + 7) / 8), (uint32_t)references};
  size_t bytes = object_bytes(&header);
  if (bytes > (size_t)(space->end - space->next))
    return NULL;
  struct object *object = (struct object *)space->next;
  space->next += bytes;
  memset(object, 0, bytes);
  *object = header;
  return object->words;
}

void *copier_allocate(struct copier *copier, uint64_t data_bytes, uint64_t references,
                      void collect(const void *context), const void *context) {
  void *object = copier->stress ? NULL : copier_take(copier, data_bytes, references);
  if (!object) {
    collect(context);
    object = copier_take(copier, data_bytes, references);
  }
  if (!object)
    die("the heap of %zu bytes is full", space_bytes(&copier->active));
  return object;
}

void copier_report(const struct copier *copier, FILE *file) {
  fprintf(file, "collections: %" PRIu64 "\n", copier->collections);
  fprintf(file, "objects moved: %" PRIu64 " (%" PRIu64 " bytes)\n", copier->objects, copier->bytes);
}

/* The object of a base reference. It is in the space that the collection empties. */
static struct object *object_of(const struct copier *copier, uintptr_t reference) {
  uintptr_t header = reference - offsetof(struct object, words);
  if (!is_within(&copier->active, header))
    die("reference %#" PRIxPTR " is not into the heap: a root was missed earlier", reference);
  struct object *object = (struct object *)header;
  if (header % sizeof(uintptr_t) != 0 ||
      (object->state != OBJECT_HERE && !is_within(&copier->other, object->state - 1)))
    die("reference %#" PRIxPTR " is not to the start of an object", reference);
  return object;
}

static uintptr_t object_copy(struct copier *copier, struct object *object) {
  size_t bytes = object_bytes(object);
  struct object *copy = (struct object *)copier->other.next;
  memcpy(copy, object, bytes);
  copier->other.next += bytes;
  object->state = (uintptr_t)copy->words;
  copier->objects++;
  copier->bytes += bytes;
  return object->state;
}

void copier_start(struct copier *copier) {
  space_protect(&copier->other, PROT_READ | PROT_WRITE);
  copier->other.next = copier->other.start;
}

uintptr_t copier_forward(void *closure, uintptr_t reference) {
  struct copier *copier = closure;
  if (reference == 0)
    return 0;
  struct object *object = object_of(copier, reference);
  return object->state == OBJECT_HERE ? object_copy(copier, object) : object->state;
}

static void scan_copies(struct copier *copier) {
  for (char *scan = copier->other.start; scan != copier->other.next;) {
    struct object *object = (struct object *)scan;
    uintptr_t *field = object->words + object->data_words;
    for (uint32_t i = 0; i < object->references; i++)
      field[i] = copier_forward(copier, field[i]);
    scan += object_bytes(object);
  }
}

void copier_finish(struct copier *copier) {
  scan_copies(copier);
  space_protect(&copier->active, PROT_NONE);
  struct copier_space left = copier->active;
  copier->active = copier->other;
  copier->other = left;
  copier->collections++;
}
