/* A unit in C++: linkage names, and functions that a header has: see source-kinds.sh. */
#include "shapes.h"

static long sum(long n) {
  long result = 0;
  for (long i = 0; i < n; i++)
    result += shapes::area(i, n) + shapes::Square{i}.measure();
  return result;
}

extern "C" void second(long n) { collect(sum(n) + shapes::area<int>(3, 4)); }
