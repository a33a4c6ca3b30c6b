/* A library makes place for a smaller one at any instruction of a look-up that asks for neither.
 *
 * swapped PLACE KEPT LARGE SMALL: libraries. PLACE is there until KEPT is, so that LARGE and SMALL get
 * its place in the list of modules, in front of KEPT's; in memory they lie below KEPT. Each look-up
 * asks for KEPT's first record, and is traced: after as many instructions as no look-up has had
 * before, LARGE is unloaded, and SMALL is loaded.
 */
#include "stackpack.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { TRAP_FLAG = 0x100, INSTRUCTIONS = 150, SKIPPED = 77 };

static struct stackpack_process process;
static struct stackpack_module modules[8];
static const char *large_path, *small_path;
static void *passing; /* the one of the two that is loaded */
static volatile int left;

static void fail(const char *what, int status) {
  printf("swapped: %s\n", what);
  exit(status);
}

static void *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL || stackpack_process_update(&process) != STACKPACK_OK)
    fail("can't load a library", 1);
  return library;
}

static uintptr_t function_of(void *library) { return (uintptr_t)dlsym(library, "run"); }

static void unload(void *library) {
  if (!stackpack_process_forget(&process, function_of(library)) || dlclose(library) != 0)
    fail("can't unload a library", 1);
}

static void swap(const char *path) {
  unload(passing);
  passing = load(path);
}

static void on_trap(int signal, siginfo_t *information, void *context) {
  (void)signal, (void)information;
  if (--left > 0)
    return;
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
  swap(small_path);
}

static void set_trap_flag(void) {
  __asm__ volatile("pushfq; orl %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
}

static void clear_trap_flag(void) {
  __asm__ volatile("pushfq; andl %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
}

/* Takes each free page above an address, so that libraries are loaded below it: where the kernel
 * places mappings from the top down, each gap would take a library that fits. */
static void fill_gaps_above(uintptr_t address) {
  enum { PAGE = 4096, MOST = 1 << 20 };
  for (int i = 0; i < MOST; i++) {
    void *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
      fail("can't take a page", 1);
    if ((uintptr_t)page > address)
      continue;
    munmap(page, PAGE);
    return;
  }
}

/* The address of the first record of the module with a function, by its table. */
static uintptr_t first_record(uintptr_t function) {
  struct stackpack_record record;
  for (unsigned i = 0; i < 8; i++) {
    uintptr_t address;
    if (stackpack_module_error(&modules[i], &address) == STACKPACK_OK &&
        stackpack_table_find(&modules[i].table, function + 1, &record) != STACKPACK_NOT_MANAGED &&
        stackpack_table_record(&modules[i].table, 0, &record) == STACKPACK_FOUND)
      return record.address;
  }
  fail("no record", 1);
  return 0;
}

int main(int count, char **arguments) {
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  if (count != 5)
    return 2;
  void *place = dlopen(arguments[1], RTLD_NOW);
  if (place == NULL || stackpack_process_open(&process, modules, 8) != STACKPACK_OK)
    fail("can't open the process", 1);
  const uintptr_t kept = first_record(function_of(load(arguments[2])));
  unload(place);
  fill_gaps_above(kept);
  large_path = arguments[3], small_path = arguments[4];
  passing = load(small_path);
  if (function_of(passing) > kept)
    fail("the small library isn't below the one that is kept", SKIPPED);
  sigaction(SIGTRAP, &action, NULL);
  for (int i = 1; i <= INSTRUCTIONS; i++) {
    struct stackpack_record record;
    swap(large_path);
    left = i;
    set_trap_flag();
    const enum stackpack_answer answer = stackpack_find(&process, kept, &record);
    clear_trap_flag();
    if (answer != STACKPACK_FOUND || record.address != kept) {
      printf("after %d instructions: answer %d\n", i, answer);
      return 1;
    }
    if (left > 0)
      swap(small_path);
  }
  printf("%d look-ups\n", INSTRUCTIONS);
  return 0;
}
