/* record_source.h - where records are in the source, to be printed: by debug information; where
 * that is gone, by the positions in the packed table. */
#ifndef STACKPACK_RECORD_SOURCE_H
#define STACKPACK_RECORD_SOURCE_H

#include "tool/image/load.h"
#include "tool/image/names.h"
#include "tool/print/record_view.h"
#include "tool/source/source.h"

struct record_source {
  const struct names *names;
  bool is_wanted;
  struct source *source; /* NULL: unwanted, or absent */
  /* The caller's: the records that will be found, by safepoints_instruction, in that order. So many
   * questions are asked at once. */
  const uint64_t *addresses;
  size_t address_count;
  size_t batch;
  const struct source_frames *answers; /* to the last ones that were asked for */
  size_t answer_count;
  struct source_frame items[SOURCE_FRAMES_MOST];
};

/* Opens a program's source, if it is wanted. Says so where there is none. False, and a problem, if
 * there is some that can't be used; positions in the table can be found all the same. The caller
 * closes the source. */
bool record_source_open(struct record_source *record_source, const struct source_options *options,
                        const struct program *program, const struct names *names,
                        struct problem *problem);

/* Finds the frames of a record. They last until the next ones are found. */
void record_source_find(struct record_source *record_source, const struct record_view *view,
                        struct source_frames *frames);

#endif
