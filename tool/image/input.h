/* input.h - the bytes of a file that is to be read. */
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

/* Whether a file is as it was then. */
static inline bool input_is_unchanged(const struct stat *before, const struct stat *now) {
  return now->st_dev == before->st_dev && now->st_ino == before->st_ino &&
         now->st_size == before->st_size && now->st_mtim.tv_sec == before->st_mtim.tv_sec &&
         now->st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* Reads a regular file that isn't empty. (A mapped one would end the command with SIGBUS where somebody
 * truncates it.) On failure nothing is to be closed. */
bool input_open(struct input *input, const char *path, struct problem *problem);
void input_close(struct input *input);

#endif
