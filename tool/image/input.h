/* input.h - a file's bytes, all read into memory. */
#ifndef STACKPACK_INPUT_H
#define STACKPACK_INPUT_H

#include "tool/image/problem.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Bytes that aren't in a hole. */
struct input_data {
  size_t from, to;
};

struct input {
  uint8_t *bytes; /* those in holes are zeros, and take no memory until they are written to */
  size_t size;
  struct input_data *data; /* by their places; owned */
  size_t data_count, data_capacity;
  struct stat status; /* when it was read */
};

/* Reads all of a regular file that isn't empty. On failure nothing is to be closed. */
bool input_open(struct input *input, const char *path, struct problem *problem);
/* Copies bytes [from, from + size) to memory that is all zeros; of holes nothing is touched. */
void input_copy(const struct input *input, uint8_t *zeros, size_t from, size_t size);
void input_close(struct input *input);

#endif
