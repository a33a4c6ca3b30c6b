/* found.c - a program's view of a module's stack maps at run time.
 *
 *   found FILE             FILE is this program's own
 *   found FILE MEGABYTES   FILE is a shared library; it is loaded after so many addresses are
 *                          taken, and so elsewhere than usual (built with -DLIBRARY)
 *
 * Looks up every record of the file, and prints the answers in the file's own addresses: so the
 * output is the same for every load address, and for every form of stack maps. Its load address
 * goes to stderr.
 */
#include "stackpack.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void fail(const char *what) {
  fprintf(stderr, "found: %s\n", what);
  exit(1);
}

void *allocate(long size) { return calloc(1, size); }
void collect(void) {}

#ifdef LIBRARY
static long (*load(const char *path, long megabytes, uintptr_t *bias))(long) {
  struct link_map *map;
  if (megabytes > 0 && mmap(NULL, (size_t)megabytes << 20, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
    fail("no addresses");
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
    fail(dlerror());
  *bias = map->l_addr;
  return (long (*)(long))dlsym(library, "run");
}
#else
long run(long n);

/* The program itself comes first in the list of modules. */
static int first_bias(struct dl_phdr_info *info, size_t size, void *bias) {
  (void)size;
  *(uintptr_t *)bias = info->dlpi_addr;
  return 1;
}

static long (*load(const char *path, long megabytes, uintptr_t *bias))(long) {
  (void)path, (void)megabytes;
  dl_iterate_phdr(first_bias, bias);
  return run;
}
#endif

static void print_location(const char *title, struct stackpack_location location) {
  printf(" %s %u:%u+%ld:%u", title, location.kind, location.reg, (long)location.value,
         location.size);
}

static void print_frame(struct stackpack_frame_facts facts) {
  if (!facts.is_known) {
    printf(" unknown");
    return;
  }
  printf(" cfa %u%+ld lost %#x", facts.cfa_register, (long)facts.cfa_offset, facts.lost);
  for (unsigned i = 0; i < 32; i++)
    if ((facts.saved >> i & 1) != 0)
      printf(" %u%+d", i, facts.offsets[i]);
}

static void print_record(struct stackpack_record record, uintptr_t bias) {
  struct stackpack_pairs pairs = stackpack_pairs(&record);
  struct stackpack_location base, derived;
  printf("%#lx %#lx %lu", (long)(record.address - bias),
         (long)(stackpack_record_function(&record) - bias), (long)record.frame_size);
  print_frame(stackpack_record_frame(&record));
  while (stackpack_pairs_next(&pairs, &base, &derived)) {
    print_location("base", base);
    print_location("derived", derived);
  }
  if (pairs.is_corrupt)
    fail("corrupt pairs");
  putchar('\n');
}

int main(int argc, char **argv) {
  static struct stackpack_module modules[8];
  static struct stackpack_process process;
  struct stackpack_file file;
  struct stackpack_record record, found;
  uintptr_t bias = 0;
  if (argc < 2)
    fail("usage");
  long (*function)(long) = load(argv[1], argc > 2 ? atol(argv[2]) : 0, &bias);
  printf("run(5) = %ld\n", function(5));
  fprintf(stderr, "%#lx\n", (long)bias);
  if (stackpack_process_open(&process, modules, 8) != STACKPACK_OK)
    fail("the process has no stack maps");
  if (stackpack_file_open(&file, argv[1]) != STACKPACK_OK)
    fail("the file has no stack maps");
  for (unsigned i = 0; i < stackpack_table_records(&file.table); i++) {
    if (stackpack_table_record(&file.table, i, &record) != STACKPACK_FOUND ||
        stackpack_find(&process, bias + record.address, &found) != STACKPACK_FOUND)
      fail("not found");
    print_record(found, bias);
  }
  if (stackpack_find(&process, (uintptr_t)main, &found) != STACKPACK_NOT_MANAGED)
    fail("main isn't managed");
  return 0;
}
