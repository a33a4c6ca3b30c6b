/* code_frames.h - derives frames from the code, for functions that lack an unwind table. */
#ifndef STACKPACK_CODE_FRAMES_H
#define STACKPACK_CODE_FRAMES_H

#include "elf/map_entries.h"
#include "format/safepoints.h"

/* Adds to the records of a finished table the ends of their frames, and the places of the callers'
 * registers, where unwind tables lack them and the code proves them. `may_have_short_calls` is the
 * file's: see image.h. */
void code_frames_add(struct safepoints *table, const struct code *code, bool may_have_short_calls);

#endif
