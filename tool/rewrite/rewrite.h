/* rewrite.h - puts a packed table in the place of the raw section, and takes the freed pages out.
 */
#ifndef STACKPACK_REWRITE_H
#define STACKPACK_REWRITE_H

#include "tool/image/image.h"

struct rewritten {
  uint8_t *bytes; /* free() */
  size_t size;
};

/* Whether this image can be rewritten; if not, the problem says why. */
bool rewrite_check(const struct image *image, const struct image_section *raw,
                   struct problem *problem);

/* What the table takes the place of. */
struct rewrite_sections {
  const struct image_section *raw;
  const struct image_section *global_roots; /* cleared, with its relocations; NULL: none */
};

/* The address at which a table of this size will stand. Needs rewrite_check. False where there is
 * no room for it. */
bool rewrite_table_address(const struct image *image, const struct rewrite_sections *sections,
                           size_t table_size, uint64_t *address, struct problem *problem);

/* How large the new file will be with a table of this size. As above. */
bool rewrite_file_size(const struct image *image, const struct rewrite_sections *sections,
                       size_t table_size, uint64_t *size, struct problem *problem);

/* Makes the new file. Needs rewrite_check, and a table for just that address. */
bool rewrite(const struct image *image, const struct rewrite_sections *sections,
             const uint8_t *table, size_t table_size, struct rewritten *rewritten,
             struct problem *problem);

#endif
