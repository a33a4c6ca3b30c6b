/* Looks up all records of this program and of a library, before and after the library is forgotten.
 *
 * far LIBRARY: prints, for each time, how many of each are found; first, whether the library lies
 * between two segments of the program.
 */
#include "stackpack.h"

#include <dlfcn.h>
#include <stdio.h>

enum { MODULES = 2, RECORDS_MAX = 200 };

static volatile int far_data __attribute__((section("far_section"))) = 1;
static struct stackpack_module modules[MODULES];
static struct stackpack_process process;

void *allocate(long size) { return size == far_data ? NULL : (void *)modules; }
void collect(void) {}

/* The records' addresses, noted while the tables are there. The program comes first in the list of
 * modules. */
static uint64_t addresses[MODULES][RECORDS_MAX];
static size_t counts[MODULES];

static void note_records(unsigned module) {
  const struct stackpack_table *table = &modules[module].table;
  for (uint32_t i = 0; i < stackpack_table_records(table) && i < RECORDS_MAX; i++) {
    struct stackpack_record record;
    if (stackpack_table_record(table, i, &record) == STACKPACK_FOUND)
      addresses[module][counts[module]++] = record.address;
  }
}

static void print_found(unsigned module) {
  size_t found = 0;
  for (size_t i = 0; i < counts[module]; i++) {
    struct stackpack_record record;
    found += stackpack_find(&process, (uintptr_t)addresses[module][i], &record) == STACKPACK_FOUND;
  }
  printf("%zu\n", found);
}

int main(int count, char **arguments) {
  void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (library == NULL || stackpack_process_open(&process, modules, MODULES) != STACKPACK_OK)
    return 2;
  const uintptr_t function = (uintptr_t)dlsym(library, "run");
  puts(function > (uintptr_t)main && function < (uintptr_t)&far_data ? "between" : "outside");
  for (unsigned i = 0; i < MODULES; i++)
    note_records(i);
  for (unsigned i = 0; i < MODULES; i++)
    print_found(i);
  if (!stackpack_process_forget(&process, function))
    return 1;
  for (unsigned i = 0; i < MODULES; i++)
    print_found(i);
  return 0;
}
