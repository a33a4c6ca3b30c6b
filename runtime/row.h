/* row.h - a live set as caches and walks use it: pairs of places, each of which a byte tells.
 *
 * In nearly all frames the references are in words of the stack that are near each other, and a few
 * in registers. So a place is either a slot, which is so many words after the first one, or a
 * register. Live sets with other locations (constants, vectors, slots by several registers), or
 * with slots far from each other, aren't rows: they are read from the table, one location at a
 * time.
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
  int16_t first; /* of the first slot, from what the register `reg` holds: an offset in words */
  uint8_t reg;
  uint8_t slots;     /* one more than the last one's number */
  uint8_t count;     /* of pairs */
  bool is_plain : 1; /* both places of each pair are equal, and above that of the pair before */
  bool has_registers : 1;
};

/* How a live set is updated whose places are all within 64 words at the stack pointer: bit n is for
 * place n. Of a pair of two places, of which the derived one is no base, the distance moves along;
 * all else that is said of a live set is in one mask. */
enum { ROW_NEAR = 64, ROW_NOT_NEAR = UINT8_MAX /* as a count */ };

struct row_moves {
  uint64_t bases;
  int32_t value;     /* of place 0: bytes from the stack pointer on */
  uint8_t low, high; /* the lowest and the highest place in use; low > high: there is none */
  uint8_t count;     /* of derived places, each with its base: the pairs that go with this */
};

enum { ROW_MOVES_ROOM = ROW_NEAR + 1 };

struct row {
  struct row_head head;
  struct row_pair pairs[ROW_PAIRS + ROW_MOVES_ROOM]; /* in the order of the table; then moves */
};

/* Reads how a record's live set is updated, straight from the masks of its groups. `pairs` has room
 * for ROW_MOVES_ROOM. False: its places aren't so near each other, or it isn't readable. */
bool row_read_moves(struct row_moves *moves, struct row_pair *pairs,
                    const struct packed_record *record);

/* Reads a record's live set. False: it isn't a row. */
bool row_read(struct row *row, const struct packed_record *record);

/* How many bytes a row of so many pairs takes. */
static inline size_t row_size(unsigned pairs) {
  return offsetof(struct row, pairs) + pairs * sizeof(struct row_pair);
}

/* The location that a place stands for. */
static inline struct stackpack_location row_location(struct row_head head, unsigned place) {
  if (place >= ROW_SLOTS)
    return (struct stackpack_location){STACKPACK_REGISTER, ROW_WORD, (uint16_t)(place - ROW_SLOTS),
                                       0};
  return (struct stackpack_location){STACKPACK_INDIRECT, ROW_WORD, head.reg,
                                     ((int64_t)head.first + place) * ROW_WORD};
}

#endif
