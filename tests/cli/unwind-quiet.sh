#!/bin/bash
# A walk by unwind tables is free of allocations, and makes one system call (to block signals, or to check readable memory):
# even when all call sites are new. It runs on while another thread holds the dynamic linker's lock.
. "$TOP/tests/cli/common.sh"

cat >quiet.c <<'C'
#include "stackpack_unwind.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Allocation: every function of the C library's that gives memory, while a walk is on ---- */

static volatile int walking;
static void check(const char *what) {
  if (walking) {
    walking = 0;
    fprintf(stderr, "%s during a walk\n", what);
    _exit(1);
  }
}
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
void *malloc(size_t size) { check("malloc"); return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { check("calloc"); return __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { check("realloc"); return __libc_realloc(old, size); }
void free(void *memory) { check("free"); __libc_free(memory); }

/* ---- The walk ---- */

static struct stackpack_unwinder unwinder;
static struct stackpack_process process;
static struct stackpack_module modules[1];
static struct stackpack_stack stack;
static unsigned frames;

static void walk_here(struct stackpack_context *context, void *closure) {
  const struct stackpack_walker walker = {.process = &process,
                                          .managed = STACKPACK_BY_UNWINDING,
                                          .native = STACKPACK_BY_UNWINDING,
                                          .unwind = stackpack_unwinder_step,
                                          .unwinder = &unwinder};
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  (void)closure;
  frames = 0;
  walking = 1;
  stackpack_walk_start(&walk, &walker, stack, context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
    frames++;
  walking = 0;
  if (answer != STACKPACK_WALK_NO_MANAGED) { /* there is no managed code, so this is the stack's end */
    fprintf(stderr, "%s\n", stackpack_walk_text(answer));
    _exit(1);
  }
}

static int walk_in_qsort(const void *a, const void *b) {
  stackpack_unwinder_call(walk_here, NULL);
  return *(const int *)a - *(const int *)b;
}

static void walk_deep(void) {
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof numbers[0], walk_in_qsort);
  if (frames < 5)
    _exit(3);
}

/* ---- System calls: all but a few kill the process ---- */

#define ALLOW(name) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static void forbid_system_calls(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(futex), ALLOW(exit_group), ALLOW(write),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(4);
}

static int status_of(void (*function)(void)) {
  int status;
  const pid_t child = fork();
  if (child == 0) {
    forbid_system_calls();
    function();
    _exit(0);
  }
  return waitpid(child, &status, 0) == child ? status : -1;
}
static void map_memory(void) { mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

/* ---- The dynamic linker's lock: a thread that holds it for ever ---- */

static pthread_barrier_t held;
static int hold(struct dl_phdr_info *info, size_t size, void *closure) {
  (void)info, (void)size, (void)closure;
  pthread_barrier_wait(&held);
  for (;;)
    pause();
}
static void *hold_lock(void *closure) { dl_iterate_phdr(hold, closure); return NULL; }

int main(void) {
  pthread_attr_t attributes;
  void *low;
  size_t size;
  pthread_t thread;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  stack = (struct stackpack_stack){(uintptr_t)low, (uintptr_t)low + size};
  if (stackpack_process_open(&process, modules, 1) != STACKPACK_NO_STACK_MAPS ||
      stackpack_unwinder_open(&unwinder) != STACKPACK_OK)
    return 5;
  if (status_of(map_memory) == 0)
    return 6; /* nothing would be noticed */
  if (status_of(walk_deep) != 0)
    return 7;
  pthread_barrier_init(&held, NULL, 2);
  if (pthread_create(&thread, NULL, hold_lock, NULL) != 0)
    return 8;
  pthread_barrier_wait(&held);
  alarm(60);
  walk_deep();
  stackpack_unwinder_forget(&unwinder);
  walk_deep();
  printf("%u frames\n", frames);
  fflush(stdout);
  _exit(0);
}
C
build_plain_library # the address sanitizer takes malloc's place
"$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -O1 -Wall -Wextra -I"$TOP" -I"$TOP/runtime" quiet.c plain/libstackpack.a -o quiet
expect_status 0 ./quiet
expect_output '^[1-9][0-9]* frames$'
