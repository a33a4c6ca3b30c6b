/* Another thread loads a raw library, whose relocations are yet to be done when the process is updated.
 *
 * loading LIBRARY: LIBRARY needs another one, with a function that the loader asks for its address
 * (IFUNC) before it relocates LIBRARY. Asked, that says so in the one pipe and waits for the other;
 * their ends are file descriptors (loading_slow.c).
 */
#include "stackpack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ASKED = 100, GO_ON = 101 };

static struct stackpack_process process;
static struct stackpack_module modules[8];
static void *library;

void *allocate(long size);
void collect(void);
void *allocate(long size) {
  (void)size;
  return 0;
}
void collect(void) {}

static void fail(const char *what) {
  fprintf(stderr, "loading: %s\n", what);
  exit(1);
}

static void *load(void *path) {
  library = dlopen(path, RTLD_NOW);
  return NULL;
}

/* How many of the bytes of a function are in managed code. */
static int managed_bytes(const char *name) {
  const char *function = dlsym(library, name);
  struct stackpack_record record;
  int bytes = 0;
  for (int i = 1; i <= 16; i++)
    bytes += stackpack_find(&process, (uintptr_t)function + i, &record) != STACKPACK_NOT_MANAGED;
  return bytes;
}

int main(int argc, char **argv) {
  int asked[2], go_on[2];
  pthread_t thread;
  char byte = 0;
  if (argc != 2 || pipe(asked) != 0 || pipe(go_on) != 0 || dup2(asked[1], ASKED) != ASKED ||
      dup2(go_on[0], GO_ON) != GO_ON)
    fail("can't start");
  if (stackpack_process_open(&process, modules, 8) != STACKPACK_NO_STACK_MAPS)
    fail("the program has stack maps");
  pthread_create(&thread, NULL, load, argv[1]);
  if (read(asked[0], &byte, 1) != 1)
    fail("the loader asks for no address");
  stackpack_process_update(&process);
  if (write(go_on[1], &byte, 1) != 1 || pthread_join(thread, NULL) != 0 || library == NULL)
    fail("the library isn't loaded");
  if (stackpack_process_update(&process) != STACKPACK_OK || managed_bytes("run") != 16)
    fail("the library's functions aren't managed");
  const uint64_t generation = process.private_[0];
  dlclose(dlopen("libm.so.6", RTLD_NOW));
  if (stackpack_process_update(&process) != STACKPACK_OK || process.private_[0] != generation)
    fail("the library was taken out, or looked at again");
  return 0;
}
