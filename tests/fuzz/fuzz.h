/* fuzz.h - shared declarations of the fuzz targets.
 *
 * A target is handed bytes by libFuzzer and gives them to one reader. A finding is any report of a
 * sanitizer, an input that takes too long or too much memory, and a call of finding(): a broken
 * promise of a header.
 */
#ifndef STACKPACK_FUZZ_H
#define STACKPACK_FUZZ_H

#include "format/packed_write.h"
#include "runtime/stackpack.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* Of libFuzzer itself. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Prints the broken promise, and aborts. */
_Noreturn void finding(const char *promise, const char *detail);

/* A block of `size` bytes, 8-aligned, with unreadable memory after it: the first bytes[0..copied)
 * are those given, the rest is zero. free() */
uint8_t *exact_block(const uint8_t *bytes, size_t copied, size_t size);

/* ZSTD_compress with the signature that the library wants. */
size_t compress_block(void *destination, size_t capacity, const void *source, size_t size);

/* Makes the header of a packed table one that is accepted, if its counts can be. Returns the table's
 * size, or 0 where it would be above `most`. Global roots, if there are any, have the rest of
 * `size`. */
size_t repair_header(uint8_t *header_bytes, size_t size, size_t most);

/* A small number from a seed; the seed moves on. */
uint32_t next_random(uint64_t *seed);

/* The same, below a limit that is above 0. */
uint32_t random_below(uint64_t *seed, uint32_t limit);

/* Overwrites the little-endian number of `width` bytes at a place by one that readers stumble over:
 * a limit of its type, a neighbour, a power of two, or `hint` and its neighbours. */
void mutate_number(uint8_t *bytes, unsigned width, uint64_t hint, uint64_t *seed);

/* ---- walk.c ---------------------------------------------------------------------------------- */

/* Asks a table everything that the public header offers. Returns false where it left out records,
 * as there are too many, or they have too many pairs. */
bool walk_table(const struct stackpack_table *table);

/* ---- round_trip.c ---------------------------------------------------------------------------- */

/* Reads bytes as LLVM's stack maps, packs them, and reads them again: both must say the same.
 * Returns false where the bytes are unreadable. */
bool check_round_trip(const uint8_t *bytes, size_t size, enum statepoint_rule rule);

#endif
