/* distances.c - distances from other places than a table's start.
 *
 * A word of 4 bytes may be the distance to a function from any place: from the file's first byte
 * (`f - __ehdr_start`), or from a variable. Many pairs of a place and a word add up to a function's
 * address by chance. So only those count whose word and place are both named by one function: it
 * may add them.
 *
 * The words are those from a named place on, past a few other referenced places, as in escapes.c.
 * A function that names many places has many pairs: if all of them are too many to look at, every
 * function's address counts as taken.
 */
#include "format/search.h"
#include "tool/calls/call_graph.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 16 }; /* referenced ones within a table */

struct adder {
  struct graph_builder *builder;
  struct integers places; /* that one function names, ascending */
  struct integers bases;  /* all referenced places outside code, ascending */
  uint64_t budget;        /* of words and sums */
};

/* Lists the referenced places of an area. */
static void add_bases(struct adder *adder, const struct area *area) {
  const uint8_t *marks = area->marks[MARK_BASE];
  for (uint64_t byte = 0; 8 * byte < area->size; byte++)
    for (unsigned bits = marks[byte]; bits != 0; bits &= bits - 1)
      integers_add(&adder->bases, area->address + 8 * byte + (unsigned)__builtin_ctz(bits));
}

/* The sums from place `i` on that are in an area of code. Returns the first place beyond. */
static size_t take_sums_in(struct adder *adder, const struct area *area, size_t i, size_t end,
                           uint64_t distance, uint64_t at) {
  const uint64_t *places = adder->places.items, from = distance - area->address, size = area->size;
  const uint8_t *marks = area->marks[MARK_FUNCTION];
  for (uint64_t n; i < end && (n = places[i] + from) < size; i++)
    if ((marks[n / 8] >> n % 8 & 1) != 0)
      graph_take(adder->builder->graph, area->address + n, TAKEN_BY_DATA, at);
  return i;
}

/* Takes the functions at a distance from a function's places. Sums in code are consecutive, as the
 * places ascend. */
static void take_sums(struct adder *adder, uint64_t at, uint64_t distance) {
  struct call_graph *graph = adder->builder->graph;
  const uint64_t start = graph->code_start, span = graph->code_span;
  const uint64_t *places = adder->places.items;
  const size_t count = adder->places.count;
  const size_t first =
      (int64_t)(start - distance) < 0 ? 0 : search_words_below(places, count, start - distance);
  const size_t end = count - first < adder->budget ? count : first + adder->budget;
  size_t i = first;
  while (i < end && places[i] + distance - start < span) {
    const struct area *area = areas_find(&graph->areas, places[i] + distance);
    if (area == NULL || !area->is_code)
      i++;
    else
      i = take_sums_in(adder, area, i, end, distance, at);
  }
  adder->budget -= i - first;
}

/* Where a table that starts at a place ends at the latest: at a referenced place after others. */
static uint64_t end_of_table(const struct adder *adder, const struct area *area, uint64_t start) {
  const uint64_t end = area->address + area->size;
  const struct integers *bases = &adder->bases;
  const size_t last = search_words_below(bases->items, bases->count, start + 1) + PLACES - 1;
  return last < bases->count && bases->items[last] < end ? bases->items[last] : end;
}

/* Takes the functions at distances that are in the words from a place on. Those before `done` were
 * looked at. Returns where it ends. */
static uint64_t take_table(struct adder *adder, uint64_t start, uint64_t done) {
  const struct call_graph *graph = adder->builder->graph;
  const struct area *area = areas_find(&graph->areas, start);
  const struct integers *places = &adder->places;
  const uint64_t lowest = places->items[0], highest = places->items[places->count - 1];
  const uint64_t first = graph->code_start - highest; /* of the distances that may lead to code */
  const uint64_t count = highest - lowest + graph->code_span;
  if (area == NULL)
    return done;
  const uint64_t end = end_of_table(adder, area, start);
  const uint64_t at = start < done ? start + (done - start + 3) / 4 * 4 : start;
  if (at >= end)
    return end > done ? end : done;
  const uint64_t left = (end - at) / 4;
  const uint64_t words = left < adder->budget ? left : adder->budget;
  const uint8_t *bytes = area->bytes + (at - area->address);
  adder->budget -= words;
  for (uint64_t i = 0; i < words; i++) {
    int32_t distance;
    memcpy(&distance, bytes + 4 * i, sizeof distance);
    if ((uint64_t)(int64_t)distance - first < count && distance != 0)
      take_sums(adder, at + 4 * i, (uint64_t)(int64_t)distance);
  }
  return end > done ? end : done;
}

static void take_tables(struct adder *adder) {
  uint64_t done = 0;
  integers_sort(&adder->places);
  for (size_t i = 0; i < adder->places.count; i++)
    done = take_table(adder, adder->places.items[i], done);
  adder->places.count = 0;
}

static uint64_t size_of(const struct areas *areas) {
  uint64_t size = 0;
  for (size_t i = 0; i < areas->count; i++)
    size += areas->items[i].size;
  return size;
}

void distances_find(struct graph_builder *builder) {
  enum { SUMS_PER_BYTE = 64 };
  struct adder adder = {.builder = builder,
                        .budget = SUMS_PER_BYTE * size_of(&builder->graph->areas) + UINT16_MAX};
  for (size_t i = 0; i < builder->graph->areas.count; i++)
    if (!builder->graph->areas.items[i].is_code)
      add_bases(&adder, &builder->graph->areas.items[i]);
  for (size_t i = 0; i < builder->naming_count; i++) {
    const struct naming *naming = &builder->namings[i];
    integers_add(&adder.places, naming->place);
    if (i + 1 == builder->naming_count || naming[1].function != naming->function)
      take_tables(&adder);
  }
  if (adder.budget == 0)
    builder->hands_over = builder->graph->code_start;
  free(adder.bases.items);
  free(adder.places.items);
}
