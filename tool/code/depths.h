/* depths.h - frames of functions that have no unwind table: their sizes, from the code. */
#ifndef STACKPACK_DEPTHS_H
#define STACKPACK_DEPTHS_H

#include "elf/entries.h"
#include "format/safepoints.h"

/* Tells the records of a finished table how large their frames are, where unwind tables don't and
 * it follows from the code. False without memory. */
bool depths_tell_frames(struct safepoints *table, const struct code *code);

#endif
