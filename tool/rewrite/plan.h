/* plan.h - where everything goes in the new file: decided before a byte is written. */
#ifndef STACKPACK_REWRITE_PLAN_H
#define STACKPACK_REWRITE_PLAN_H

#include "tool/image/image.h"
#include "tool/rewrite/rewrite.h"

static inline uint64_t round_up(uint64_t n, uint64_t step) { return (n + step - 1) / step * step; }

/* A range of the old file that gets another address: it stands where program headers must go. */
struct plan_move {
  uint64_t old_offset, old_address, size;
  uint64_t new_offset, new_address;
};

/* What is left of the dynamic relocations without those that apply to what is taken out. */
struct plan_relocations {
  const struct image_section *rela, *relr; /* NULL: there are none to take out */
  uint64_t rela_size, relr_size;           /* new sizes in bytes */
  bool rela_shrinks;         /* else the entries that are taken out become ones that do nothing */
  uint64_t rela_before;      /* bytes of the table that ld.so reads, before that section */
  uint64_t relative_removed; /* of those that DT_RELACOUNT counts */
  bool text_remains;         /* others need DT_TEXTREL, or nothing was taken out */
};

/* A range of the old file that is free for other use. */
struct plan_room {
  uint64_t offset, address, end; /* end: an offset */
  size_t segment;                /* its PT_LOAD */
  uint64_t page;                 /* the unit in which it can be cut out of the file; 0: it can't */
};

/* Pages of the old file, by their offsets, that the new one doesn't have. */
struct plan_cut {
  uint64_t start, end;
  size_t segment;
  bool splits; /* something stands behind it in its segment: that becomes a segment of its own */
};

enum {
  PLAN_MOVES_MAX = 16,
  PLAN_CUTS_MAX = 3,
  PLAN_NEW_SEGMENTS_MAX = 2 + PLAN_CUTS_MAX, /* the note, the extra one, and those behind cuts */
};

struct plan {
  const struct image *image;
  const struct image_section *raw;
  const struct image_section *global_roots; /* NULL: none are taken out */
  size_t raw_index;                         /* of a section */
  size_t first_segment, last_segment;       /* of PT_LOADs */
  uint64_t packed_size;                     /* note and table */
  uint64_t lead_max;                        /* how large a page in front may be */
  uint64_t lead;                            /* bytes put before the old file */
  struct plan_cut cuts[PLAN_CUTS_MAX];      /* in their order */
  size_t cut_count;
  enum { CUT_NOTHING, CUT_RAW, CUT_ALL } cutting; /* which pages may be cut: see plan.c */
  uint64_t note_offset, note_address;             /* new; the table is behind the note */
  struct plan_move moves[PLAN_MOVES_MAX];
  size_t move_count;
  uint64_t extra_offset, extra_address, extra_size; /* a segment of its own at the end; or size 0 */
  uint64_t old_contents_end; /* of the old file, where only section headers follow */
  uint64_t contents_end;     /* of the new file: section names and headers follow */
  uint64_t appended;         /* bytes behind all that: they are the last of both files */
  size_t new_segments;
  uint64_t spare; /* bytes behind the program headers that are made free, too */
  bool has_near;  /* there stands what stays near the headers */
  struct plan_relocations relocations;
};

bool plan_make(struct plan *plan, const struct image *image,
               const struct rewrite_sections *sections, size_t table_size, struct problem *problem);

/* Where a byte of the old file is in the new one (cuts.c); how many bytes of a range are
 * left there; and where a section is that may have been moved. */
uint64_t plan_new_offset(const struct plan *plan, uint64_t offset);
uint64_t plan_left(const struct plan *plan, uint64_t offset, uint64_t size);
const struct plan_move *plan_move_of(const struct plan *plan, uint64_t offset, uint64_t size);

/* The end of the program headers in the old and in the new file. */
uint64_t plan_old_headers_end(const struct plan *plan);
uint64_t plan_new_headers_end(const struct plan *plan);

bool plan_fits_in_place(const struct plan *plan);

/* How many bytes of a room, in whole pages, can be cut. */
uint64_t plan_room_pages(const struct plan_room *room);

/* cuts.c: whether pages of the raw section, of its relocations, or of the first segment's
 * part from one offset to another can be cut out, if nothing is left there. */
bool plan_can_cut_raw(const struct plan *plan);
bool plan_can_cut_relocations(const struct plan *plan);
bool plan_can_cut_first(const struct plan *plan, uint64_t start, uint64_t end);

/* Cuts out what a room has of whole pages. Then, when all cuts are known: takes back those that
 * would leave a segment without a section, and finds which of them split their segment. (A segment
 * without a section would come out of binutils' strip with no bytes and an offset that ld.so
 * refuses.) */
void plan_cut(struct plan *plan, const struct plan_room *room);
void plan_split(struct plan *plan);
size_t plan_splits(const struct plan *plan);

/* The first cut of a segment from an offset on; NULL if there is none. */
const struct plan_cut *plan_next_cut(const struct plan *plan, size_t segment, uint64_t offset);

/* relocations.c: finds what is to be taken out, and writes what is left. */
bool plan_relocations(struct plan *plan, struct problem *problem);
void write_relocations(const struct plan *plan, uint8_t *bytes);
/* dynamic.c: the value of a dynamic entry; false if there isn't just one. And writes the dynamic
 * section's entries for all that has changed. */
bool plan_dynamic(const struct image *image, Elf64_Sxword tag, uint64_t *value);
void write_dynamic(const struct plan *plan, uint8_t *bytes);

#endif
