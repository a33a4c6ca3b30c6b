/* safepoints.c - see safepoints.h. */
#include "format/safepoints.h"

#include "format/array.h"
#include "format/bits.h"
#include "format/search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void safepoints_free(struct safepoints *table) {
  free(table->functions);
  free(table->records);
  free(table->global_roots);
  intern_free(&table->locations);
  intern_free(&table->lists);
  intern_free(&table->live);
  intern_free(&table->frames);
  sources_free(&table->sources);
  *table = (struct safepoints){0};
}

static bool out_of_memory(struct safepoints *table) {
  table->no_memory = true;
  return false;
}

static uint32_t intern_in(struct safepoints *table, struct intern *set, const uint64_t *words,
                          uint64_t count) {
  const uint32_t number = intern_add(set, words, count);
  table->no_memory |= number == INTERN_FAILED;
  return number;
}

/* There are fewer functions and records than INTERN_FAILED. */
bool safepoints_add_function(struct safepoints *table, struct safepoint_function function) {
  return (table->function_count + 1 < INTERN_FAILED &&
          ARRAY_ADD(table->functions, table->function_count, table->function_capacity, function)) ||
         out_of_memory(table);
}

bool safepoints_add_record(struct safepoints *table, struct safepoint record) {
  assert(record.function < table->function_count && record.live < table->live.count &&
         record.deopt < table->lists.count && record.live_outs < table->lists.count);
  return (table->record_count + 1 < INTERN_FAILED &&
          ARRAY_ADD(table->records, table->record_count, table->record_capacity, record)) ||
         out_of_memory(table);
}

/* ---- Locations ---- */

static const uint64_t *location_words(const struct safepoints *table, uint32_t number) {
  assert(number < table->locations.count && table->locations.starts[number] == number * 2);
  return table->locations.words + (size_t)number * 2;
}

uint32_t safepoints_add_location(struct safepoints *table, struct stackpack_location location) {
  const uint64_t words[2] = {
      (uint64_t)location.kind << 32 | (uint64_t)location.reg << 16 | location.size,
      (uint64_t)location.value,
  };
  const uint64_t hash = (words[0] * 31 + words[1]) * 0x9e3779b97f4a7c15u;
  uint32_t *recent = &table->recent_locations[hash >> (64 - SAFEPOINT_RECENT_SHIFT)];
  if (*recent != 0) {
    const uint64_t *known = location_words(table, *recent - 1);
    if (known[0] == words[0] && known[1] == words[1])
      return *recent - 1;
  }
  *recent = intern_in(table, &table->locations, words, 2) + 1;
  return *recent - 1;
}

uint32_t safepoints_first_record(const struct safepoints *table, uint64_t address) {
  return (uint32_t)SEARCH_BELOW(table->records, table->record_count, address, address);
}

bool safepoints_has_record(const struct safepoints *table, uint64_t address) {
  const uint32_t i = safepoints_first_record(table, address);
  return i < table->record_count && table->records[i].address == address;
}

struct stackpack_location safepoints_location(const struct safepoints *table, uint32_t number) {
  const uint64_t *words = location_words(table, number);
  return (struct stackpack_location){(uint8_t)(words[0] >> 32), (uint16_t)words[0],
                                     (uint16_t)(words[0] >> 16), (int64_t)words[1]};
}

int safepoint_location_compare(struct stackpack_location a, struct stackpack_location b) {
  const struct stackpack_location *x = &a, *y = &b;
  ORDER_BY(x, y, kind)
  ORDER_BY(x, y, reg)
  ORDER_BY(x, y, value)
  ORDER_BY(x, y, size)
  return 0;
}

enum safepoint_kind safepoints_kind(const struct safepoints *table,
                                    const struct safepoint *record) {
  if (!table->has_stackmaps)
    return SAFEPOINT_STATEPOINT;
  const struct intern_sequence live = intern_get(&table->live, record->live);
  const bool plain = live.count > 0 && safepoint_item_is_locations(live.words[live.count - 1]);
  return plain ? SAFEPOINT_STACKMAP : SAFEPOINT_STATEPOINT;
}

