/* Two libraries come and go while four threads look up return addresses in them.
 *
 * modules LIBRARY LIBRARY ROUNDS: in each round both libraries are loaded, their addresses
 * published, and after a while taken back; then the libraries are forgotten and unloaded. A thread
 * that finds an address published both before and after its look-up must have got FOUND, in the
 * right function; at any other time, NOT_MANAGED is right, too.
 */
#include "stackpack.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIBRARIES = 2, THREADS = 4, SAMPLES = 64 };

/* Link-time addresses of some records, from the file. */
struct library {
  const char *path;
  uint64_t addresses[SAMPLES], functions[SAMPLES];
  void *handle;
  _Atomic uintptr_t base;
  _Atomic unsigned generation; /* odd while it's loaded, and base is right */
};

static struct library libraries[LIBRARIES];
static struct stackpack_process process;
static struct stackpack_module modules[8];
static _Atomic int done;
static _Atomic unsigned long found_count, absent_count;

static void fail(const char *what) {
  fprintf(stderr, "modules: %s\n", what);
  exit(1);
}

static void read_library(struct library *library) {
  struct stackpack_file file;
  if (stackpack_file_open(&file, library->path) != STACKPACK_OK)
    fail("can't open a library's file");
  const size_t records = stackpack_table_records(&file.table);
  for (unsigned i = 0; i < SAMPLES; i++) {
    struct stackpack_record record;
    if (stackpack_table_record(&file.table, (uint32_t)(records * i / SAMPLES), &record) !=
        STACKPACK_FOUND)
      fail("can't read a record");
    library->addresses[i] = record.address;
    library->functions[i] = stackpack_record_function(&record);
  }
  stackpack_file_close(&file);
}

static void look_up(struct library *library, unsigned sample) {
  struct stackpack_record record;
  const unsigned generation = atomic_load(&library->generation);
  const uintptr_t base = atomic_load(&library->base);
  if (generation % 2 == 0)
    return;
  const unsigned ticket = stackpack_enter(&process);
  const enum stackpack_answer answer =
      stackpack_find(&process, base + library->addresses[sample], &record);
  const bool loaded = atomic_load(&library->generation) == generation;
  if (answer == STACKPACK_FOUND && loaded &&
      stackpack_record_function(&record) != base + library->functions[sample])
    fail("a wrong function");
  stackpack_leave(&process, ticket);
  if (answer == STACKPACK_FOUND)
    atomic_fetch_add(&found_count, 1);
  else if (answer == STACKPACK_CORRUPT || loaded)
    fail("a wrong answer");
  else
    atomic_fetch_add(&absent_count, 1);
}

static void *reader(void *seed) {
  unsigned n = *(unsigned *)seed;
  while (!atomic_load(&done)) {
    n = n * 1664525 + 1013904223;
    look_up(&libraries[n >> 30 & 1], n >> 16 & (SAMPLES - 1));
  }
  return NULL;
}

static void load(struct library *library) {
  struct link_map *map;
  library->handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
  if (library->handle == NULL || dlinfo(library->handle, RTLD_DI_LINKMAP, &map) != 0)
    fail(dlerror());
  if (stackpack_process_update(&process) != STACKPACK_OK)
    fail("update");
  atomic_store(&library->base, map->l_addr);
  atomic_fetch_add(&library->generation, 1);
}

static void unload(struct library *library) {
  const uintptr_t base = atomic_load(&library->base);
  atomic_fetch_add(&library->generation, 1);
  if (!stackpack_process_forget(&process, base + library->addresses[0]))
    fail("forget");
  dlclose(library->handle);
}

int main(int argc, char **argv) {
  if (argc != 4)
    fail("usage");
  const int rounds = atoi(argv[3]);
  for (int i = 0; i < LIBRARIES; i++) {
    libraries[i].path = argv[1 + i];
    read_library(&libraries[i]);
  }
  const enum stackpack_error error = stackpack_process_open(&process, modules, 8);
  if (error != STACKPACK_OK && error != STACKPACK_NO_STACK_MAPS)
    fail(stackpack_error_text(error));
  pthread_t threads[THREADS];
  unsigned seeds[THREADS];
  for (unsigned i = 0; i < THREADS; i++) {
    seeds[i] = i + 1;
    pthread_create(&threads[i], NULL, reader, &seeds[i]);
  }
  for (int round = 0; round < rounds; round++) {
    struct library *first = &libraries[round % LIBRARIES],
                   *second = &libraries[(round + 1) % LIBRARIES];
    load(first);
    load(second);
    unload(first);
    unload(second);
  }
  atomic_store(&done, 1);
  for (unsigned i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  stackpack_process_close(&process);
  if (atomic_load(&found_count) == 0)
    fail("no look-up met a loaded library");
  printf("%d rounds: %lu found, %lu absent\n", rounds, atomic_load(&found_count),
         atomic_load(&absent_count));
  return 0;
}
