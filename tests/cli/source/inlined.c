/* Managed functions with calls that are inlined into each other: see source-formats.sh. */
extern void collect(long);

static inline __attribute__((always_inline)) long once(long n) {
  collect(n);
  return n + 1;
}

static inline __attribute__((always_inline)) long twice(long n) {
  if (n > 3)
    n = once(n); collect(n); return once(n);
}

long run(long n) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    sum += twice(i);
  collect(sum);
  return sum + once(sum);
}
