/* record_view.c - see record_view.h. */
#include "tool/print/record_view.h"

#include "format/array.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static void add_pair(struct record_view *view, struct location base, struct location derived) {
  (void)ARRAY_ADD(view->pairs, view->pair_count, view->pair_capacity,
                  (struct record_pair){base, derived});
}

static void add_location(struct record_list *list, struct location location) {
  (void)ARRAY_ADD(list->items, list->count, list->capacity, location);
}

static void add_live_out(struct record_view *view, uint16_t reg, uint16_t size) {
  add_location(&view->live_outs,
               (struct location){.kind = LOCATION_REGISTER, .size = size, .reg = reg});
}

static void clear(struct record_view *view) {
  view->pair_count = 0;
  view->deopt.count = view->allocas.count = view->locations.count = view->live_outs.count = 0;
}

void record_view_close(struct record_view *view) {
  free(view->pairs);
  free(view->deopt.items);
  free(view->allocas.items);
  free(view->locations.items);
  free(view->live_outs.items);
  *view = (struct record_view){0};
}

/* Pairs have no order of their own: so they get one, by where the reference is. */
static int compare_pairs(const void *a, const void *b) {
  const struct record_pair *x = a, *y = b;
  const int derived = safepoint_location_compare(x->derived, y->derived);
  return derived != 0 ? derived : safepoint_location_compare(x->base, y->base);
}

static void sort_pairs(struct record_view *view) {
  if (view->pair_count > 0)
    qsort(view->pairs, view->pair_count, sizeof *view->pairs, compare_pairs);
}

/* ---- From a table of safepoints ---- */

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
    add_pair(view, safepoints_location(table, safepoint_item_base(item)),
             safepoints_location(table, safepoint_item_derived(item)));
}

void record_view_take(struct record_view *view, const struct safepoints *table,
                      const struct safepoint *record) {
  const struct safepoint_function *function = &table->functions[record->function];
  const struct intern_sequence live = intern_get(&table->live, record->live);
  const struct intern_sequence live_outs = intern_get(&table->lists, record->live_outs);
  clear(view);
  view->address = record->address;
  view->function = function->address;
  view->frame_size = function->frame_size;
  view->knows_frame = record->frame != 0;
  view->frame = view->knows_frame ? frame_from_words(intern_get(&table->frames, record->frame - 1))
                                  : (struct frame_facts){0};
  view->id = record->id;
  view->calling_convention = record->calling_convention;
  view->flags = record->flags;
  view->is_statepoint = safepoints_kind(table, record) == SAFEPOINT_STATEPOINT;
  take_list(table, record->deopt, &view->deopt);
  for (uint64_t i = 0; i < live.count; i++)
    take_live(view, table, live.words[i]);
  for (uint64_t i = 0; i < live_outs.count; i++)
    add_live_out(view, (uint16_t)(live_outs.words[i] >> 8), live_outs.words[i] & 0xff);
  sort_pairs(view);
}

/* ---- From the runtime library ---- */

static struct location location_of(struct stackpack_location location) {
  return (struct location){location.kind, location.size, location.reg, location.value};
}

static bool ask_pairs(struct record_view *view, const struct stackpack_record *record) {
  struct stackpack_pairs pairs = stackpack_pairs(record);
  struct stackpack_location base, derived;
  while (stackpack_pairs_next(&pairs, &base, &derived))
    add_pair(view, location_of(base), location_of(derived));
  return !pairs.is_corrupt;
}

static void ask_locations(struct record_view *view, const struct stackpack_record *record) {
  struct record_list *list = view->is_statepoint ? &view->allocas : &view->locations;
  struct stackpack_locations locations = stackpack_locations(record);
  struct stackpack_location location;
  while (stackpack_locations_next(&locations, &location))
    add_location(list, location_of(location));
}

static bool ask_details(struct record_view *view, const struct stackpack_record *record,
                        void *space) {
  struct stackpack_details details;
  if (!stackpack_record_details(record, space, ZSTD_decompress, &details))
    return false;
  view->id = details.id;
  view->calling_convention = details.calling_convention;
  view->flags = details.flags;
  for (size_t i = 0; i < details.deopt_count; i++)
    add_location(&view->deopt, location_of(details.deopt[i]));
  for (size_t i = 0; i < details.live_out_count; i++)
    add_live_out(view, details.live_outs[i].reg, details.live_outs[i].size);
  return true;
}

static void ask_frame(struct record_view *view, const struct stackpack_record *record) {
  const struct stackpack_frame_facts frame = stackpack_record_frame(record);
  view->knows_frame = frame.is_known;
  view->frame = (struct frame_facts){
      .cfa_register = frame.cfa_register,
      .return_register = frame.return_register,
      .is_signed = frame.is_signed,
      .cfa_offset = (int32_t)frame.cfa_offset,
      .saved = frame.saved,
      .lost = frame.lost,
  };
  memcpy(view->frame.offsets, frame.offsets, sizeof frame.offsets);
}

bool record_view_ask(struct record_view *view, const struct stackpack_record *record, void *space) {
  clear(view);
  view->address = record->address;
  view->function = stackpack_record_function(record);
  view->frame_size = record->frame_size;
  ask_frame(view, record);
  view->is_statepoint = record->kind == STACKPACK_STATEPOINT;
  ask_locations(view, record);
  const bool ok = ask_details(view, record, space) && ask_pairs(view, record);
  sort_pairs(view);
  return ok;
}
