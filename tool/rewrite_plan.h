/* rewrite_plan.h - where everything goes in the new file: decided before a byte is written. */
#ifndef STACKPACK_REWRITE_PLAN_H
#define STACKPACK_REWRITE_PLAN_H

#include "image.h"
#include "rewrite.h"

/* A range of the old file that gets another address: it stands where program headers must go. */
struct plan_move {
  uint64_t old_offset, old_address, size;
  uint64_t new_offset, new_address;
};

/* What is left of the dynamic relocations without those that apply to the raw section. */
struct plan_relocations {
  const struct image_section *rela, *relr; /* NULL: there are none to take out */
  uint64_t rela_size, relr_size;           /* new sizes in bytes */
  uint64_t relative_removed;               /* of those that DT_RELACOUNT counts */
  bool text_remains;                       /* others need DT_TEXTREL, or nothing was taken out */
};

enum { PLAN_MOVES_MAX = 16 };

struct plan {
  const struct image *image;
  const struct image_section *raw;
  size_t raw_index;                                /* of a section */
  size_t raw_segment, first_segment, last_segment; /* of PT_LOADs */
  uint64_t packed_size;                            /* note and table */
  uint64_t lead_max;                               /* how large a page in front may be */
  uint64_t lead;                                   /* bytes put before the old file */
  uint64_t cut_start, cut_end;                     /* old file offsets; equal if nothing is cut */
  uint64_t note_offset, note_address;              /* new; the table is behind the note */
  struct plan_move moves[PLAN_MOVES_MAX];
  size_t move_count;
  uint64_t extra_offset, extra_address, extra_size; /* a segment of its own at the end; or size 0 */
  uint64_t old_contents_end; /* of the old file, where only section headers follow */
  uint64_t contents_end;     /* of the new file: section names and headers follow */
  size_t new_segments;
  uint64_t spare; /* bytes behind the program headers that are made free, too */
  struct plan_relocations relocations;
};

bool plan_make(struct plan *plan, const struct image *image, const struct image_section *raw,
               size_t table_size, struct problem *problem);

/* Where a byte of the old file is in the new one; and a section, which may have been moved. */
uint64_t plan_new_offset(const struct plan *plan, uint64_t offset);
const struct plan_move *plan_move_of(const struct plan *plan, uint64_t offset, uint64_t size);

/* The end of the program headers in the old and in the new file. */
uint64_t plan_old_headers_end(const struct plan *plan);
uint64_t plan_new_headers_end(const struct plan *plan);

bool plan_fits_in_place(const struct plan *plan);
bool plan_cuts(const struct plan *plan);

/* Whether anything stands behind the cut in its segment: only then is there a second part. (One
 * without a section would come out of binutils' strip with no bytes and an offset that ld.so
 * refuses.) */
bool plan_splits(const struct plan *plan);

/* rewrite_relocations.c: finds what is to be taken out, and writes what is left. */
bool plan_relocations(struct plan *plan, struct problem *problem);
bool write_relocations(const struct plan *plan, uint8_t *bytes, struct problem *problem);
/* rewrite_dynamic.c: the dynamic section's entries for all that has changed. */
void write_dynamic(const struct plan *plan, uint8_t *bytes);

#endif
