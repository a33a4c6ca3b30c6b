/* Asks the library for each byte of a managed program and of its library, in a situation of their files.
 *
 * situations SITUATION LIBRARY OTHER: the library is loaded, then something happens to its file, then the
 * process is opened, and the answers are printed, with addresses relative to where the modules are. OTHER
 * is another file, to take the library's place.
 */
#include "stackpack.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

long run(long n);
void *allocate(long size) {
  static char heap[4096];
  static long used;
  used += size;
  return heap + used - size;
}
void collect(void) {}

static struct stackpack_process process;
static struct stackpack_module modules[8];

static void check(bool ok, const char *what) {
  if (ok)
    return;
  printf("situations: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* All that a look-up says: but for most bytes, that is a word. */
static void print_answer(uintptr_t base, uintptr_t address) {
  static enum stackpack_answer last = STACKPACK_FOUND;
  struct stackpack_record record;
  const enum stackpack_answer answer = stackpack_find(&process, address, &record);
  if (answer != last)
    printf("%#lx: %d\n", (long)(address - base), answer);
  last = answer;
  if (answer != STACKPACK_FOUND)
    return;
  struct stackpack_pairs pairs = stackpack_pairs(&record);
  struct stackpack_location slot, derived;
  printf("%#lx: in %#lx, frame size %lu", (long)(address - base),
         (long)(stackpack_record_function(&record) - base), (long)record.frame_size);
  while (stackpack_pairs_next(&pairs, &slot, &derived))
    printf(", %d+%ld", slot.reg, (long)slot.value);
  putchar('\n');
}

/* The code of a module, if a function is in it. */
static int print_module(struct dl_phdr_info *info, size_t size, void *function) {
  (void)size;
  bool is_there = false;
  for (unsigned i = 0; i < info->dlpi_phnum; i++)
    is_there |= info->dlpi_phdr[i].p_type == PT_LOAD &&
                (uintptr_t)function - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
                    info->dlpi_phdr[i].p_memsz;
  for (unsigned i = 0; i < info->dlpi_phnum && is_there; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0)
      for (uintptr_t into = 0; into <= segment->p_memsz; into++)
        print_answer(info->dlpi_addr, info->dlpi_addr + segment->p_vaddr + into);
  }
  return is_there;
}

static void print_answers(void *function) {
  check(dl_iterate_phdr(print_module, function) != 0, "the function's module");
}

static void no_more_files(void) {
  const struct rlimit none = {0, 0};
  check(setrlimit(RLIMIT_NOFILE, &none) == 0, "setrlimit");
}

static void happen(const char *situation, const char *library, const char *other) {
  if (strcmp(situation, "folder") == 0)
    check(chdir("/") == 0, "chdir");
  else if (strcmp(situation, "files") == 0)
    no_more_files();
  else if (strcmp(situation, "deleted") == 0)
    check(unlink(library) == 0, "unlink");
  else if (strcmp(situation, "replaced") == 0)
    check(rename(other, library) == 0, "rename");
  else if (strcmp(situation, "fifo") == 0)
    check(unlink(library) == 0 && mkfifo(library, 0600) == 0, "mkfifo");
  else if (strcmp(situation, "unreadable") == 0)
    check(chmod(library, 0) == 0 && (geteuid() != 0 || setuid(65534) == 0), "setuid");
}

int main(int argc, char **argv) {
  check(argc == 4, "usage");
  void *library = dlopen(argv[2], RTLD_NOW);
  if (library == NULL)
    printf("%s\n", dlerror());
  check(library != NULL, "dlopen");
  happen(argv[1], argv[2], argv[3]);
  enum stackpack_error error = stackpack_process_open(&process, modules, 8);
  if (strcmp(argv[1], "update") == 0) {
    no_more_files();
    error = stackpack_process_update(&process);
  }
  printf("%s; %d modules\n", stackpack_error_text(error), (int)stackpack_process_modules(&process));
  print_answers(dlsym(library, "other_run"));
  print_answers((void *)run);
  return 0;
}
