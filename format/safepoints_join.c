/* safepoints_join.c - adds to a table of safepoints what another one has.
 *
 * Two threads that read two parts of a section have a table each, in which contents are numbered as
 * they came in that part. To be one table, each sequence of the second one is interned in the first,
 * and the records take the numbers that it gets there. The records are gone through in the order in
 * which they were read, and a sequence is taken over when the first record that names it comes: so
 * the numbers, too, are those that one reader of both parts would have given, and nobody who uses
 * the table can tell the difference. Records repeat each other's contents, so nearly always it is
 * known already what a number becomes.
 */
#include "format/safepoints.h"

#include <stdlib.h>

/* What the other table's numbers become in this one: by number, and 1 more; 0 while it isn't known.
 * A list of locations' numbers is renamed, one of live-outs isn't, and a list may be both. */
struct joiner {
  struct safepoints *table;
  const struct safepoints *other;
  uint32_t *locations; /* these are all known, and aren't 1 more */
  uint32_t *lists, *live_outs, *live;
  uint64_t *words; /* as many as the longest sequence has */
};

static bool out_of_memory(struct joiner *joiner) {
  joiner->table->no_memory = true;
  return false;
}

static uint64_t longest(const struct intern *set) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < set->count; i++) {
    const uint64_t count = intern_get(set, i).count;
    most = count > most ? count : most;
  }
  return most;
}

static bool open_joiner(struct joiner *joiner) {
  const struct safepoints *other = joiner->other;
  const uint64_t lists = longest(&other->lists), live = longest(&other->live);
  joiner->locations = calloc((size_t)other->locations.count + 1, sizeof *joiner->locations);
  joiner->lists = calloc((size_t)other->lists.count + 1, sizeof *joiner->lists);
  joiner->live_outs = calloc((size_t)other->lists.count + 1, sizeof *joiner->live_outs);
  joiner->live = calloc((size_t)other->live.count + 1, sizeof *joiner->live);
  joiner->words = malloc(((lists > live ? lists : live) + 1) * sizeof *joiner->words);
  return (joiner->locations != NULL && joiner->lists != NULL && joiner->live_outs != NULL &&
          joiner->live != NULL && joiner->words != NULL) ||
         out_of_memory(joiner);
}

static void close_joiner(struct joiner *joiner) {
  free(joiner->locations);
  free(joiner->lists);
  free(joiner->live_outs);
  free(joiner->live);
  free(joiner->words);
}

/* ---- Sequences ---- */

static bool join_locations(struct joiner *joiner) {
  for (uint32_t i = 0; i < joiner->other->locations.count; i++)
    joiner->locations[i] =
        safepoints_add_location(joiner->table, safepoints_location(joiner->other, i));
  return !joiner->table->no_memory;
}

/* Notes that a number has become `joined`. */
static bool note(struct joiner *joiner, uint32_t *known, uint32_t joined) {
  if (joined == INTERN_FAILED)
    return out_of_memory(joiner);
  *known = joined + 1;
  return true;
}

static bool join_list(struct joiner *joiner, uint32_t number) {
  if (joiner->lists[number] != 0)
    return true;
  const struct intern_sequence list = intern_get(&joiner->other->lists, number);
  for (uint64_t i = 0; i < list.count; i++)
    joiner->words[i] = joiner->locations[list.words[i]];
  return note(joiner, &joiner->lists[number],
              intern_add(&joiner->table->lists, joiner->words, list.count));
}

static bool join_live_outs(struct joiner *joiner, uint32_t number) {
  if (joiner->live_outs[number] != 0)
    return true;
  const struct intern_sequence list = intern_get(&joiner->other->lists, number);
  return note(joiner, &joiner->live_outs[number],
              intern_add(&joiner->table->lists, list.words, list.count));
}

/* The list that a live set ends with, if it has one. */
static bool join_list_of_live(struct joiner *joiner, struct intern_sequence live) {
  const uint64_t last = live.count > 0 ? live.words[live.count - 1] : 0;
  return !safepoint_item_is_list(last) || join_list(joiner, safepoint_item_list(last));
}

static uint64_t joined_item(const struct joiner *joiner, uint64_t item) {
  if (!safepoint_item_is_list(item))
    return (uint64_t)joiner->locations[safepoint_item_base(item)] << 32 |
           joiner->locations[safepoint_item_derived(item)];
  const uint32_t list = safepoint_item_list(item);
  return (item ^ list) | (joiner->lists[list] - 1);
}

/* Pairs are in the order of what their locations are, not of their numbers: it stays as it is. */
static bool join_live(struct joiner *joiner, uint32_t number) {
  if (joiner->live[number] != 0)
    return true;
  const struct intern_sequence live = intern_get(&joiner->other->live, number);
  if (!join_list_of_live(joiner, live))
    return false;
  for (uint64_t i = 0; i < live.count; i++)
    joiner->words[i] = joined_item(joiner, live.words[i]);
  return note(joiner, &joiner->live[number],
              intern_add(&joiner->table->live, joiner->words, live.count));
}

/* ---- Functions and records ---- */

static bool join_functions(struct joiner *joiner) {
  const struct safepoints *other = joiner->other;
  for (uint32_t i = 0; i < other->function_count; i++)
    if (!safepoints_add_function(joiner->table, other->functions[i]))
      return false;
  return true;
}

/* `functions`: how many the table had before. */
static bool join_records(struct joiner *joiner, uint32_t functions) {
  for (uint32_t i = 0; i < joiner->other->record_count; i++) {
    struct safepoint record = joiner->other->records[i];
    if (!join_list(joiner, record.deopt) || !join_live(joiner, record.live) ||
        !join_live_outs(joiner, record.live_outs))
      return false;
    record.function += functions;
    record.deopt = joiner->lists[record.deopt] - 1;
    record.live = joiner->live[record.live] - 1;
    record.live_outs = joiner->live_outs[record.live_outs] - 1;
    if (!safepoints_add_record(joiner->table, record))
      return false;
  }
  return true;
}

bool safepoints_join(struct safepoints *table, const struct safepoints *other) {
  struct joiner joiner = {.table = table, .other = other};
  const uint32_t functions = table->function_count;
  const bool ok = open_joiner(&joiner) && join_locations(&joiner) && join_functions(&joiner) &&
                  join_records(&joiner, functions);
  close_joiner(&joiner);
  table->has_stackmaps |= other->has_stackmaps;
  table->maps += other->maps;
  table->functions_discarded += other->functions_discarded;
  table->records_discarded += other->records_discarded;
  return ok;
}
