/* row.h - a live set as caches and walks use it: pairs of places, each a byte.
 *
 * In nearly all frames the references are in words of the stack that are near each other, and a few
 * in registers. So a place is either a slot, as a number of words after the first one, or a
 * register. Live sets with other locations (constants, vectors, slots by several registers), or
 * with slots far from each other, are left to the table, and read from it one location at a time.
 */
#ifndef STACKPACK_ROW_H
#define STACKPACK_ROW_H

#include "runtime/internal.h"

enum {
  ROW_WORD = sizeof(uint64_t), /* bytes of a slot */
  ROW_PLACES = 256,
  ROW_SLOTS = 224, /* places from here on are registers, by number */
  ROW_PAIRS = 254,
};

struct row_pair {
  uint8_t base, derived;
};

struct row_head {
  int16_t first; /* of the first slot, from the register `reg`: an offset in words */
  uint8_t reg;
  uint8_t slots; /* one more than the last one's number */
  uint8_t count; /* of pairs */
  bool
      is_plain : 1; /* both places of each pair are equal, and above the place of the pair before */
  bool has_registers : 1;
};

/* The update of a live set whose places are all within 128 words at the stack pointer: bit n is for
 * place n. One mask has the bases. A pair is listed only if its derived place differs from its base
 * and is no base itself: its distance moves along. */
enum {
  ROW_NEAR_WORDS = 2,
  ROW_NEAR = 64 * ROW_NEAR_WORDS,
  ROW_NOT_NEAR = UINT8_MAX /* as a count */
};

struct row_moves {
  uint64_t bases[ROW_NEAR_WORDS];
  int32_t value;     /* of place 0: bytes from the stack pointer on */
  uint8_t low, high; /* the lowest and the highest place in use; low > high: none */
  uint8_t count;     /* of the pairs listed with this: derived places, each with its base */
};

enum { ROW_MOVES_ROOM = ROW_NEAR + 1 };

struct row {
  struct row_head head;
  struct row_pair pairs[ROW_PAIRS + ROW_MOVES_ROOM]; /* in the order of the table; then moves */
};

/* Reads the update of a record's live set, straight from the masks of its groups. `pairs` has room
 * for ROW_MOVES_ROOM. False: its places are too far apart, or it is unreadable. */
bool row_read_moves(struct row_moves *moves, struct row_pair *pairs,
                    const struct packed_record *record);

/* Reads a record's live set. False: it is no row. */
bool row_read(struct row *row, const struct packed_record *record);

/* The bytes of a row of so many pairs. */
static inline size_t row_size(unsigned pairs) {
  return offsetof(struct row, pairs) + pairs * sizeof(struct row_pair);
}

/* A place's location. */
static inline struct stackpack_location row_location(struct row_head head, unsigned place) {
  if (place >= ROW_SLOTS)
    return (struct stackpack_location){STACKPACK_REGISTER, ROW_WORD, (uint16_t)(place - ROW_SLOTS),
                                       0};
  return (struct stackpack_location){STACKPACK_INDIRECT, ROW_WORD, head.reg,
                                     ((int64_t)head.first + place) * ROW_WORD};
}

#endif
