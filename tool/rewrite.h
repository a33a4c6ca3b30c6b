/* rewrite.h - puts a packed table in the place of the raw section, and takes the freed pages out.
 */
#ifndef STACKPACK_REWRITE_H
#define STACKPACK_REWRITE_H

#include "image.h"

struct rewritten {
  uint8_t *bytes; /* free() */
  size_t size;
};

/* Whether this image can be rewritten; if not, the problem says why. */
bool rewrite_check(const struct image *image, const struct image_section *raw,
                   struct problem *problem);

/* The address at which a table of this size will stand. Needs rewrite_check. False where there is
 * no room for it. */
bool rewrite_table_address(const struct image *image, const struct image_section *raw,
                           size_t table_size, uint64_t *address, struct problem *problem);

/* Makes the new file. Needs rewrite_check, and a table for just that address. */
bool rewrite(const struct image *image, const struct image_section *raw, const uint8_t *table,
             size_t table_size, struct rewritten *rewritten, struct problem *problem);

#endif