uint64_t safepoints_instruction(const struct safepoints *table, const struct safepoint *record) {
  return record->address - (safepoints_kind(table, record) == SAFEPOINT_STATEPOINT);
}

/* ---- Lists and live sets ---- */

uint32_t safepoints_add_list(struct safepoints *table, const uint64_t *words, uint64_t count) {
  return count == 0 ? 0 : intern_in(table, &table->lists, words, count);
}

static int compare_locations(const struct safepoints *table, uint32_t a, uint32_t b) {
  return a == b ? 0
                : safepoint_location_compare(safepoints_location(table, a),
                                             safepoints_location(table, b));
}

static int compare_pairs(const struct safepoints *table, uint64_t a, uint64_t b) {
  const int order = compare_locations(table, safepoint_item_base(a), safepoint_item_base(b));
  return order != 0
             ? order
             : compare_locations(table, safepoint_item_derived(a), safepoint_item_derived(b));
}

static int compare_pairs_in(const void *a, const void *b, void *table) {
  return compare_pairs(table, *(const uint64_t *)a, *(const uint64_t *)b);
}

uint32_t safepoints_add_live(struct safepoints *table, uint64_t *items, unsigned pairs,
                             uint64_t list_item) {
  assert(list_item == 0 || safepoint_item_is_list(list_item));
  if (table->no_memory)
    return INTERN_FAILED;
  if (pairs > 0)
    qsort_r(items, pairs, sizeof *items, compare_pairs_in, table);
  uint64_t count = array_unique_words(items, pairs);
  if (list_item != 0)
    items[count++] = list_item;
  table->has_stackmaps |= safepoint_item_is_locations(list_item);
  return intern_in(table, &table->live, items, count);
}

/* ---- Order ---- */

static int compare_functions(const void *a, const void *b) {
  const struct safepoint_function *x = a, *y = b;
  ORDER_BY(x, y, address)
  ORDER_BY(x, y, frame_size)
  ORDER_BY(x, y, first_record)
  return 0;
}

int safepoint_compare_contents(const struct safepoint *x, const struct safepoint *y) {
  ORDER_BY(x, y, live)
  ORDER_BY(x, y, id)
  ORDER_BY(x, y, calling_convention)
  ORDER_BY(x, y, flags)
  ORDER_BY(x, y, deopt)
  ORDER_BY(x, y, live_outs)
  return 0;
}

/* By address and function; of these, records that are equal come next to each other. */
static int compare_records(const void *a, const void *b) {
  const struct safepoint *x = a, *y = b;
  ORDER_BY(x, y, address)
  ORDER_BY(x, y, function)
  return safepoint_compare_contents(x, y);
}

static int compare_lists(const struct safepoints *table, uint32_t a, uint32_t b,
                         bool are_locations) {
  const struct intern_sequence x = intern_get(&table->lists, a), y = intern_get(&table->lists, b);
  for (uint64_t i = 0; i < x.count && i < y.count; i++) {
    if (x.words[i] == y.words[i])
      continue;
    if (!are_locations)
      return x.words[i] < y.words[i] ? -1 : 1;
    return safepoint_location_compare(safepoints_location(table, (uint32_t)x.words[i]),
                                      safepoints_location(table, (uint32_t)y.words[i]));
  }
  return x.count < y.count ? -1 : x.count > y.count;
}

