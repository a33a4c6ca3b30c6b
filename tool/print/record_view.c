/* record_view.c - see record_view.h. */
#include "tool/print/record_view.h"

#include "format/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void record_view_close(struct record_view *view) {
  free(view->pairs);
  *view = (struct record_view){0};
}

struct stackpack_location record_view_location(const struct record_view *view,
                                               const struct intern_sequence *list, uint64_t i) {
  assert(i < list->count);
  const uint64_t word = list->words[i];
  if (list != &view->live_outs)
    return safepoints_location(view->table, (uint32_t)word);
  assert(word >> 24 == 0);
  return (struct stackpack_location){
      .kind = STACKPACK_REGISTER, .size = word & 0xff, .reg = (uint16_t)(word >> 8)};
}

/* The order of pairs is arbitrary: so they get one, by the place of the reference. */
static int compare_pairs(const void *a, const void *b) {
  const struct record_pair *x = a, *y = b;
  const int derived = safepoint_location_compare(x->derived, y->derived);
  return derived != 0 ? derived : safepoint_location_compare(x->base, y->base);
}

static void take_live(struct record_view *view, const struct safepoints *table, uint64_t item) {
  if (safepoint_item_is_list(item))
    *(view->is_statepoint ? &view->allocas : &view->locations) =
        intern_get(&table->lists, safepoint_item_list(item));
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
  view->table = table;
  view->record = record;
  view->pair_count = 0;
  view->allocas = view->locations = (struct intern_sequence){0};
  view->deopt = intern_get(&table->lists, record->deopt);
  view->live_outs = intern_get(&table->lists, record->live_outs);
  view->address = record->address;
  view->function = function->address;
  view->piece = pieces_find(pieces, function->address);
  view->frame_size = function->frame_size;
  view->knows_frame = record->frame != 0;
  view->frame =
      view->knows_frame ? frame_facts_get(&table->frames, record->frame) : (struct frame_facts){0};
  view->is_statepoint = safepoints_kind(table, record) == SAFEPOINT_STATEPOINT;
  for (uint64_t i = 0; i < live.count; i++)
    take_live(view, table, live.words[i]);
  array_sort(view->pairs, view->pair_count, sizeof *view->pairs, compare_pairs);
}
