/* record_stacks.c - records the return addresses on a running program's stack, thousands of times a
 * second: the stacks that a collector would walk if it started then.
 *
 *   LD_PRELOAD=record_stacks.so RECORD_STACKS=FILE program ...
 *
 * FILE becomes a sequence of stacks, in words of 64 bits: how many return addresses, then these,
 * the youngest frame's first, as link-time addresses of the program. Frames are found by the
 * unwind tables (backtrace, in the GNU C library), so the program may lack frame pointers. All is
 * kept in memory until the program ends, as a signal may come at any place.
 */
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { FRAMES_MAX = 1024, WORDS_MAX = 1 << 23, MICROSECONDS = 250 };

/* A signal handler finds globals only. */
static uint64_t *words;
static volatile size_t used;
static uint64_t bias;

static void record(int signal) {
  void *frames[FRAMES_MAX];
  (void)signal;
  if (used + FRAMES_MAX + 1 > WORDS_MAX)
    return;
  const int count = backtrace(frames, FRAMES_MAX);
  if (count <= 0)
    return;
  words[used] = (uint64_t)count;
  for (int i = 0; i < count; i++)
    words[used + 1 + (size_t)i] = (uint64_t)(uintptr_t)frames[i] - bias;
  used += 1 + (size_t)count;
}

/* The program itself is the first that is listed. */
static int note_bias(struct dl_phdr_info *information, size_t size, void *context) {
  (void)size, (void)context;
  bias = information->dlpi_addr;
  return 1;
}

static void set_timer(long microseconds) {
  const struct itimerval timer = {.it_interval = {0, microseconds}, .it_value = {0, microseconds}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

__attribute__((constructor)) static void begin(void) {
  const struct sigaction action = {.sa_handler = record, .sa_flags = SA_RESTART};
  void *frame;
  if (getenv("RECORD_STACKS") == NULL)
    return;
  words = mmap(NULL, WORDS_MAX * sizeof *words, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (words == MAP_FAILED)
    return;
  backtrace(&frame, 1); /* loads the unwinder now: it can't be loaded in a signal handler */
  dl_iterate_phdr(note_bias, NULL);
  sigaction(SIGALRM, &action, NULL);
  set_timer(MICROSECONDS);
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("RECORD_STACKS");
  if (path == NULL || words == NULL || words == MAP_FAILED)
    return;
  set_timer(0);
  FILE *file = fopen(path, "wb");
  if (file == NULL)
    return;
  fwrite(words, sizeof *words, used, file);
  fclose(file);
}
