/* output.h - replaces files by new bytes: all of them, or nothing happens. */
#ifndef STACKPACK_OUTPUT_H
#define STACKPACK_OUTPUT_H

#include "tool/image/problem.h"

#include <stddef.h>
#include <stdint.h>

/* bytes[0..size) for the file `path`, which gets the mode, and as far as allowed the owner, of the
 * file `like` (which may be the same one); one that is data, and no program, gets no right to be
 * executed. */
struct new_file {
  const char *path, *like;
  bool is_data;
  const uint8_t *bytes;
  size_t size;
};

enum { OUTPUT_FILES_MAX = 2 };

/* Writes files. Each is made under another name beside it; when all are complete, they are renamed,
 * in their order: whatever happens, each path is the old file or the new one, whole, and if one
 * can't be replaced, all are the old ones. A symbolic link is followed. */
bool output_replace(const struct new_file *files, size_t count, struct problem *problem);

/* Whether two paths lead to the same file, be it there yet or not. */
bool output_same(const char *a, const char *b);

#endif
