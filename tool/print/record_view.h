/* record_view.h - one record with all of its contents, to be printed. */
#ifndef STACKPACK_RECORD_VIEW_H
#define STACKPACK_RECORD_VIEW_H

#include "format/safepoints.h"
#include "tool/print/pieces.h"

struct record_pair {
  struct stackpack_location base, derived;
};

struct record_view {
  const struct safepoints *table;
  const struct safepoint *record;
  uint64_t address, function, frame_size;
  const struct piece *piece; /* of an object: that of the function; else NULL */
  bool is_statepoint;
  bool knows_frame;          /* else `frame` is meaningless */
  struct frame_facts frame;  /* from unwind tables or the code */
  struct record_pair *pairs; /* by the place of the reference; owned */
  size_t pair_count, pair_capacity;
  struct intern_sequence deopt, allocas, locations, live_outs; /* the table's: lists */
};

/* Fills a view from a table, and it may have been filled before; one that is new is all zeros. */
void record_view_take(struct record_view *view, const struct safepoints *table,
                      const struct safepoint *record, const struct pieces *pieces);
void record_view_close(struct record_view *view);

/* A list's location; a live-out's is its register. */
struct stackpack_location record_view_location(const struct record_view *view,
                                               const struct intern_sequence *list, uint64_t i);

#endif
