/* budget.h - how much of a file a reader may read.
 *
 * Headers and tables refer to bytes: a section's header to its contents, a symbol to its name, a
 * function's unwind entry to a table of its calls. An honest file's refer to each byte about once.
 * A hostile file's refer to the same bytes again and again: 3 MB of section headers over one table
 * of relocations were four minutes of work. So each reader of such a table counts the bytes that
 * its entries refer to, and refuses a file if they are several times its size.
 *
 * For example, of a reader of symbols:
 *
 *   struct budget budget = budget_open("names of symbols", image->size);
 *   while (elf_symbols_next(&at))
 *     if (!budget_take(&budget, strlen(at.name), problem))
 *       return false;
 *
 * A pass over the file is one budget: a command may make several, but their number is its own.
 */
#ifndef STACKPACK_BUDGET_H
#define STACKPACK_BUDGET_H

#include "tool/image/problem.h"

#include <stdint.h>

/* Sections that share bytes, names that share their ends, and copies that a linker folded make this
 * 1 to 2. */
enum { BUDGET_TIMES = 4 };

/* Commands take up to 20 times a file's size for what they know of it. */
enum { BUDGET_MEMORY_TIMES = 64, BUDGET_MEMORY_LEAST = 512 << 20 };

struct budget {
  const char *table; /* for the problem: a plural; static storage */
  uint64_t size;     /* the file's, in bytes */
  uint64_t taken;
};

static inline struct budget budget_open(const char *table, uint64_t size) {
  return (struct budget){.table = table, .size = size};
}

/* From now on memory is limited by the sizes of the files that are opened: a command that needs
 * more ends in one line (tool/memory.c). Each file, by budget_memory, before it is read, allows
 * BUDGET_MEMORY_TIMES its size. A lower limit of the caller's stays. */
void budget_limit_memory(void);
void budget_memory(uint64_t size);

/* Counts bytes that a table's entry refers to. False, and a problem, once they are more than
 * BUDGET_TIMES the file's. */
bool budget_take(struct budget *budget, uint64_t bytes, struct problem *problem);

#endif
