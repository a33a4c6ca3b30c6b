/* managed.c - the managed code: see program.h. Each function keeps some references across a call. */
#include "program.h"

#define INSIDE long REFERENCE *
#ifdef __clang__
#define SMALL __attribute__((noinline, minsize))
#else
#define SMALL __attribute__((noinline))
#endif

static long sum(reference a, reference b, INSIDE inside) {
  return a->values[0] + 3 * b->values[0] + 5 * a->next->values[0] + 7 * *inside;
}

long managed_sort(long n) {
  reference a = allocate(n), b = allocate(n + 1), c = allocate(n + 2);
  INSIDE inside = &c->values[n % 5];
  a->next = b;
  long got = native_sort(n);
  got += native_sort(n + 2);
  return got + sum(a, b, inside) + c->values[1];
}

long managed_compare(long x, long y) {
  reference a = allocate(x), b = allocate(y), c = allocate(x + y);
  INSIDE inside = &b->values[y % 5];
  a->next = c;
  long got = x == y + 1 ? native_interrupt(x) : native_through(y);
  a->values[2] = got % 1000;
  return (a->values[0] < b->values[0] ? -1 : 1) * (sum(a, b, inside) + a->values[2] + 100000);
}

long managed_handler(long n) {
  reference a = allocate(n), b = allocate(2 * n);
  a->next = b;
  INSIDE inside = &a->values[n % 5];
  long got = managed_realigned(n + 1);
  return got + sum(a, b, inside);
}

__attribute__((noinline)) static long managed_leaf(long n) {
  reference a = allocate(n), b = allocate(n + 1);
  return a->values[0] + b->values[1];
}

__attribute__((noinline)) long ten(reference a, reference b, long c, long d, long e, long f, long g,
                                   long h, long i, long j) {
  reference more = allocate(c + d);
  return a->values[0] + b->values[1] + more->values[2] + c + d + e + f + g + h + i + j;
}

/* Arguments are pushed for the call, so the frame is larger there. */
SMALL static long managed_pushed(long n) {
  reference a = allocate(n), b = allocate(n + 3);
  INSIDE inside = &b->values[n % 5];
  a->next = b;
  long got = ten(a, b, n, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10);
  return got + sum(a, b, inside);
}

/* The first branch precedes the frame. */
__attribute__((noinline)) static long managed_shrunk(long n) {
  if (n < 5)
    return n + 1;
  reference a = allocate(n), b = allocate(n + 4);
  a->next = b;
  return managed_leaf(n) + a->next->values[1];
}

/* Two ways out, whose ends are the same instructions. */
__attribute__((noinline)) static long managed_merged(long n) {
  reference a = allocate(n);
  if (n % 2 == 0) {
    reference b = allocate(n + 6);
    a->next = b;
    return managed_leaf(n) + a->next->values[2] + b->values[3];
  }
  long got = managed_shrunk(n);
  return got + managed_leaf(n + 1) + a->values[3];
}

#ifndef MANAGED /* the work of conventions.ll */
long managed_vector(reference a, reference b, long n) {
  reference c = allocate(n);
  return (n % 2 == 0 ? a : b)->values[0] + c->values[0];
}

static long many(reference a, long n, long j, reference b) {
  reference c = allocate(n);
  return a->values[0] + b->values[0] + c->values[0] + j;
}

long managed_conventions(reference a, long n) {
  reference b = allocate(n);
  reference c = allocate(n);
  long got = b->values[0] - c->values[0];
  got = many(b, n, many(a, n, got, b), a);
  return got + a->values[0] + b->values[0];
}
#endif

/* The size of the frame is unknown to LLVM. */
long managed_dynamic(long n) {
  char room[n % 64 + 1];
  char more = (char)n;
  reference a = allocate(n), b = allocate(n + 5);
  a->next = b;
  INSIDE inside = &b->values[n % 5];
  native_touch(room, &more);
  long got = n % 3 == 2 ? native_through(n / 2) : managed_leaf(n);
  got += managed_pushed(n) + managed_shrunk(n + 1) + managed_merged(n) + managed_merged(n + 1);
  got += managed_vector(a, b, n) + managed_conventions(b, n);
  return got + sum(a, b, inside) + room[0] + more;
}

/* Nor is it here; and the slots are addressed from neither the stack pointer nor the frame pointer. */
long managed_realigned(long n) {
  char room[n % 64 + 1];
  _Alignas(64) char aligned[64];
  reference a = allocate(n), b = allocate(n + 7);
  a->next = b;
  INSIDE inside = &b->values[n % 5];
  native_touch(room, aligned);
  long got = managed_dynamic(n + 1);
  return got + sum(a, b, inside) + room[0] + ((unsigned long)aligned % 64 == 0 ? aligned[0] : -1);
}

long managed_fiber(long n) {
  reference a = allocate(n), b = allocate(n + 9), c = allocate(n + 10);
  INSIDE inside = &c->values[n % 5];
  a->next = b;
  long got = 0;
  for (long i = 0; i < 3; i++)
    got = got * 31 + native_yield(i) + sum(a, b, inside);
  return got + c->values[2];
}
