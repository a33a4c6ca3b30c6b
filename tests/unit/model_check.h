/* model_check.h - packs a model, and compares every answer of a table with it.
 *
 * The way in is the same as in a real program: v3 bytes, read, sorted, packed, opened at another
 * address. The way out is the public API of stackpack.h, and nothing else. The first difference
 * fails the test.
 */
#ifndef STACKPACK_TEST_MODEL_CHECK_H
#define STACKPACK_TEST_MODEL_CHECK_H

#include "format/safepoints.h"
#include "model.h"

struct model_options {
  uint64_t section_address; /* the table's address at packing */
  uint64_t open_address;    /* its address at look-ups */
  bool compressed;          /* with Zstandard */
  unsigned around;          /* bytes before and after each address that are looked up, too */
  void (*tell_frames)(struct safepoints *table); /* the unwind tables' facts; or NULL */
  unsigned details_every; /* only each n-th record is asked for its details; 0 is 1 */
};

struct packed_model {
  uint8_t *bytes; /* owned: packed_model_free */
  size_t size;
  struct stackpack_table table;
};

/* Reads, sorts and packs a finished model, and opens the table. */
struct packed_model packed_model_open(const struct model *model,
                                      const struct model_options *options);
void packed_model_free(struct packed_model *packed);

/* Reads a finished model into an empty table of safepoints, with the ends of its functions. */
void model_read(const struct model *model, struct safepoints *table);

/* Asks a table for all of the model's addresses, and around. Its addresses are as far from the
 * model's as the options' two are from each other. */
void model_check_table(const struct model *model, const struct stackpack_table *table,
                       const struct model_options *options);

/* All of it: finishes the model, packs, asks, and frees the table. */
void model_check(struct model *model, const struct model_options *options);

/* ZSTD_compress and ZSTD_decompress, as packed_write and the runtime take them. */
size_t test_compress(void *destination, size_t capacity, const void *source, size_t size);

#endif
