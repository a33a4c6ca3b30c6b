/* Functions of a runtime, each of another form; only some can reach collect. The managed side has a function for each:
 * see managed.c. */
#include "functions.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static volatile long sink;

NOINLINE void collect(void) { sink++; }

/* ---- These can reach it ---- */

NOINLINE long by_call(long x) {
  collect();
  return x + 1;
}

NOINLINE long by_chain(long x) { return by_call(x + 1) * 3; }

NOINLINE long by_tail_call(long x) {
  sink++;
  return by_call(x);
}

NOINLINE long by_condition(long x) { return x > 5 ? by_call(x) : x; }

static NOINLINE long taken(long x) {
  collect();
  return x * 5;
}
static long (*volatile pointer)(long) = taken;
static long harmless(long x) { return x + 4; }
static long (*const table[])(long) = {harmless, taken, harmless};

NOINLINE long by_pointer(long x) { return pointer(x) + 1; }

NOINLINE long by_pointer_tail(long x) { return pointer(x + 1); }

NOINLINE long by_table(long x) { return table[x % 3](x) + 1; }

static int compare(const void *a, const void *b) {
  collect();
  return *(const int *)a - *(const int *)b;
}
NOINLINE long by_callback(long x) {
  int items[3] = {3, (int)x, 1};
  qsort(items, 3, sizeof *items, compare);
  return items[0];
}

NOINLINE long by_cycle(long x);
NOINLINE long by_cycle_back(long x) {
  if (x > 100)
    collect();
  return by_cycle(x - 1) + 1;
}
NOINLINE long by_cycle(long x) { return x <= 0 ? 0 : by_cycle_back(x / 2) + 1; }

/* ---- These can't ---- */

NOINLINE long no_call(long x) { return x * 7; }

NOINLINE long no_chain(long x) { return no_call(x) + no_call(x + 1); }

NOINLINE long no_tail_call(long x) {
  sink++;
  return no_call(x);
}

NOINLINE long no_cycle(long x);
NOINLINE long no_cycle_back(long x) { return no_cycle(x - 1) + 1; }
NOINLINE long no_cycle(long x) { return x <= 0 ? 0 : no_cycle_back(x / 2) + 1; }

/* A jump table, whose entries are code of this function. */
NOINLINE long no_switch(long x) {
  switch (x) {
  case 0: return no_call(x) - 1;
  case 1: sink += 3; return x / 3;
  case 2: return no_chain(x) ^ 5;
  case 3: sink ^= x; break;
  case 4: return no_call(x + 17);
  case 5: sink *= 5; return sink;
  case 6: return sink - no_call(x);
  case 7: sink = x; return 12;
  case 8: return no_call(sink);
  default: break;
  }
  return sink % 9;
}

/* The same with labels as values, in a loop that keeps the table's address. */
NOINLINE long no_computed_goto(long x) {
  static const void *const labels[] = {&&add, &&shift, &&call, &&end};
  static const unsigned char program[] = {0, 1, 2, 0, 2, 1, 3};
  const unsigned char *at = program;
  goto *labels[*at++];
add:
  x += 3;
  goto *labels[*at++];
shift:
  x = no_call(x << 1);
  goto *labels[*at++];
call:
  x = no_chain(x);
  goto *labels[*at++];
end:
  return x;
}

NOINLINE long no_outside(long x) {
  char text[32];
  snprintf(text, sizeof text, "%ld", x);
  return strtol(text, NULL, 16) + (long)strlen(text);
}
