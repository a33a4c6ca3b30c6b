/* merged.h - stack maps that a linker script has put among other data. */
#ifndef STACKPACK_MERGED_H
#define STACKPACK_MERGED_H

#include "tool/image/image.h"

/* Finds stack maps among other data, in the section of that name, or in any if it is NULL; and
 * makes them sections of the image named RAW_SECTION, so that later steps find them as if the
 * linker had left them so. An image without any stays unchanged. */
bool merged_separate(struct image *image, const char *section, struct problem *problem);

#endif
