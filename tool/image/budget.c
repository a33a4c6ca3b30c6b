/* budget.c - see budget.h. */
#include "tool/image/budget.h"

#include <inttypes.h>

bool budget_take(struct budget *budget, uint64_t bytes, struct problem *problem) {
  const uint64_t limit = budget->size * BUDGET_TIMES;
  if (bytes <= limit - budget->taken) {
    budget->taken += bytes;
    return true;
  }
  const uint64_t times = budget->size == 0 ? 0 : (budget->taken + bytes) / budget->size;
  return problem_set(problem, "%s that lead to more than %" PRIu64 " times the file's bytes",
                     budget->table, times);
}
