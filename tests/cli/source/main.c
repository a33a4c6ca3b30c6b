/* The program's native part: see source-formats.sh. */
#include <stdio.h>

extern long run(long n);
extern void second(long n);

static long calls;

void collect(long n) { calls += n != 0; }

int main(void) {
  second(run(5));
  printf("%ld\n", calls);
  return 0;
}
