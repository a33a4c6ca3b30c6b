/* program.c - compiled code: turns of a generator of random numbers (ChaCha's, with words of 64 bits).
 *
 * A frontend calls the intrinsic in its IR; in C, a function with the intrinsic's assembler name
 * does it. Each CHECKPOINT adds a record that lists the variables, and no code.
 */
#include "program.h"

/* The shadow: this many bytes of code, free of jump targets and other records, can hold a trap. */
enum { ID = 1, SHADOW = 4 };
void stackmap(uint64_t id, uint32_t shadow, ...) __asm__("llvm.experimental.stackmap");

#define LIST_OF_WORDS(w)                                                                           \
  w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14],   \
      w[15]
#define CHECKPOINT(place)                                                                          \
  stackmap(ID, SHADOW, (uint64_t)PROGRAM, place, turn, turns, carry, LIST_OF_WORDS(w), sums)

static uint64_t rotate(uint64_t word, unsigned count) {
  return word << count | word >> (64 - count);
}

/* Inlined: with constant indices, each word is a variable of its own. */
__attribute__((always_inline)) static inline void mix(uint64_t *w, int a, int b, int c, int d) {
  w[a] += w[b];
  w[d] = rotate(w[d] ^ w[a], 32);
  w[c] += w[d];
  w[b] = rotate(w[b] ^ w[c], 24);
}

uint64_t run(const struct variables *start) {
  const uint64_t turns = start->turns;
  uint64_t w[WORDS], sums[SUMS], place = start->place, result = 0;
  uint16_t carry = (uint16_t)start->carry;
  for (int i = 0; i < WORDS; i++)
    w[i] = start->words[i];
  for (int i = 0; i < SUMS; i++)
    sums[i] = start->sums[i];
  for (uint64_t turn = start->turn; turn < turns; turn++) {
    if (place == COLUMNS) {
      CHECKPOINT(COLUMNS);
      mix(w, 0, 4, 8, 12);
      mix(w, 1, 5, 9, 13);
      mix(w, 2, 6, 10, 14);
      mix(w, 3, 7, 11, 15);
      sums[turn % SUMS] += w[0] ^ carry;
    }
    CHECKPOINT(DIAGONALS);
    place = COLUMNS; /* in the next turn */
    count_turn(turn);
    mix(w, 0, 5, 10, 15);
    mix(w, 1, 6, 11, 12);
    mix(w, 2, 7, 8, 13);
    mix(w, 3, 4, 9, 14);
    carry += (uint16_t)w[1];
  }
  for (int i = 0; i < WORDS; i++)
    result = rotate(result, 7) ^ w[i] ^ sums[i % SUMS];
  return result + carry;
}
