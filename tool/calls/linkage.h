/* linkage.h - the dynamic linker's work on a file: the words that it fills in, and the symbols that
 * it resolves.
 *
 * A file that calls `qsort` has a word for its address, and a relocation that makes the dynamic
 * linker put it there. One that has a table of its own functions, and may be loaded anywhere, has a
 * relocation for each entry. So the relocations list the words that are addresses, and their
 * targets. (gABI, "Relocation"; AMD64 psABI, 4.4, "Relocation")
 */
#ifndef STACKPACK_LINKAGE_H
#define STACKPACK_LINKAGE_H

#include "tool/code/code.h"
#include "tool/image/image.h"

struct linkage_word {
  uint64_t address, value;
  uint32_t symbol;
  uint8_t kind;     /* enum code_relocation; of a slot, too, CODE_RELOCATION_SYMBOL */
  bool is_constant; /* only the dynamic linker writes such a word: it's in the offset table */
};

struct linkage_symbol {
  const char *name; /* in the file; "" if it is nameless */
  uint64_t address; /* of this file's definition */
  bool is_defined;
  bool is_preemptible; /* another file's definition may be used in place of this one's */
  bool is_code;        /* a function, or something that may be one */
  bool is_resolver;    /* the callee is the result of this function at start-up */
  /* Its library, by its version, or by the lack of other libraries. */
  bool is_c_library, is_zlib, is_terminals, is_stackpack;
};

enum { OFFSET_TABLES = 3 };

struct linkage {
  struct linkage_word *words;     /* by address */
  struct linkage_symbol *symbols; /* as in .dynsym; number 0 is empty */
  size_t word_count, word_capacity;
  uint32_t symbol_count;
  uint64_t offset_tables[OFFSET_TABLES];  /* where the global offset table may start; 0: nowhere */
  uint64_t entry, init, fini, fini_array; /* addresses, or 0 */
  uint64_t unknown;                       /* the place of unreadable relocations, or 0 */
  bool is_fixed;                          /* the file runs at the addresses it was linked for */
  bool is_library;                        /* or may be one */
  bool needs_more; /* it needs libraries other than the C library's and zlib */
  bool needs_zlib;
  bool needs_allocator; /* it needs libraries that may define malloc */
};

/* The image is of a machine that has a struct code_architecture. */
bool linkage_open(struct linkage *linkage, const struct image *image, struct problem *problem);
void linkage_close(struct linkage *linkage);

/* Whether the file's functions are safe from unseen callers: other files can neither get their
 * addresses nor look them up. */
static inline bool linkage_is_alone(const struct linkage *linkage) {
  return !linkage->is_library && !linkage->needs_more;
}

/* The word that starts at an address and that the dynamic linker fills in, or NULL. */
const struct linkage_word *linkage_find(const struct linkage *linkage, uint64_t address);

#endif
