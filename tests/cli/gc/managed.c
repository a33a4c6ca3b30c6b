/* Managed code: for each function f of the runtime, managed_f calls it and nothing else. */
#include "functions.h"

#define MANAGED(name)                                                                                                  \
  __attribute__((noinline)) long managed_##name(long x) { return name(x) + 1; }
FUNCTIONS_THAT_CAN(MANAGED)
FUNCTIONS_THAT_CANT(MANAGED)

__attribute__((noinline)) long managed_collect(long x) {
  collect();
  return x;
}

/* Calls two that can and two that can't, through functions that are managed themselves. */
long run(long n) {
  return managed_by_chain(n) + managed_by_pointer(n) + managed_no_switch(n) + managed_no_outside(n) + managed_collect(n);
}