static int compare_live(const struct safepoints *table, uint32_t a, uint32_t b) {
  const struct intern_sequence x = intern_get(&table->live, a), y = intern_get(&table->live, b);
  for (uint64_t i = 0; i < x.count && i < y.count; i++) {
    const uint64_t p = x.words[i], q = y.words[i];
    if (p == q)
      continue;
    if (p >> 62 != q >> 62)
      return p >> 62 < q >> 62 ? -1 : 1;
    return safepoint_item_is_list(p)
               ? compare_lists(table, safepoint_item_list(p), safepoint_item_list(q), true)
               : compare_pairs(table, p, q);
  }
  return x.count < y.count ? -1 : x.count > y.count;
}

/* Orders different records of one address and function by their contents, so that the order is
 * independent of the contents' numbers: these differ between a raw and a packed program. */
static int compare_contents(const void *a, const void *b, void *context) {
  const struct safepoints *table = context;
  const struct safepoint *x = a, *y = b;
  int order = compare_live(table, x->live, y->live);
  if (order == 0)
    order = compare_lists(table, x->deopt, y->deopt, true);
  if (order == 0)
    order = compare_lists(table, x->live_outs, y->live_outs, false);
  return order != 0 ? order : compare_records(x, y);
}

/* Sorts the functions, merges those of equal address and frame size, and renames them in records.
 * While it runs, first_record holds a function's old index. */
static bool sort_functions(struct safepoints *table) {
  const uint32_t count = table->function_count;
  uint32_t *new_index = malloc(((size_t)count + 1) * sizeof *new_index);
  if (new_index == NULL)
    return out_of_memory(table);
  for (uint32_t i = 0; i < count; i++)
    table->functions[i].first_record = i;
  array_sort(table->functions, count, sizeof *table->functions, compare_functions);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct safepoint_function function = table->functions[i];
    if (kept == 0 || table->functions[kept - 1].address != function.address ||
        table->functions[kept - 1].frame_size != function.frame_size)
      table->functions[kept++] = function;
    new_index[function.first_record] = kept - 1;
  }
  table->function_count = kept;
  for (uint32_t i = 0; i < table->record_count; i++)
    table->records[i].function = new_index[table->records[i].function];
  free(new_index);
  return true;
}

static void remove_repeated_records(struct safepoints *table) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < table->record_count; i++) {
    if (kept > 0 && compare_records(&table->records[kept - 1], &table->records[i]) == 0)
      table->records_repeated++;
    else
      table->records[kept++] = table->records[i];
  }
  table->record_count = kept;
}

static void sort_records(struct safepoints *table) {
  array_sort(table->records, table->record_count, sizeof *table->records, compare_records);
  remove_repeated_records(table);
  for (uint32_t from = 0, to; from < table->record_count; from = to) {
    struct safepoint *first = &table->records[from];
    for (to = from + 1; to < table->record_count && table->records[to].address == first->address &&
                        table->records[to].function == first->function;)
      to++;
    if (to - from > 1)
      qsort_r(first, to - from, sizeof *first, compare_contents, table);
  }
}

/* Counts each function's records; they are in order. */
static void count_records(struct safepoints *table) {
  for (uint32_t i = 0; i < table->function_count; i++)
    table->functions[i].records = 0;
  for (uint32_t i = 0; i < table->record_count; i++) {
    assert(table->records[i].function < table->function_count);
    struct safepoint_function *function = &table->functions[table->records[i].function];
    if (function->records++ == 0)
      function->first_record = i;
  }
}

bool safepoints_are_finished(const struct safepoints *table) {
  for (uint32_t i = 1; i < table->function_count; i++) {
    const struct safepoint_function *last = &table->functions[i - 1], *next = last + 1;
    if (last->address > next->address ||
        (last->address == next->address && last->frame_size >= next->frame_size))
      return false;
  }
  for (uint32_t i = 1; i < table->record_count; i++) {
    const struct safepoint *last = &table->records[i - 1], *next = last + 1;
    if (last->address > next->address ||
        (last->address == next->address && last->function > next->function))
      return false;
  }
  return true;
}

