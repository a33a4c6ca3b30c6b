/* internal.h - the contents of the `private_` members of stackpack.h.
 *
 * The public structures are plain words, so that a caller can hold them with their contents hidden.
 * The types here overlay these words. C's rules on effective types (C17 6.5p7) forbid that, so the
 * library is compiled with -fno-strict-aliasing: see the Makefile.
 */
#ifndef STACKPACK_INTERNAL_H
#define STACKPACK_INTERNAL_H

#include "elf/elf_image.h"
#include "format/frames_find.h"
#include "format/packed.h"
#include "format/packed_details.h"
#include "runtime/stackpack.h"

#include <pthread.h>
#include <stdatomic.h>

/* In ELF's numbers. */
#if defined __x86_64__
enum { THIS_MACHINE = EM_X86_64 };
#elif defined __aarch64__
enum { THIS_MACHINE = EM_AARCH64 };
#else
enum { THIS_MACHINE = EM_RISCV };
#endif

/* A file's own memory. */
struct file_overlay {
  void *table;          /* from malloc: the packed form of a raw section, or NULL */
  uint64_t start, size; /* the file's mapping: its address and bytes */
};

/* A module's slot in the caller's array. It is free while `size` is 0; look-ups read `size` first,
 * then `error`, and then the rest, which is constant until `size` has been 0 for a while; but while
 * there is an error, look-ups skip the rest, and it may be filled in. */
struct module_overlay {
  _Atomic uint64_t size;          /* of its addresses */
  _Atomic uint64_t start;         /* its lowest address */
  uint64_t maps_start, maps_size; /* a part of its stack maps in memory; */
  uint64_t identity;              /* a checksum over that */
  void *table;                    /* as above */
  _Atomic uint32_t error;         /* enum stackpack_error */
  bool seen;                      /* while the list of modules is gone through */
};

/* The readers of one stripe, in two phases: those who came before a module was taken out, and
 * after. */
struct stripe {
  _Atomic uint64_t readers[2];
} __attribute__((aligned(64)));

enum { STRIPES = 16 };

struct ranges; /* ranges.h */

struct process_overlay {
  _Atomic uint64_t generation; /* 1 + the number of times that modules came or went */
  struct stackpack_module *modules;
  uint64_t capacity, needed;
  _Atomic(struct ranges *) ranges; /* of code that the program has added; NULL: none yet */
  pthread_mutex_t writer;
  pid_t owner;    /* of the mutex and the readers' counts: a child of fork has other threads */
  unsigned forks; /* and its count of forks: see process.c */
  _Atomic unsigned phase;
  /* As of the last update: */
  bool is_settled; /* all of its modules were looked at and are sound */
  uint32_t plain_count;
  uint64_t *plain; /* the starts of the modules without stack maps; from malloc */
  size_t plain_capacity;
  uint64_t adds, subs; /* the loader's counts of modules loaded and unloaded */
  struct stripe stripes[STRIPES];
};

_Static_assert(sizeof(struct packed_table) <= sizeof(struct stackpack_table), "room for a table");
_Static_assert(sizeof(struct packed_record) <= offsetof(struct stackpack_record, frame_size) &&
                   offsetof(struct packed_record, address) ==
                       offsetof(struct stackpack_record, address) &&
                   offsetof(struct packed_record, index) ==
                       offsetof(struct stackpack_record, index),
               "a record lies over the start of the public one");
_Static_assert(sizeof(struct packed_pairs) <= sizeof((struct stackpack_pairs){0}.private_),
               "room for pairs");
_Static_assert(sizeof(struct packed_list) <= sizeof(struct stackpack_locations), "room for a list");
_Static_assert(sizeof(struct module_overlay) <= sizeof((struct stackpack_module){0}.private_),
               "room for what is known of a module");
_Static_assert(sizeof(struct file_overlay) <= sizeof((struct stackpack_file){0}.private_),
               "room for what a file owns");
_Static_assert(sizeof(struct process_overlay) <= sizeof(struct stackpack_process),
               "room for a process");

static inline struct packed_table *table_of(struct stackpack_table *table) {
  return (struct packed_table *)table->private_;
}
static inline const struct packed_table *const_table_of(const struct stackpack_table *table) {
  return (const struct packed_table *)table->private_;
}

static inline const struct packed_record *record_of(const struct stackpack_record *record) {
  return (const struct packed_record *)record;
}

static inline struct packed_pairs *pairs_of(struct stackpack_pairs *pairs) {
  return (struct packed_pairs *)pairs->private_; /* cppcheck-suppress ctuuninitvar; its address */
}

/* readable.c: whether the byte at an address is readable. */
bool memory_is_readable(uintptr_t address);

/* process.c: for a change of a process's ranges (ranges.h) by one thread, while no fork begins. */
void process_begin_change(struct process_overlay *process);
void process_end_change(struct process_overlay *process);
void process_free_ranges(struct ranges *ranges);

/* Changes when modules come or go; never 0. */
static inline uint64_t process_generation(const struct stackpack_process *process) {
  return atomic_load_explicit(&((const struct process_overlay *)process)->generation,
                              memory_order_acquire);
}

/* raw_search.c. Goes to an image's next section of stack maps: by the section headers, or, where
 * every file lacks them, by form. *number and *section are zeros at first. */
bool raw_next(const struct elf_image *image, unsigned *number, Elf64_Shdr *section);

/* The address sanitizer forbids reads between variables: with it, raw_search.c reads files. */
#ifdef __SANITIZE_ADDRESS__
enum { IS_SANITIZED = 1 };
#elif defined __has_feature
enum { IS_SANITIZED = __has_feature(address_sanitizer) };
#else
enum { IS_SANITIZED = 0 };
#endif

/* raw_search.c. False if a loaded module is certain to have none, even with its file unread. */
bool raw_may_be_there(const struct elf_image *image);

/* Completes a record from its packed one. */
static inline void record_complete(struct stackpack_record *record) {
  const struct packed_record *packed = record_of(record);
  const bool is_stackmap = packed->table->list_count > 0 && packed_record_list(packed).is_locations;
  record->frame_size = packed_record_frame_size(packed);
  record->kind = is_stackmap ? STACKPACK_STACKMAP : STACKPACK_STATEPOINT;
}

/* The facts about a record's frame. */
static inline struct frame_view record_view(const struct stackpack_record *record) {
  return packed_frame(record_of(record), record->frame_size);
}

/* table.c: the answer for a return address without a record. */
enum stackpack_answer table_answer_otherwise(const struct stackpack_table *table, uint64_t address,
                                             enum stackpack_answer answer);

/* stackpack_table_find, to be compiled into a walk. */
static inline enum stackpack_answer record_find(const struct stackpack_table *table,
                                                uint64_t address, struct stackpack_record *record) {
  const enum stackpack_answer answer =
      packed_find(const_table_of(table), address, (struct packed_record *)record);
  if (__builtin_expect(answer != STACKPACK_FOUND, 0))
    return table_answer_otherwise(table, address, answer);
  record_complete(record);
  return STACKPACK_FOUND;
}

/* table.c: the end of the managed addresses that begin at the start of the record's function. */
uint64_t record_function_end(const struct stackpack_record *record);

/* table.c: opens the table that was found in an image, unless the image has code that came
 * later. */
enum stackpack_error table_open_in(struct stackpack_table *table, const struct elf_image *image,
                                   const struct section_bytes *packed);

#endif
