/* Opens the running process with libraries that it loads, and lists the files that the library
 * opened for that.
 *
 * plain LIBRARY...: `open NAME` for each file, then `error E, N modules, answer A`: A is that for an address in the
 * function `managed` of the last library. Linked with -Wl,--wrap=open.
 */
#include "stackpack.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  printf("open %s\n", path);
  return __real_open(path, flags);
}

#ifdef INTERPOSED /* the dynamic linker takes this one for the library's, too */
void managed(void) {}
#endif

int main(int argc, char **argv) {
  static struct stackpack_process process;
  static struct stackpack_module modules[8];
  struct stackpack_record record;
  const char *code = NULL;
  for (int i = 1; i < argc; i++) {
    void *library = dlopen(argv[i], RTLD_NOW);
    if (library == NULL) {
      printf("%s\n", dlerror());
      return 1;
    }
    code = dlsym(library, "own_code");
  }
  const enum stackpack_error error = stackpack_process_open(&process, modules, 8);
  const enum stackpack_answer answer =
      code == NULL ? STACKPACK_NOT_MANAGED : stackpack_find(&process, (uintptr_t)code + 1, &record);
  printf("error %d, %zu modules, answer %d\n", error, stackpack_process_modules(&process), answer);
  stackpack_process_close(&process);
  return 0;
}
