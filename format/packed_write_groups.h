/* packed_write_groups.h - a step of packed_write_layouts.c: cuts a layout's slots into groups, and
 * writes each of them except its head. The heads are written after their widths are chosen. */
#ifndef STACKPACK_PACKED_WRITE_GROUPS_H
#define STACKPACK_PACKED_WRITE_GROUPS_H

#include "format/packed.h"

/* The live slots of a function's records. Locations are numbers. */
struct live_sets {
  uint32_t slots, rows, positions;
  uint32_t location_count;   /* numbers from there on are lists', in derived slots */
  const uint32_t *locations; /* of each slot; they ascend */
  const uint32_t *bases;     /* bases[slot * rows + row], or NO_BASE if it is dead in this row */
  const uint32_t *row_of;    /* of each position; they first come in order */
  bool are_all;              /* the slots are all of the layout: each row is another one */
  bool is_quick;             /* groups may be larger than the smallest ones */
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

/* The head of a group that was written. */
struct group_head {
  uint64_t fields[HEAD_FIELDS];
  bool is_extended, is_scattered;
  bool has_next; /* the layout goes on with another group */
  unsigned number_width;
  uint64_t positions_end, end; /* of the group's body, in `bodies` */
};

struct group_heads {
  struct group_head *items; /* owned */
  size_t count, capacity;
};

/* Writes the slots as groups: their bodies to `bodies`, their heads to `heads`, the last one
 * without has_next. False if memory runs out. */
bool groups_write(const struct live_sets *sets, struct bit_writer *bodies,
                  struct group_heads *heads);

#endif
