/* record_view.c - see record_view.h. */
#include "tool/print/record_view.h"

#include "format/array.h"

#include <stdlib.h>
#include <string.h>

static void add_location(struct record_list *list, struct location location) {
  (void)ARRAY_ADD(list->items, list->count, list->capacity, location);
}

void record_view_close(struct record_view *view) {
  free(view->pairs);
  free(view->deopt.items);
  free(view->allocas.items);
  free(view->locations.items);
  free(view->live_outs.items);
  *view = (struct record_view){0};
}

/* The order of pairs is arbitrary: so they get one, by the place of the reference. */
static int compare_pairs(const void *a, const void *b) {
  const struct record_pair *x = a, *y = b;
  const int derived = safepoint_location_compare(x->derived, y->derived);
  return derived != 0 ? derived : safepoint_location_compare(x->base, y->base);
}

static void take_list(const struct safepoints *table, uint32_t list,
                      struct record_list *locations) {
  const struct intern_sequence items = intern_get(&table->lists, list);
  for (uint64_t i = 0; i < items.count; i++)
    add_location(locations, safepoints_location(table, (uint32_t)items.words[i]));
}

static void take_live(struct record_view *view, const struct safepoints *table, uint64_t item) {
  if (safepoint_item_is_list(item))
    take_list(table, safepoint_item_list(item),
              view->is_statepoint ? &view->allocas : &view->locations);
  else
    (void)ARRAY_ADD(view->pairs, view->pair_count, view->pair_capacity,
                    (struct record_pair){
                        safepoints_location(table, safepoint_item_base(item)),
                        safepoints_location(table, safepoint_item_derived(item)),
                    });
}

void record_view_take(struct record_view *view, const struct safepoints *table,
                      const struct safepoint *record, const struct pieces *pieces) {
  const struct safepoint_function *function = &table->functions[record->function];
  const struct intern_sequence live = intern_get(&table->live, record->live);
  const struct intern_sequence live_outs = intern_get(&table->lists, record->live_outs);
  view->pair_count = 0;
  view->deopt.count = view->allocas.count = view->locations.count = view->live_outs.count = 0;
  view->address = record->address;
  view->function = function->address;
  view->piece = pieces_find(pieces, function->address);
  view->frame_size = function->frame_size;
  view->knows_frame = record->frame != 0;
  view->frame =
      view->knows_frame ? frame_facts_get(&table->frames, record->frame) : (struct frame_facts){0};
  view->id = record->id;
  view->source = record->source;
  view->calling_convention = record->calling_convention;
  view->flags = record->flags;
  view->is_statepoint = safepoints_kind(table, record) == SAFEPOINT_STATEPOINT;
  take_list(table, record->deopt, &view->deopt);
  for (uint64_t i = 0; i < live.count; i++)
    take_live(view, table, live.words[i]);
  for (uint64_t i = 0; i < live_outs.count; i++)
    add_location(&view->live_outs, (struct location){.kind = LOCATION_REGISTER,
                                                     .size = live_outs.words[i] & 0xff,
                                                     .reg = (uint16_t)(live_outs.words[i] >> 8)});
  array_sort(view->pairs, view->pair_count, sizeof *view->pairs, compare_pairs);
}
