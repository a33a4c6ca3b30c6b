/* code_frames.h - frames of functions that have no unwind table, from the code. */
#ifndef STACKPACK_CODE_FRAMES_H
#define STACKPACK_CODE_FRAMES_H

#include "elf/entries.h"
#include "format/safepoints.h"

/* Tells the records of a finished table where their frames end, and where the callers' registers
 * are, where unwind tables don't and it follows from the code. False without memory. */
bool code_frames_tell(struct safepoints *table, const struct code *code);

#endif
