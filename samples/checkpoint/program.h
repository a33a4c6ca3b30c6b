/* program.h - the compiled code, and its variables in a checkpoint. */
#ifndef CHECKPOINT_PROGRAM_H
#define CHECKPOINT_PROGRAM_H

#include <stdint.h>

enum { WORDS = 16, SUMS = 4 };

/* In the order of the stack maps' locations. The last one, of `sums`, is the address of an object. */
struct variables {
  uint64_t program; /* PROGRAM: the owner of these variables */
  uint64_t place;   /* the checkpoint in the code: resumes there */
  uint64_t turn, turns, carry;
  uint64_t words[WORDS];
  uint64_t sums[SUMS];
};

#define PROGRAM 0x636865636b706f31u
enum { COLUMNS, DIAGONALS, PLACES };

/* Runs from these variables to the end, and returns the result. */
uint64_t run(const struct variables *start);

/* Native: counts the turns. */
void count_turn(uint64_t turn);

#endif
