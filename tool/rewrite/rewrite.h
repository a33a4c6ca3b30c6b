/* rewrite.h - puts a packed table in the place of the raw section, and removes the freed pages. */
#ifndef STACKPACK_REWRITE_H
#define STACKPACK_REWRITE_H

#include "tool/rewrite/plan.h"

/* Whether this image can be rewritten; false with the reason as a problem. */
bool rewrite_check(const struct image *image, const struct image_section *raw,
                   struct problem *problem);

/* Makes the new file, with a table of the plan's size that was encoded for the plan's address:
 * plan->file_size bytes, to be freed. */
uint8_t *rewrite(const struct plan *plan, const uint8_t *table);

#endif
