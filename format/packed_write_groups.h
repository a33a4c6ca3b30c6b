/* packed_write_groups.h - a step of packed_write_layouts.c: cuts a layout's slots into groups, and writes
 * each of them. */
#ifndef STACKPACK_PACKED_WRITE_GROUPS_H
#define STACKPACK_PACKED_WRITE_GROUPS_H

#include "format/packed.h"

/* What is live at a function's records. Locations are told by their numbers. */
struct live_sets {
  uint32_t slots, rows, positions;
  uint32_t location_count;   /* from there on numbers stand for lists, which derived slots have */
  const uint32_t *locations; /* of each slot; they ascend */
  const uint32_t *bases;     /* bases[slot * rows + row], or NO_BASE if it isn't live in this row */
  const uint32_t *row_of;    /* of each position; they first come in order */
};
enum { NO_BASE = UINT32_MAX };

enum head_field {
  HEAD_FIRST,
  HEAD_PLAIN,
  HEAD_ROWS,
  HEAD_DERIVED, /* from here on of an extended head */
  HEAD_ASSIGNMENTS,
  HEAD_FIELDS
};

/* A group that was written: its head, and what follows that. */
struct written_group {
  uint64_t fields[HEAD_FIELDS];
  bool is_extended, is_scattered;
  unsigned number_width;
  uint64_t end; /* of what follows the head, in `bodies` */
};

/* What is needed for layouts one after another. */
struct groups_writer;
/* NULL: no memory. */
struct groups_writer *groups_writer_open(void);
void groups_writer_close(struct groups_writer *writer);

/* Writes the slots as groups: what follows their heads to `bodies`. Returns how many there are, which are
 * in *groups until the next call; 0: no memory. */
size_t groups_write(struct groups_writer *writer, const struct live_sets *sets,
                    struct bit_writer *bodies, const struct written_group **groups);

#endif
