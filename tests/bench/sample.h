/* sample.h - a real program's stack maps, the source of larger ones.
 *
 * How much a program's records can be packed depends on how they repeat: how many functions share
 * their layout (frame size and live sets in order) with another one, how many live sets a function
 * has, how far apart return addresses are. A generator that draws each of these by itself makes
 * tables that pack unlike any program's. So functions are drawn whole, and varied: see generate.c.
 */
#ifndef STACKPACK_BENCH_SAMPLE_H
#define STACKPACK_BENCH_SAMPLE_H

#include "tool/image/load.h"

struct sample_function {
  uint32_t function; /* in the table */
  uint32_t layout;   /* its number: equal for functions with equal layouts */
  uint64_t extent;   /* of its code in bytes */
  uint64_t distance; /* from its start to the next function's */
  bool shared;       /* another function has the same layout */
};

struct sample {
  struct program program;
  struct sample_function *functions; /* the ones that have records */
  uint32_t function_count;
  uint32_t functions_per_map; /* on average */
};

/* Reads a program; false, and a problem, if it has no records. */
bool sample_open(struct sample *sample, const char *path, struct problem *problem);
void sample_close(struct sample *sample);

#endif
