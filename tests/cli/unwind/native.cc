// native.cc - the C++ code between managed functions, and the start: see program.h.
#include "program.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <ucontext.h>
#include <vector>

namespace {

int compare(const void *a, const void *b) {
  const std::string keep(
      40, 'x'); // to be destroyed when an exception passes, so there are tables for that
  const long got = managed_compare(*static_cast<const long *>(a), *static_cast<const long *>(b));
  return keep.size() == 40 ? (got > 0) - (got < 0) : 0;
}

unsigned long handled;
void handle(int, siginfo_t *, void *context) {
  collect_at_signal(context);
  handled = handled * 31 + (unsigned long)managed_handler(static_cast<long>(handled % 17 + 3));
}

ucontext_t fiber, scheduler;
constexpr long fiber_size = 256 * 1024;
char *fiber_stack;
long fiber_result;
void run_fiber() {
  collect_on(fiber_stack, static_cast<char *>(__builtin_dwarf_cfa()));
  fiber_result = managed_fiber(4);
}

} // namespace

long native_sort(long n) {
  std::vector<long> elements;
  for (long i = 0; i < n; i++)
    elements.push_back(i * 7 % n);
  qsort(elements.data(), elements.size(), sizeof elements[0], compare);
  long result = 0;
  for (long element : elements)
    result = result * 10 + element;
  return result;
}

long native_interrupt(long n) {
  if (raise(SIGUSR1) != 0)
    abort();
  return static_cast<long>(handled % 1000) + n;
}

__attribute__((noinline)) static long may_throw(long n) {
  if (n % 4 == 1)
    throw std::runtime_error("a multiple of four, and one");
  return n;
}

long native_through(long n) {
  const auto keep = std::make_unique<long>(n);
  try {
    return may_throw(managed_dynamic(n)) + *keep;
  } catch (const std::runtime_error &error) {
    return static_cast<long>(std::string(error.what()).size()) + managed_dynamic(*keep);
  }
}

long native_yield(long n) {
  if (swapcontext(&fiber, &scheduler) != 0)
    abort();
  return n + 1;
}

void native_touch(char *a, char *b) {
  *a = 1;
  *b = 2;
}

static long run_fiber_beside(long n) {
  fiber_stack = static_cast<char *>(malloc(fiber_size));
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = fiber_stack;
  fiber.uc_stack.ss_size = fiber_size;
  fiber.uc_link = &scheduler;
  makecontext(&fiber, run_fiber, 0);
  long result = 0;
  for (long i = 0; i < 4; i++) { // it waits three times, and then returns
    swapcontext(&scheduler, &fiber);
    collect_suspended(i < 3 ? &fiber : nullptr);
    result = result * 31 + managed_sort(n + i);
    collect_suspended(nullptr);
  }
  free(fiber_stack);
  return result + fiber_result;
}

int main(int argc, char **argv) {
  collector_open(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : nullptr);
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGUSR1, &action, nullptr);
  printf("%ld\n", managed_sort(6));
  printf("%ld\n", managed_realigned(11));
  printf("%ld\n", run_fiber_beside(5));
  collector_report();
  return 0;
}
