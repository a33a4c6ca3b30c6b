/* input.h - a file's bytes, all read into memory. */
#ifndef STACKPACK_INPUT_H
#define STACKPACK_INPUT_H

#include "tool/image/problem.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct input {
  uint8_t *bytes;
  size_t size;
  struct stat status; /* when it was read */
};

/* Reads all of a regular file that isn't empty. On failure nothing is to be closed. */
bool input_open(struct input *input, const char *path, struct problem *problem);
void input_close(struct input *input);

#endif
