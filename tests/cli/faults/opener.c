/* Opens the stack maps of a file, and those of this process, and prints each record; exit status 2
 * and a word where opening fails. */
#include "stackpack.h"

#include <stdio.h>
#include <stdlib.h>

long run(long n);
void *allocate(long size);
void *allocate(long size) { return malloc((size_t)size); }
void collect(void);
void collect(void) {}

static void check(enum stackpack_error error) {
  if (error == STACKPACK_OK)
    return;
  fprintf(stderr, "%s\n", stackpack_error_text(error));
  exit(2);
}

static void print_records(const struct stackpack_table *table) {
  for (size_t i = 0; i < stackpack_table_records(table); i++) {
    struct stackpack_record record;
    struct stackpack_location base, derived;
    if (stackpack_table_record(table, (uint32_t)i, &record) != STACKPACK_FOUND)
      abort();
    printf("%lx in %lx: %ld", (long)record.address, (long)stackpack_record_function(&record),
           (long)record.frame_size);
    struct stackpack_pairs pairs = stackpack_pairs(&record);
    while (stackpack_pairs_next(&pairs, &base, &derived))
      printf(" %ld", (long)base.value);
    struct stackpack_record next;
    putchar(stackpack_table_find(table, record.address + 1, &next) == STACKPACK_NOT_MANAGED ? '.'
                                                                                            : '\n');
  }
}

int main(int argc, char **argv) {
  static struct stackpack_process process;
  static struct stackpack_module modules[4];
  struct stackpack_file file;
  for (int i = 1; i < argc; i++) {
    check(stackpack_file_open(&file, argv[i]));
    print_records(&file.table);
    stackpack_file_close(&file);
  }
  check(stackpack_process_open(&process, modules, 4));
  print_records(&modules[0].table);
  check(stackpack_process_update(&process));
  stackpack_process_close(&process);
  if (fflush(stdout) == 0)
    return 0;
  perror("stdout");
  return 2;
}
