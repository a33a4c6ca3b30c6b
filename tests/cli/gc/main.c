#include <stdio.h>

long run(long n);

int main(void) {
  for (long n = 0; n < 10; n++)
    printf("%ld\n", run(n));
  return 0;
}
