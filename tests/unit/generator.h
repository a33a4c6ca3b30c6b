/* generator.h - random stack maps, from a seed: every location kind, the extremes of every field,
 * and functions that lie in every way that a linker or a compiler leaves them in.
 */
#ifndef STACKPACK_TEST_GENERATOR_H
#define STACKPACK_TEST_GENERATOR_H

#include "model.h"

/* Fills an empty model with about `records` records; at least one. */
void generate(struct model *model, uint64_t seed, uint32_t records);

#endif