bool safepoints_finish(struct safepoints *table) {
  if (!sort_functions(table))
    return false;
  sort_records(table);
  count_records(table);
  assert(safepoints_are_finished(table));
  return true;
}

/* A record belongs to its function, wherever it is: also at its end, where the next one starts. So
 * without the record, the function must reach past its address. */
void safepoints_remove(struct safepoints *table, const bool *is_removed) {
  uint32_t kept = 0;
  assert(safepoints_are_finished(table));
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint record = table->records[i];
    struct safepoint_function *function = &table->functions[record.function];
    if (!is_removed[i])
      table->records[kept++] = record;
    else if (function->end <= record.address)
      function->end = record.address + 1;
  }
  table->record_count = kept;
  count_records(table);
}

/* The end of the innermost range that contains an address; `count` ranges start up to it; 0 if none
 * contains it. Symbols may be nested, but not deeper than this. */
static uint64_t end_of_range(const struct code_range *ranges, size_t count, uint64_t address) {
  enum { DEPTH = 64 };
  for (size_t depth = 0; count > 0 && depth < DEPTH; depth++)
    if (address < ranges[--count].end)
      return ranges[count].end;
  return 0;
}

bool safepoints_set_global_roots(struct safepoints *table, const uint64_t *addresses,
                                 size_t count) {
  if (count > UINT32_MAX)
    return out_of_memory(table);
  uint64_t *roots = malloc((count + 1) * sizeof *roots);
  if (roots == NULL)
    return out_of_memory(table);
  if (count > 0)
    memcpy(roots, addresses, count * sizeof *roots);
  free(table->global_roots);
  table->global_roots = roots;
  table->global_root_count = (uint32_t)array_sort_words(roots, count);
  return true;
}

void safepoints_set_ends(struct safepoints *table, const struct code_range *ranges, size_t count) {
  size_t started = 0; /* the number of ranges that start up to the function */
  assert(safepoints_are_finished(table) && IS_SORTED(ranges, count, start));
  for (uint32_t i = 0; i < table->function_count; i++) {
    struct safepoint_function *function = &table->functions[i];
    while (started < count && ranges[started].start <= function->address)
      started++;
    if (function->end == 0)
      function->end = end_of_range(ranges, started, function->address);
  }
}

/* The alignment of all functions' addresses: a power of two, at most 16. Of few functions, more
 * would often be chance. */
static uint64_t function_alignment(const struct safepoints *table) {
  uint64_t bits = 16;
  for (uint32_t i = 1; i < table->function_count; i++)
    bits |= table->functions[i].address - table->functions[0].address;
  return bits & -bits;
}

uint32_t safepoints_find_function(const struct safepoints *table, uint64_t address) {
  const size_t from = SEARCH_BELOW(table->functions, table->function_count, address, address);
  return from < table->function_count && table->functions[from].address == address
             ? (uint32_t)from
             : table->function_count;
}

/* Whether a range starts in [from, to). */
static bool any_starts(const struct code_ranges *ranges, uint64_t from, uint64_t to) {
  const size_t first = SEARCH_BELOW(ranges->items, ranges->count, start, from);
  return first < ranges->count && ranges->items[first].start < to;
}

void safepoints_close_gaps(struct safepoints *table, const struct code_ranges *unwound,
                           const struct code_ranges *named) {
  const uint64_t alignment = function_alignment(table);
  assert(safepoints_are_finished(table));
  assert(IS_SORTED(unwound->items, unwound->count, start));
  assert(IS_SORTED(named->items, named->count, start));
  for (uint32_t i = 0; i < table->function_count; i++) {
    struct safepoint_function *function = &table->functions[i];
    if (function->end <= function->address)
      continue;
    const uint64_t padding = -(function->end - table->functions[0].address) & (alignment - 1);
    const uint64_t end = function->end + padding;
    if (end > function->end && !any_starts(unwound, function->end, end) &&
        !any_starts(named, function->end, end))
      function->end = end;
  }
}
