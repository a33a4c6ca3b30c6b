/* The C side of the sample programs: main, an allocator, and a safepoint that the managed code calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int64_t run(int64_t n); /* the managed code's entry */

static int64_t objects;
static int64_t collections;

void *allocate(int64_t size) {
  objects++;
  return calloc(1, (size_t)size);
}

void collect(void) { collections++; }

int main(void) {
  for (int64_t n = 1; n <= 5; n++)
    printf("run(%" PRId64 ") = %" PRId64 "\n", n, run(n));
  printf("%" PRId64 " objects, %" PRId64 " collections\n", objects, collections);
  return 0;
}
