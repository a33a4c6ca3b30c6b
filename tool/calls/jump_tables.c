/* jump_tables.c - the indirect jumps that go through a table made of a `switch`.
 *
 * Such a jump stays in its function, while one through a pointer may go anywhere.
 *
 * A jump to an entry of a constant table is resolved if one of the first entries, from the place
 * that the code names, points into the function. The table's length is unrecorded. The words
 * between that place and the next address-taken one are the table's, up to the last that points to
 * code: some entries may be holes. Code may name a place in the middle of a table as well, and
 * count from there in both directions: the words beyond are the table's up to the first that points
 * neither to the function's own instructions nor to a function's start. Entries that point to other
 * functions (the cold part of a function is one) are calls like any jump out of the function.
 */
#include "tool/calls/jump_tables.h"

#include "format/array.h"
#include "format/search.h"

#include <assert.h>
#include <string.h>

/* ---- Entries ---- */

/* A number of a table's; the caller checks that its bytes exist. */
static uint64_t number_at(const uint8_t *bytes, struct code_value table) {
  const unsigned width = 8u * table.size;
  uint64_t number = 0;
  memcpy(&number, bytes, table.size);
  if (table.is_unsigned || width == 64)
    return number << table.shift;
  const uint64_t sign = (uint64_t)1 << (width - 1);
  return ((number ^ sign) - sign) << table.shift;
}

bool jump_table_entry(const struct call_graph *graph, const struct area *area,
                      struct code_value table, int64_t n, uint64_t *target) {
  const uint64_t address = table.table + (uint64_t)n * table.size;
  const uint64_t into = address - area->address;
  if (into >= area->size || area->size - into < table.size)
    return false;
  if (table.kind == CODE_TARGET || graph->linkage.is_fixed) {
    *target = table.base + number_at(area->bytes + into, table);
  } else {
    const struct linkage_word *word = linkage_find(&graph->linkage, address);
    if (word == NULL || word->kind != CODE_RELOCATION_ADDRESS)
      return false;
    *target = word->value;
  }
  return call_graph_function(graph, *target) != GRAPH_NO_NODE;
}

/* Whether a value is of a table that jumps go through: of distances, or of addresses. */
static bool is_table(const struct value_flow *flow, struct code_value value) {
  const bool is_fixed = flow->builder->graph->linkage.is_fixed;
  return value.kind == CODE_TARGET ||
         (value.kind == CODE_ENTRY && (value.size == 8 || (value.size == 4 && is_fixed)));
}

const struct area *jump_table_area(const struct value_flow *flow, struct code_value table) {
  const struct area *area = areas_find(&flow->builder->graph->areas, table.table);
  if (!is_table(flow, table) || area == NULL || area->is_code || !area->is_constant)
    return NULL;
  return area;
}

/* The first entries may point to the function's end: those of impossible cases. */
bool jump_table_is_own(const struct value_flow *flow, struct code_value table) {
  enum { FIRST = 64 };
  const struct area *area = jump_table_area(flow, table);
  uint64_t target;
  for (int64_t n = 0; area != NULL && n < FIRST; n++) {
    const uint64_t address = table.table + (uint64_t)n * table.size;
    if (!jump_table_entry(flow->builder->graph, area, table, n, &target) ||
        (n > 0 && area_is_marked(area, MARK_BASE, address)))
      return false;
    if (value_flow_is_inside(flow, target))
      return true;
  }
  return false;
}

/* ---- Extents ---- */

enum entry_kind { ENTRY_NONE, ENTRY_OWN, ENTRY_START };

/* The target of a word that may be another table's: an instruction of the function's own, or a
 * function's start. */
static enum entry_kind kind_of_entry(struct value_flow *flow, const struct area *area,
                                     struct code_value table, int64_t n) {
  const struct areas *areas = &flow->builder->graph->areas;
  uint64_t target;
  if (!value_flow_spend(flow, 1) ||
      !jump_table_entry(flow->builder->graph, area, table, n, &target))
    return ENTRY_NONE;
  if (unit_step(flow->unit, target) != NULL)
    return ENTRY_OWN;
  return area_is_marked(areas_find(areas, target), MARK_FUNCTION, target) ? ENTRY_START
                                                                          : ENTRY_NONE;
}

/* Whether something else takes an entry's address: then another object starts there. */
static bool is_others(const struct value_flow *flow, const struct area *area,
                      struct code_value table, int64_t n) {
  const uint64_t address = table.table + (uint64_t)n * table.size;
  if (!area_is_marked(area, MARK_BASE, address))
    return false;
  const struct integers *named = &flow->named;
  const size_t own = search_words_below(named->items, named->count, address);
  return own == named->count || named->items[own] != address;
}

/* Extends a table beyond the next place whose address is taken. */
static void extend_up(struct value_flow *flow, const struct area *area, struct code_value table,
                      int64_t from, struct extent *extent) {
  bool is_own = true;
  enum entry_kind kind;
  for (int64_t n = from; (kind = kind_of_entry(flow, area, table, n)) != ENTRY_NONE; n++) {
    is_own = is_own && !is_others(flow, area, table, n);
    if (kind == ENTRY_START && !is_own)
      return;
    extent->end = n + 1;
  }
}

