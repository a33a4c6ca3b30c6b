/* plan.h - where everything goes in the new file: decided before a byte is written. */
#ifndef STACKPACK_REWRITE_PLAN_H
#define STACKPACK_REWRITE_PLAN_H

#include "tool/image/load.h"

#include <assert.h>

static inline uint64_t round_up(uint64_t n, uint64_t step) {
  assert(step > 0);
  return (n + step - 1) / step * step;
}

/* A range of the old file that gets another address: it is in the place of new program headers. */
struct plan_move {
  uint64_t old_offset, old_address, size;
  uint64_t new_offset, new_address;
};

/* Bytes [offset, end) of the old file that are free for other use. */
struct plan_room {
  uint64_t offset, end;
  const Elf64_Phdr *segment; /* the PT_LOAD that has them; NULL: the extra segment */
};

/* The dynamic relocations, when the taken sections' are removed. */
struct plan_relocations {
  const struct image_section *rela, *relr; /* NULL: it stays */
  uint64_t rela_removed;                   /* in bytes */
  uint64_t relr_size;                      /* the new one, in bytes */
  bool rela_shrinks;                       /* else removed entries become ones without effect */
  uint64_t relative_removed;               /* of DT_RELACOUNT */
  bool text_remains;                       /* others need DT_TEXTREL, or all entries stay */
  struct plan_room room; /* the rest of the table; empty where something may read that */
};

/* Pages of the old file that the new one lacks; none, if only a segment's end is unused. */
struct plan_cut {
  uint64_t start, end;
  uint64_t used; /* the end of what is before the cut in its segment */
  const Elf64_Phdr *segment;
  bool splits; /* more of the segment follows: that becomes a segment of its own */
};

/* The names of the new sections, one after another. ".stackpack" is the end of the first. */
static const char plan_section_names[] = ".note.stackpack\0.stackpack.head";
enum { PLAN_NOTE_NAME_SIZE = 16, PLAN_TABLE_NAME_AT = 5 };

enum {
  PLAN_MOVES_MAX = 16,
  PLAN_MOVE_ALIGNMENT = 8,
  PLAN_CUTS_MAX = 3,
  /* The note, the extra one, the table's own, and those after cuts. */
  PLAN_NEW_SEGMENTS_MAX = 3 + PLAN_CUTS_MAX,
};

struct plan {
  const struct image *image;
  /* The table takes the place of these sections. The roots are cleared, with their relocations;
   * NULL: there are none. */
  const struct image_section *raw, *global_roots;
  const Elf64_Phdr *first, *last;      /* PT_LOADs, by their addresses */
  const Elf64_Phdr *home;              /* the raw section's PT_LOAD */
  uint64_t alignment;                  /* the largest of PT_LOADs: the file is loaded by it */
  uint64_t packed_size;                /* note and table */
  uint64_t lead;                       /* bytes put before the old file */
  struct plan_cut cuts[PLAN_CUTS_MAX]; /* in their order */
  size_t cut_count;
  bool apart;     /* the table has a read-only segment in the raw section's pages */
  uint64_t shift; /* how far above the raw section it then is: data shares that one's first page */
  uint64_t note_offset, note_address; /* new; the table follows the note */
  struct plan_move moves[PLAN_MOVES_MAX];
  size_t move_count;
  uint64_t moves_end; /* where the bytes end that the moves leave */
  uint64_t spare;     /* bytes after the program headers that are made free, too */
  /* In the new file, bytes after the program headers that get a section; empty: none do. */
  uint64_t head_start, head_end;
  /* A segment more: where it would start in the old file, and where it is in the new one. */
  uint64_t extra_place, extra_offset, extra_address;
  uint64_t extra_size;       /* 0: there is none */
  uint64_t old_contents_end; /* of the old file, where only section headers follow */
  uint64_t contents_end;     /* of the new file: section names and headers follow */
  uint64_t names_at;         /* where a new table of section names goes; 0: the old one is used */
  uint64_t headers_at;       /* where the section headers go */
  size_t section_count, new_segments;
  uint64_t appended;  /* bytes that follow all that: they are the last of both files */
  uint64_t file_size; /* of the new file */
  struct plan_relocations relocations;
  struct problem cramped; /* why fewer pages are cut: the headers lack room */
};

/* Makes the plan for a table of that size. The image must be one that rewrite_check takes. False if
 * there is no room. */
bool plan_make(struct plan *plan, const struct image *image, const struct loaded *loaded,
               size_t table_size, struct problem *problem);

/* The number of a section. */
static inline size_t plan_number(const struct plan *plan, const struct image_section *section) {
  const size_t number = (size_t)(section - plan->image->sections);
  assert(number < plan->image->section_count);
  return number;
}

/* Where a byte of the old file is in the new one. */
static inline uint64_t plan_new_offset(const struct plan *plan, uint64_t offset) {
  uint64_t gone = 0;
  for (const struct plan_cut *cut = plan->cuts; cut < plan->cuts + plan->cut_count; cut++)
    if (offset > cut->start)
      gone += (offset < cut->end ? offset : cut->end) - cut->start;
  return plan->lead + offset - gone;
}

/* How many bytes of a range are left there. */
static inline uint64_t plan_left(const struct plan *plan, uint64_t offset, uint64_t size) {
  return plan_new_offset(plan, offset + size) - plan_new_offset(plan, offset);
}

/* The first cut of a segment at or after an offset; NULL if there is none. */
static inline const struct plan_cut *plan_next_cut(const struct plan *plan,
                                                   const Elf64_Phdr *segment, uint64_t offset) {
  for (const struct plan_cut *cut = plan->cuts; cut < plan->cuts + plan->cut_count; cut++)
    if (cut->segment == segment && cut->start >= offset)
      return cut;
  return NULL;
}

/* The move that a range is part of; NULL if it stays. */
const struct plan_move *plan_move_of(const struct plan *plan, uint64_t offset, uint64_t size);

/* The end of the program headers in the old and in the new file. */
uint64_t plan_old_headers_end(const struct plan *plan);
uint64_t plan_new_headers_end(const struct plan *plan);

/* Whether note and table fit into the raw section. */
bool plan_fits_in_place(const struct plan *plan);

/* moves.c: whether the new program headers fit without a move; finds the moves that make room for
 * them, false if a section can't move; and whether a move is of notes or .interp. */
bool plan_has_room(const struct plan *plan);
bool plan_find_moves(struct plan *plan, struct problem *problem);
bool plan_stays_near(const struct plan *plan, const struct plan_move *move);

/* relocations.c: finds the relocations to be taken out, and writes the others. */
bool plan_relocations(struct plan *plan, struct problem *problem);
void write_relocations(const struct plan *plan, uint8_t *bytes);
/* headers.c: writes the program headers; makes the section headers, an array to be freed; copies
 * the old names of sections, if they get another place; and writes the new ones and the headers. */
void write_segments(const struct plan *plan, uint8_t *bytes);
Elf64_Shdr *plan_section_headers(const struct plan *plan);
void copy_names(const struct plan *plan, uint8_t *bytes);
void write_tail(const struct plan *plan, const Elf64_Shdr *headers, uint8_t *bytes);
/* dynamic.c: the value of a dynamic entry; false if there are none or several. And writes the
 * dynamic section's entries for all that has changed. */
bool plan_dynamic(const struct image *image, Elf64_Sxword tag, uint64_t *value);
void write_dynamic(const struct plan *plan, uint8_t *bytes);

#endif
