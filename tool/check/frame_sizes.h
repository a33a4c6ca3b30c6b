/* frame_sizes.h - where the stack is deeper than the stack maps' frame sizes say. */
#ifndef STACKPACK_DEPTH_H
#define STACKPACK_DEPTH_H

#include "format/safepoints.h"
#include "tool/image/image.h"

/* The statepoints where a frame's size isn't what its function's record says. */
struct depth_differences {
  uint32_t count;
  uint64_t first;         /* return address */
  const char *first_name; /* of its function, in the image; NULL if it has none */
};

/* Counts them. False without memory. */
bool depth_compare(const struct image *image, const struct safepoints *table,
                   struct depth_differences *found, struct problem *problem);

#endif
