/* touched.c - see touched.h. Signal handlers find globals only: one watch at a time. */
#include "touched.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, LINE = 64, LINES_MAX = 1 << 14, OPEN_MAX = 4 };
static const long long trap_flag = 0x100;

static struct {
  const struct contender *contender;
  uintptr_t lines[LINES_MAX];
  size_t count;
  void *open[OPEN_MAX]; /* pages that the current instruction needs */
  size_t open_count;
} watch;

static bool is_in(const struct region *region, uintptr_t address) {
  return address - (uintptr_t)region->start < region->size;
}

static void note_line(uintptr_t line) {
  for (size_t i = 0; i < watch.count; i++)
    if (watch.lines[i] == line)
      return;
  if (watch.count < LINES_MAX)
    watch.lines[watch.count++] = line;
}

static void set_trap(void *context, bool trap) {
#ifdef __x86_64__
  greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
  *flags = trap ? *flags | trap_flag : *flags & ~trap_flag;
#else
  (void)context, (void)trap;
#endif
}

static void on_fault(int number, siginfo_t *information, void *context) {
  const uintptr_t address = (uintptr_t)information->si_addr;
  void *page = (void *)(address & ~(uintptr_t)(PAGE - 1));
  if (watch.contender == NULL || watch.open_count == OPEN_MAX ||
      !(is_in(&watch.contender->file, address) || is_in(&watch.contender->heap, address)) ||
      mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0) {
    signal(number, SIG_DFL); /* a fault of the program itself */
    return;
  }
  note_line(address / LINE);
  watch.open[watch.open_count++] = page;
  set_trap(context, true);
}

static void on_trap(int number, siginfo_t *information, void *context) {
  (void)number, (void)information;
  for (; watch.open_count > 0; watch.open_count--)
    if (mprotect(watch.open[watch.open_count - 1], PAGE, PROT_NONE) != 0)
      _exit(3);
  set_trap(context, false);
}

static void protect(const struct region *region, int protection) {
  if (region->size > 0 && mprotect(region->start, region->size, protection) != 0)
    _exit(3);
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *)) {
  const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(number, &action, NULL);
}

bool touched_works(void) {
#ifdef __x86_64__
  return true;
#else
  return false;
#endif
}

void touched_begin(const struct contender *contender) {
  watch.contender = contender;
  watch.count = 0;
  handle(SIGSEGV, on_fault);
  handle(SIGTRAP, on_trap);
  protect(&contender->file, PROT_NONE);
  protect(&contender->heap, PROT_NONE);
}

struct touched touched_end(void) {
  struct touched touched = {.lines = watch.count};
  protect(&watch.contender->file, PROT_READ | PROT_WRITE);
  protect(&watch.contender->heap, PROT_READ | PROT_WRITE);
  signal(SIGSEGV, SIG_DFL);
  signal(SIGTRAP, SIG_DFL);
  watch.contender = NULL;
  for (size_t i = 0; i < watch.count; i++) {
    size_t first = 0;
    while (watch.lines[first] / (PAGE / LINE) != watch.lines[i] / (PAGE / LINE))
      first++;
    touched.pages += first == i;
  }
  return touched;
}
