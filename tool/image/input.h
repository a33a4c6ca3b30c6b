/* input.h - a file's bytes, all read into memory. */
#ifndef STACKPACK_INPUT_H
#define STACKPACK_INPUT_H

#include "format/code_ranges.h"
#include "tool/image/problem.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct input {
  uint8_t *bytes; /* those in holes are zeros, and take up memory only when they are written to */
  size_t size;
  struct code_ranges data; /* outside holes, by their places; owned */
  struct stat status;      /* when it was read */
};

/* Reads all of a regular file; an empty one is refused. A failure leaves nothing to be closed. */
bool input_open(struct input *input, const char *path, struct problem *problem);
/* Moves bytes [from, from + size) to memory from mmap that is all zeros; skips holes. Those before
 * `kept` stay, too; a later read of the others ends the program. */
void input_move(const struct input *input, uint8_t *zeros, size_t from, size_t size, size_t kept);
void input_close(struct input *input);

#endif
