/* Another unit: see source-formats.sh. */
extern void collect(long);

static inline __attribute__((always_inline)) void leaf(long n) { collect(n * 2); }

void second(long n) {
  leaf(n);
  collect(n);
}
