/* output.h - replaces a file by new bytes: all of them, or nothing happens. */
#ifndef STACKPACK_OUTPUT_H
#define STACKPACK_OUTPUT_H

#include "report.h"

#include <stddef.h>
#include <stdint.h>

/* Writes bytes[0..size) to `path` with the mode, and as far as allowed the owner, of the file
 * `like` (which may be the same one). The new file is made under another name beside it, and then
 * renamed: whatever happens, `path` is the old file or the new one, whole. A symbolic link is
 * followed. */
bool output_replace(const char *path, const char *like, const uint8_t *bytes, size_t size,
                    struct problem *problem);

#endif
