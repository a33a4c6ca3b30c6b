/* compare_frames.h - compares the facts of frames with another unwinder's. */
#ifndef STACKPACK_COMPARE_FRAMES_H
#define STACKPACK_COMPARE_FRAMES_H

#include "tool/check/compare.h"
#include "tool/image/image.h"

/* Asks libdw for the frame at each record's address, and compares its answer, from the image's
 * unwind tables, with the table's facts. False, and a problem, where libdw had too little memory or
 * time. */
bool compare_frames(const struct image *image, const struct safepoints *table,
                    struct differences *differences, struct problem *problem);

#endif
