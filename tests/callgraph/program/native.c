/* The native code of the program: see program.h. It is compiled without statepoints. */
#define _GNU_SOURCE
#include "program.h"
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long collections;

APART void collect(void) { collections = collections + 1; }

APART static void slow_path(void) { collect(); }

APART long allocate(long value) {
  slow_path();
  return value + 1;
}

APART long tail_to_allocate(long value) { return allocate(value + 1); }

APART long pure(long value) { return value * 7 % 13; }

/* ---- Signals: their handlers run while the code that caused them waits ---- */

static volatile sig_atomic_t handled;

static void handle(int number) { handled += (int)on_signal(number) != 0; }

static void set_handler(int number) {
  struct sigaction action = {.sa_handler = handle};
  sigaction(number, &action, NULL);
}

APART long raise_signal(long value) {
  set_handler(SIGUSR1);
  raise(SIGUSR1);
  pthread_kill(pthread_self(), SIGUSR1);
  return value + handled;
}

APART long kill_self(long value) {
  set_handler(SIGUSR2);
  kill(getpid(), SIGUSR2);
  return value + handled;
}

APART long unblock_signal(long value) {
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, &old);
  raise(SIGUSR1);
  sigprocmask(SIG_SETMASK, &old, NULL);
  return value + handled;
}

APART long wait_for_timer(long value) {
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  set_handler(SIGALRM);
  sigprocmask(SIG_BLOCK, &set, &old);
  setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 1000}}, NULL);
  sigsuspend(&old);
  sigprocmask(SIG_SETMASK, &old, NULL);
  return value + handled;
}

/* ---- Callbacks of the C library ---- */

APART long sort(long value, int (*compare)(const void *, const void *)) {
  long values[] = {value, value + 3, value - 4, value * 2};
  qsort(values, 4, sizeof *values, compare);
  return values[0];
}

APART long search(long value, int (*compare)(const void *, const void *)) {
  long values[] = {1, 2, 3, 4};
  return bsearch(&value, values, 4, sizeof *values, compare) != NULL;
}

static void run_once(void) { on_once(7); }

APART long once(long value) {
  static pthread_once_t control = PTHREAD_ONCE_INIT;
  pthread_once(&control, run_once);
  return value;
}

static ssize_t write_to_stream(void *cookie, const char *bytes, size_t size) {
  (void)cookie, (void)bytes;
  return on_write((long)size) ? (ssize_t)size : 0;
}

APART long through_stream(long value) {
  FILE *file = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_to_stream});
  fprintf(file, "%ld", value);
  fflush(file);
  fputs("more", file);
  return fclose(file);
}

static void visit(const void *node, VISIT when, int depth) {
  (void)node, (void)when;
  on_visit(depth);
}

static int by_address(const void *a, const void *b) { return (a > b) - (a < b); }

APART long through_tree(long value) {
  void *root = NULL;
  static const char keys[3];
  for (int i = 0; i < 3; i++)
    tsearch(&keys[i], &root, by_address);
  twalk(root, visit);
  while (root)
    tdelete(*(void **)root, &root, by_address);
  return value;
}

static int see_module(struct dl_phdr_info *module, size_t size, void *count) {
  (void)module, (void)size;
  *(long *)count += on_module(1) > 0;
  return 1;
}

APART long through_modules(long value) {
  long count = value;
  dl_iterate_phdr(see_module, &count);
  return count;
}

APART long found_by_name(long value) {
  step *function = (step *)(uintptr_t)dlsym(RTLD_DEFAULT, "named");
  return function ? function(value) : -1;
}

static void before_fork(void) { on_fork(1); }

APART long forked(long value) {
  pthread_atfork(before_fork, NULL, NULL);
  pid_t child = fork();
  if (child == 0)
    _exit(3);
  int status = 0;
  waitpid(child, &status, 0);
  return value + WEXITSTATUS(status);
}

/* ---- Threads, and jumps out of many frames ---- */

struct job {
  step *body;
  long value;
};

static pthread_key_t key;
static void end_of_thread(void *value) { on_thread_end((long)(intptr_t)value); }

static void *run_job(void *data) {
  struct job *job = data;
  pthread_setspecific(key, job);
  job->value = job->body(job->value);
  return NULL;
}

APART long in_thread(step *body, long value) {
  struct job jobs[4];
  pthread_t threads[4];
  pthread_key_create(&key, end_of_thread);
  for (int i = 0; i < 4; i++) {
    jobs[i] = (struct job){body, value + i};
    pthread_create(&threads[i], NULL, run_job, &jobs[i]);
  }
  long sum = 0;
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    sum += jobs[i].value;
  }
  return sum;
}

static jmp_buf *innermost;
static volatile long thrown;

APART long protect(step *body, long value) {
  jmp_buf here, *outer = innermost;
  volatile long result = -1;
  innermost = &here;
  if (setjmp(here) == 0)
    result = body(value);
  else
    result = thrown;
  innermost = outer;
  return result;
}

void leave(long value) {
  collect();
  thrown = value;
  longjmp(*innermost, 1);
}

/* ---- Beginning and end ---- */

void report(const char *what, long value) {
  printf("%s: %ld\n", what, value);
  fflush(stdout);
}

static void at_exit(void) { report("at exit", on_signal(1)); }

int main(void) {
  atexit(at_exit);
  report("main", managed_main(3));
  return 0;
}
