/* packed_rows.h - the live sets of one layout, and their shortest form: for packed_layouts.c. */
#ifndef STACKPACK_PACKED_ROWS_H
#define STACKPACK_PACKED_ROWS_H

#include "format/bits.h"

/* A row is as many strings of bits as its largest state needs: first the lowest bits of all states,
 * then the next ones. So rows are compared 64 states at a time. */
struct packed_rows {
  uint64_t count, length;  /* how many rows there are, and how many states in each */
  uint64_t words, strings; /* of 64 bits in a string, and strings in a row */
  uint64_t width;          /* of a row as it is written, in bits */
  uint64_t *bits;          /* row after row */
  uint64_t *many;          /* a bit for each place in a row with states above 1 */
  uint8_t *more;           /* by place: the bits of a state beyond the lowest */
  uint8_t *depth;          /* by row, in a tree */
  uint64_t bits_capacity, length_capacity, count_capacity;
  bool has_many, failed, quick; /* quick: bits_processor_is_quick */
};

/* Rows that are all zeros are empty ones. Afterwards packed_rows_states for each place that has
 * states above 1, then packed_rows_fill. */
bool packed_rows_start(struct packed_rows *rows, uint64_t length);
void packed_rows_states(struct packed_rows *rows, uint64_t place, uint64_t states);
/* Makes `count` rows, in which all states are 0. False without memory. */
bool packed_rows_fill(struct packed_rows *rows, uint64_t count);
void packed_rows_free(struct packed_rows *rows);

/* Puts a state above 0 where there is 0. */
static inline void packed_rows_put(struct packed_rows *rows, uint64_t row, uint64_t place,
                                   uint64_t state) {
  uint64_t *word = rows->bits + row * rows->words * rows->strings + place / 64;
  for (; state != 0; state >>= 1, word += rows->words)
    *word |= (state & 1) << place % 64;
}

/* Writes two rows or more, and in which form. Afterwards rows->failed: there is no memory. */
void packed_rows_write(struct packed_rows *rows, struct bit_writer *bits);

#endif