/* Extends a table downwards, up to a table of functions that other code names. */
static void extend_down(struct value_flow *flow, const struct area *area, struct code_value table,
                        struct extent *extent) {
  for (int64_t n = -1;; n--) {
    const enum entry_kind kind = kind_of_entry(flow, area, table, n);
    const bool is_end = kind == ENTRY_NONE || is_others(flow, area, table, n);
    if (kind == ENTRY_OWN || kind == ENTRY_NONE)
      extent->first = kind == ENTRY_OWN ? n : n + 1;
    if (is_end)
      return;
  }
}

/* Tables of bytes and of short numbers are contiguous: almost any number would point to some
 * code. */
static struct extent find_extent(struct value_flow *flow, struct code_value table) {
  enum { WIDE = 4 };
  const struct area *area = jump_table_area(flow, table);
  const int64_t end = (int64_t)((area->address + area->size - table.table) / table.size);
  struct extent extent = {0, 1};
  uint64_t target;
  int64_t n = 1;
  for (; n < end && value_flow_spend(flow, 1) &&
         !area_is_marked(area, MARK_BASE, table.table + (uint64_t)n * table.size);
       n++)
    if (jump_table_entry(flow->builder->graph, area, table, n, &target))
      extent.end = n + 1;
    else if (table.size < WIDE)
      return extent;
  if (table.size >= WIDE) {
    extend_up(flow, area, table, n, &extent);
    extend_down(flow, area, table, &extent);
  }
  return extent;
}

struct jump_table *jump_table_find(struct value_flow *flow, struct code_value table) {
  const uint64_t words[] = {table.table, table.base,
                            (uint64_t)table.kind | (uint64_t)table.size << 8 |
                                (uint64_t)table.shift << 16 | (uint64_t)table.is_unsigned << 24};
  const uint32_t number = intern_add(&flow->table_numbers, words, sizeof words / sizeof *words);
  if (number == flow->table_count) {
    const struct extent extent = find_extent(flow, table);
    (void)ARRAY_ADD(flow->tables, flow->table_count, flow->tables_capacity,
                    (struct jump_table){.extent = extent});
  }
  assert(number < flow->table_count);
  return &flow->tables[number];
}

/* ---- Resolving ---- */

/* Each of many jumps by one table has a call of each entry's function. Honest files have fewer of
 * these than bytes of code. */
static bool has_room(const struct graph_builder *builder) {
  enum { LEAST = 1 << 16 };
  return builder->later_count < builder->graph->code_size + LEAST;
}

/* Adds a jump's call of a function that is outside this one. */
static void add_way_out(struct value_flow *flow, const struct call *call, uint32_t function) {
  struct graph_builder *builder = flow->builder;
  const struct graph_function *target = &builder->graph->functions[function];
  if (call->at - target->address < target->size) {
    builder->graph->functions[function].is_undecodable = true; /* between instructions */
    return;
  }
  graph_add_later(builder, (struct call){.at = call->at,
                                         .target = function,
                                         .length = call->length,
                                         .kind = CALL_BRANCH,
                                         .is_jump = true});
}

/* Only the first entries, as long as they point into this function, are certainly the table's, up
 * to the next place that other code uses. */
static void resolve_entries(struct value_flow *flow, struct call *call, struct code_value table,
                            struct jump_table *found) {
  struct graph_builder *builder = flow->builder;
  const struct call_graph *graph = builder->graph;
  const struct area *area = jump_table_area(flow, table);
  const uint32_t from = call_graph_function(graph, call->at);
  uint64_t target, own = 0;
  for (int64_t n = found->extent.first; n < found->extent.end; n++) {
    if (!jump_table_entry(graph, area, table, n, &target))
      continue;
    const uint32_t function = call_graph_function(graph, target);
    const bool is_step = unit_step(flow->unit, target) != NULL;
    const bool is_inside = is_step && function == from;
    const uint64_t address = table.table + (uint64_t)n * table.size;
    const bool is_used =
        area_is_marked(area, MARK_USED, address) || area_is_marked(area, MARK_BASE, address);
    own += own == (uint64_t)n && is_inside && (n == 0 || !is_used);
    if (is_step) /* other jumps may go there, too */
      graph_label(builder->graph, function, target);
    if (is_inside)
      continue;
    found->leads_out = true;
    add_way_out(flow, call, function);
  }
  if (found->resolved_in == 0)
    (void)code_ranges_add(&builder->tables, table.table, table.table + own * table.size);
  found->resolved_in = from + 1;
}

void jump_table_resolve(struct value_flow *flow, struct call *call, struct code_value table) {
  struct jump_table *found = jump_table_find(flow, table);
  const uint32_t from = call_graph_function(flow->builder->graph, call->at);
  const bool is_known = found->resolved_in == from + 1 && !found->leads_out;
  const uint64_t entries = (uint64_t)(found->extent.end - found->extent.first);
  if (!value_flow_spend(flow, is_known ? 0 : entries) || !has_room(flow->builder)) {
    call->target = graph_everything(flow->builder->graph);
    return;
  }
  if (!is_known)
    resolve_entries(flow, call, table, found);
  call->kind = CALL_NONE;
}
