/* budget.c - see budget.h. */
#include "tool/image/budget.h"

#include <assert.h>
#include <inttypes.h>
#include <sys/resource.h>

static bool is_limited;
static struct rlimit callers;
static uint64_t allowed = BUDGET_MEMORY_LEAST;

static void set_limit(void) {
  struct rlimit limit = callers;
  if (limit.rlim_cur > allowed)
    limit.rlim_cur = allowed;
  setrlimit(RLIMIT_DATA, &limit);
}

void budget_limit_memory(void) {
  assert(!is_limited);       /* `callers` would be our own limit */
#ifndef __SANITIZE_ADDRESS__ /* whose own memory is more */
  is_limited = getrlimit(RLIMIT_DATA, &callers) == 0;
#endif
  budget_memory(0);
}

void budget_memory(uint64_t size) {
  allowed += BUDGET_MEMORY_TIMES * size;
  if (is_limited)
    set_limit();
}

bool budget_take(struct budget *budget, uint64_t bytes, struct problem *problem) {
  const uint64_t limit = budget->size * BUDGET_TIMES;
  assert(budget->taken <= limit);
  if (bytes <= limit - budget->taken) {
    budget->taken += bytes;
    return true;
  }
  const uint64_t times = budget->size == 0 ? 0 : (budget->taken + bytes) / budget->size;
  return problem_set(problem, "%s that lead to more than %" PRIu64 " times the file's bytes",
                     budget->table, times);
}
