/* rewrite.h - puts a packed table in the place of the raw section, and removes the freed pages. */
#ifndef STACKPACK_REWRITE_H
#define STACKPACK_REWRITE_H

#include "tool/image/load.h"
#include "tool/rewrite/plan.h"

/* Whether this image, with raw stack maps, can be rewritten; false with the reason as a problem. */
bool rewrite_check(const struct image *image, const struct loaded *loaded, struct problem *problem);

/* Makes the new file in bytes[0..plan->file_size), which are zeros, with a table of the plan's size
 * that was encoded for the plan's address. Unless `keeps_old`, the bytes are from mmap, and the old
 * file's are moved there, so that the file is in memory once: the image lacks them then. */
void rewrite(const struct plan *plan, const uint8_t *table, uint8_t *bytes, bool keeps_old);

#endif
