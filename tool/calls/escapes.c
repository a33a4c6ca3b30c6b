/* escapes.c - address-taken functions, besides those whose address the code computes.
 *
 * Their addresses are in data. In a file that may be loaded anywhere, the dynamic linker must put
 * them there, so its relocations list them. A file with a fixed address has no such list, and each
 * word that equals the address of a function counts as it: words of 8 bytes and of 4, at any place,
 * with or without a tag in the bits that addresses leave unused. In either, an address may also be
 * stored as a distance of 4 bytes: from the word itself, or from the start of a table (as in C++'s
 * relative virtual tables), which some code or word must refer to. So words count as distances from
 * the last referenced places before them. A table of distances from the global offset table may be
 * anywhere. Distances from other places are in distances.c.
 *
 * A word that points into the middle of a function is either in a table of the function's own, or
 * another function enters it there: only the jump tables (jump_tables.c) are certain.
 *
 * Functions that only run when the file is loaded or unloaded come last: any other reference to
 * them takes precedence.
 */
#include "format/search.h"
#include "tool/calls/call_graph.h"

#include <string.h>

/* A place in the middle of a function where control may go must have an instruction; otherwise the
 * function's bytes were misread. In the first bytes, it is an address with a tag. */
static void enter(struct call_graph *graph, uint64_t address) {
  const uint32_t function = call_graph_function(graph, address);
  if (function != GRAPH_NO_NODE && address - graph->functions[function].address >= GRAPH_TAG_SIZE &&
      !area_is_marked(areas_find(&graph->areas, address), MARK_INSTRUCTION, address))
    graph->functions[function].is_undecodable = true;
}

/* ---- The dynamic linker's words ---- */

static void take_word(struct graph_builder *builder, const struct linkage_word *word,
                      bool at_start) {
  struct call_graph *graph = builder->graph;
  const struct area *area = areas_find(&graph->areas, word->address);
  const enum taken how = at_start ? TAKEN_BY_START : TAKEN_BY_RELOCATION;
  if (area == NULL || area->is_start_table != at_start)
    return;
  if (word->kind == CODE_RELOCATION_ADDRESS || word->kind == CODE_RELOCATION_RESOLVER) {
    if (!graph_take(graph, word->value, how, word->address) && word->value != 0 &&
        areas_are_beyond(&graph->areas, word->value))
      builder->hands_over = word->address;
    enter(graph, word->value);
    return;
  }
  /* The dynamic linker changes this code after it was decoded. */
  const uint32_t function = call_graph_function(graph, word->address);
  if (function != GRAPH_NO_NODE)
    graph->functions[function].is_undecodable = true;
  const struct linkage_symbol *symbol = &graph->linkage.symbols[word->symbol];
  if (word->symbol != 0 && symbol->is_defined && word->kind == CODE_RELOCATION_SYMBOL)
    graph_take(graph, symbol->address + word->value, how, word->address);
}

/* Goes through the jump tables, which are merged, as the addresses ascend. */
struct table_cursor {
  const struct code_ranges *tables;
  size_t next; /* the first one that ends behind the address */
};

static struct table_cursor cursor_at(const struct graph_builder *builder, uint64_t address) {
  const struct code_ranges *tables = &builder->tables;
  return (struct table_cursor){tables, SEARCH_UP_TO(tables->items, tables->count, end, address)};
}

static bool in_table(struct table_cursor *cursor, uint64_t address) {
  const struct code_ranges *tables = cursor->tables;
  while (cursor->next < tables->count && tables->items[cursor->next].end <= address)
    cursor->next++;
  return cursor->next < tables->count && tables->items[cursor->next].start <= address;
}

static void take_words(struct graph_builder *builder, bool at_start) {
  const struct linkage *linkage = &builder->graph->linkage;
  struct table_cursor tables = cursor_at(builder, 0);
  for (size_t i = 0; i < linkage->word_count; i++)
    if (!in_table(&tables, linkage->words[i].address))
      take_word(builder, &linkage->words[i], at_start);
}

/* Other files may find these by name, and so may this one (dlsym). Every symbol in code counts as a
 * function's, of any type. */
static void take_exports(struct call_graph *graph) {
  const struct linkage *linkage = &graph->linkage;
  for (uint32_t i = 1; i < linkage->symbol_count; i++) {
    const struct area *area = areas_find(&graph->areas, linkage->symbols[i].address);
    if (linkage->symbols[i].is_defined && area != NULL && area->is_code)
      graph_take(graph, linkage->symbols[i].address, TAKEN_BY_EXPORT, 0);
  }
}

/* ---- Words in data ---- */

static bool is_function(const struct call_graph *graph, uint64_t address) {
  const struct area *area = areas_find(&graph->areas, address);
  return area != NULL && area->is_code && area_is_marked(area, MARK_FUNCTION, address);
}

/* A function whose length is unrecorded may have others in its middle, unrecorded as well. The
 * linker's stubs are certain. */
static void mark_functions_within(struct call_graph *graph) {
  for (uint32_t i = 0; i < graph->function_count; i++) {
    const struct graph_function *function = &graph->functions[i];
    struct area *area = areas_find(&graph->areas, function->address);
    const uint64_t size = function->is_whole || graph_is_linkage(graph, i) ? 0 : function->size;
    for (uint64_t at = function->address; at < function->address + size; at++)
      if (function->is_undecodable || area_is_marked(area, MARK_INSTRUCTION, at))
        area_mark(area, MARK_FUNCTION, at);
  }
}

/* A word for lazy binding points back to the stub, until the dynamic linker changes it. */
static bool is_for_calls(const struct call_graph *graph, uint64_t address) {
  const struct linkage_word *word = linkage_find(&graph->linkage, address);
  return word != NULL && word->kind == CODE_RELOCATION_CALL;
}

/* Data may be instructions that the program makes executable: a call's or a jump's operand is the
 * distance from its own end. */
enum { OPERAND_SIZE = 4 };

/* Whether a word is one of several for places in a function: alone, it may be a number. */
static bool is_label(const struct call_graph *graph, const struct area *area, uint64_t address,
                     uint64_t word) {
  const uint32_t function = call_graph_function(graph, word);
  const uint64_t at = address - area->address;
  uint64_t others[2] = {0};
  if (at >= 8)
    memcpy(&others[0], area->bytes + at - 8, 8);
  if (area->size - at >= 16)
    memcpy(&others[1], area->bytes + at + 8, 8);
  for (unsigned i = 0; i < 2; i++)
    if (function != GRAPH_NO_NODE && call_graph_function(graph, others[i]) == function &&
        area_is_marked(areas_find(&graph->areas, others[i]), MARK_INSTRUCTION, others[i]))
      return true;
  return false;
}

/* A word at a place, as each kind of reference to code. */
static void take_word_at(struct graph_builder *builder, const struct area *area, uint64_t address,
                         uint64_t word) {
  struct call_graph *graph = builder->graph;
  const enum taken how = area->is_start_table ? TAKEN_BY_START : TAKEN_BY_DATA;
  const uint64_t distant = address + (uint64_t)(int64_t)(int32_t)word;
  if (distant != address && is_function(graph, distant))
    graph_take(graph, distant, how, address);
  if (!area->is_code && is_function(graph, distant + OPERAND_SIZE))
    graph_take(graph, distant + OPERAND_SIZE, how, address);
  if (!graph->linkage.is_fixed)
    return;
  if ((address % 8 == 0 && !area->is_code) || is_function(graph, word & ADDRESS_BITS))
    graph_take(graph, word, how, address);
  if (address % 8 == 0 && !area->is_code && is_label(graph, area, address, word))
    enter(graph, word);
  if (is_function(graph, (uint32_t)word))
    graph_take(graph, (uint32_t)word, how, address);
}

/* The range of all code. */
struct code_addresses {
  uint64_t start, span;
  bool is_fixed;
};

static struct code_addresses code_addresses(const struct call_graph *graph) {
  return (struct code_addresses){graph->code_start, graph->code_span, graph->linkage.is_fixed};
}

/* Whether a word may refer to code, by its lower half alone: that excludes most words. */
static bool may_lead_to_code(struct code_addresses code, uint64_t address, uint32_t lower) {
  const uint64_t end = address + (uint64_t)(int64_t)(int32_t)lower + OPERAND_SIZE;
  return end - code.start < code.span + OPERAND_SIZE ||
         (code.is_fixed && lower - (uint32_t)code.start < code.span);
}

/* Words of every size and place, as addresses (in a file at a fixed address) and as distances from
 * themselves. At an odd place, and in code, they count only for a function's start; code may have
 * data between functions and in front of them, where distances are aligned. */
static void take_words_of(struct graph_builder *builder, const struct area *area) {
  struct call_graph *graph = builder->graph;
  const struct code_addresses code = code_addresses(graph);
  const bool is_code = area->is_code, has_addresses = code.is_fixed && !is_code;
  const unsigned step = is_code && !code.is_fixed ? 4 : 1;
  struct table_cursor tables = cursor_at(builder, area->address);
  const uint8_t *bytes = area->bytes;
  const uint64_t start = area->address, size = area->size;
  for (uint64_t at = -start % step; at + 4 <= size; at += step) {
    const uint64_t address = start + at;
    uint32_t lower;
    memcpy(&lower, bytes + at, sizeof lower);
    if (is_code && address % 4 != 0) {
      if (lower - (uint32_t)code.start < code.span && is_function(graph, lower))
        graph_take(graph, lower, TAKEN_BY_DATA, address);
      continue;
    }
    const bool may_lead = may_lead_to_code(code, address, lower);
    if (!may_lead && (!has_addresses || address % 8 != 0))
      continue;
    uint64_t word = lower;
    if (at + 8 <= size)
      memcpy(&word, bytes + at, sizeof word);
    if (may_lead && !in_table(&tables, address) && !is_for_calls(graph, address))
      take_word_at(builder, area, address, word);
    else if (!may_lead && !areas_are_beyond(&graph->areas, word))
      graph_take(graph, word, TAKEN_BY_DATA, address); /* of data: it may be a table */
  }
}

/* Data in front of a function, such as prefix data, may have distances from the function's start.
 * It is an unnamed function of its own here. */
static void take_prefix(struct call_graph *graph, uint32_t number) {
  const struct graph_function *prefix = &graph->functions[number];
  const struct area *area = areas_find(&graph->areas, prefix->address);
  const uint64_t end = prefix->address + prefix->size;
  for (uint64_t at = prefix->address; at + 4 <= end; at++) {
    int32_t distance;
    memcpy(&distance, area->bytes + (at - area->address), sizeof distance);
    const uint64_t target = end + (uint64_t)(int64_t)distance;
    if (distance != 0 && is_function(graph, target))
      graph_take(graph, target, TAKEN_BY_DATA, at);
  }
}

static void take_prefixes(struct call_graph *graph) {
  for (uint32_t i = 0; i < graph->function_count; i++)
    if (!graph->functions[i].is_whole && call_graph_name(graph, i) == NULL &&
        !graph_is_linkage(graph, i))
      take_prefix(graph, i);
}

/* The last places that something refers to, before where an area is gone through. */
enum { BASES = 16 };
struct bases {
  uint64_t items[BASES];
  size_t count; /* of all: the place number n is items[n % BASES] */
};

/* A word as a distance from a place that something refers to: mostly from the last one, where a
 * table starts. But something may refer to a table's middle, too; then the word is the distance to
 * a function's start. */
static void take_distance(struct call_graph *graph, const struct bases *bases, uint64_t address,
                          int32_t distance) {
  for (size_t n = bases->count; n > 0 && bases->count - n < BASES; n--) {
    const uint64_t base = bases->items[(n - 1) % BASES];
    const uint64_t target = base + (uint64_t)(int64_t)distance;
    const bool is_likely = n == bases->count && (address - base) % 4 == 0;
    if (target - graph->code_start < graph->code_span && (is_likely || is_function(graph, target)))
      graph_take(graph, target, TAKEN_BY_DATA, address);
  }
}

/* Words as distances from referenced places. */
static void take_distances(struct graph_builder *builder, const struct area *area) {
  struct call_graph *graph = builder->graph;
  struct table_cursor tables = cursor_at(builder, area->address);
  struct bases bases = {.count = 0};
  const struct code_addresses code = code_addresses(graph);
  const uint8_t *bytes = area->bytes, *marks = area->marks[MARK_BASE];
  const uint64_t start = area->address, size = area->size;
  for (uint64_t at = 0; at + 4 <= size; at++) {
    const uint64_t address = start + at;
    if ((marks[at / 8] >> at % 8 & 1) != 0)
      bases.items[bases.count++ % BASES] = address;
    int32_t distance;
    memcpy(&distance, bytes + at, sizeof distance);
    const uint64_t highest = address + (uint64_t)(int64_t)distance;
    if (highest - code.start < code.span + at && distance != 0 && !in_table(&tables, address))
      take_distance(graph, &bases, address, distance);
  }
}

/* Words of 8 bytes as distances from the global offset table, if some code computes its address
 * (AMD64 psABI, 4.4: GOTOFF). */
static void take_offsets(struct call_graph *graph, const struct area *area, uint64_t offset_table) {
  const struct area *from = areas_find(&graph->areas, offset_table);
  if (from == NULL || from->is_code || !area_is_marked(from, MARK_BASE, offset_table))
    return;
  const struct code_addresses code = code_addresses(graph);
  const uint8_t *bytes = area->bytes;
  const uint64_t size = area->size;
  for (uint64_t at = 0; at + 8 <= size; at++) {
    uint64_t word;
    memcpy(&word, bytes + at, sizeof word);
    if (word != 0 && offset_table + word - code.start < code.span &&
        is_function(graph, offset_table + word))
      graph_take(graph, offset_table + word, TAKEN_BY_DATA, area->address + at);
  }
}

/* ---- Open ranges ---- */

/* Places from which code may make an address are distances from the code's start, plus MIDDLE, so
 * that those below the code come first. */
#define MIDDLE ((uint64_t)1 << 63)

/* Takes the functions at a distance from any of the places. It goes from one untaken function to
 * the next, so that many words don't go through the same functions. */
static void take_reached(struct graph_builder *builder, const struct code_ranges *places,
                         uint64_t distance, uint64_t at) {
  struct call_graph *graph = builder->graph;
  uint32_t i = graph_untaken(builder, 0);
  while (i < graph->function_count) {
    const uint64_t address = graph->functions[i].address;
    const uint64_t place = address - graph->code_start + MIDDLE - distance;
    const size_t number = SEARCH_UP_TO(places->items, places->count, end, place);
    if (number == places->count)
      return;
    const uint64_t gap = places->items[number].start - place;
    if (places->items[number].start <= place)
      (void)graph_take_range(builder, address, address + 1, TAKEN_BY_DATA, at);
    else if (gap >= graph->code_span)
      return;
    else
      i = (uint32_t)SEARCH_BELOW(graph->functions, graph->function_count, address, address + gap);
    i = graph_untaken(builder, i);
  }
}

/* Words of an area as distances from any place in the ranges before them, each of them possibly
 * referenced. */
static void take_open_distances(struct graph_builder *builder, const struct area *area,
                                const struct code_range *open, size_t count) {
  const uint64_t middle = MIDDLE - builder->graph->code_start;
  struct code_ranges places = {0};
  const uint64_t from = open->start > area->address ? open->start : area->address;
  const uint64_t first = from - from % 4 + 4;
  struct table_cursor tables = cursor_at(builder, first);
  for (uint64_t at = first - area->address; at + 4 <= area->size; at += 4) {
    const uint64_t address = area->address + at;
    int32_t distance;
    for (; count > 0 && open->start < address; open++, count--)
      (void)code_ranges_append(&places,
                               (struct code_range){open->start + middle, open->end + middle});
    memcpy(&distance, area->bytes + at, sizeof distance);
    if (distance != 0 && !in_table(&tables, address))
      take_reached(builder, &places, (uint64_t)(int64_t)distance, address);
  }
  code_ranges_free(&places);
}

/* Each range is for the first area that it overlaps. All ranges have one length, except for those
 * that begin at 0. */
static void take_open(struct graph_builder *builder) {
  struct code_ranges *open = &builder->open;
  const struct areas *areas = &builder->graph->areas;
  size_t next = 0;
  code_ranges_sort(open);
  for (size_t i = 0; i < areas->count; i++) {
    const struct area *area = &areas->items[i];
    if (area->is_code)
      continue;
    while (next < open->count && open->items[next].end <= area->address)
      next++;
    const size_t first = next;
    while (next < open->count && open->items[next].start < area->address + area->size)
      next++;
    if (next > first)
      take_open_distances(builder, area, &open->items[first], next - first);
  }
  code_ranges_merge(open);
}

static void take_entered(struct call_graph *graph) {
  for (uint32_t i = 0; i < graph->function_count; i++) {
    struct graph_function *function = &graph->functions[i];
    if (function->taken == TAKEN_NOT && function->entered != TAKEN_NOT)
      function->taken = function->entered;
  }
}

/* An unwinder calls the personality routines of the functions that it passes. */
static void take_personalities(struct call_graph *graph, const struct image *image) {
  const struct section_bytes frames = image_contents(image, ".eh_frame");
  struct code_ranges routines = {0};
  (void)eh_frame_add_personalities(&routines, &frames);
  for (size_t i = 0; i < routines.count; i++)
    graph_take(graph, routines.items[i].start, TAKEN_BY_UNWINDER, frames.address);
  code_ranges_free(&routines);
}

void escapes_find(struct graph_builder *builder, const struct image *image) {
  struct call_graph *graph = builder->graph;
  code_ranges_merge(&builder->tables);
  mark_functions_within(graph);
  take_words(builder, false);
  take_exports(graph);
  for (int at_start = 0; at_start <= 1; at_start++)
    for (size_t i = 0; i < graph->areas.count; i++)
      if (graph->areas.items[i].is_start_table == (at_start == 1))
        take_words_of(builder, &graph->areas.items[i]);
  for (size_t i = 0; i < graph->areas.count; i++) {
    if (graph->areas.items[i].is_code)
      continue;
    take_distances(builder, &graph->areas.items[i]);
    for (unsigned k = 0; k < OFFSET_TABLES; k++)
      take_offsets(graph, &graph->areas.items[i], graph->linkage.offset_tables[k]);
  }
  take_prefixes(graph);
  take_open(builder);
  distances_find(builder);
  if (graph->linkage.unknown != 0)
    (void)graph_take_range(builder, 0, UINT64_MAX, TAKEN_BY_RELOCATION, graph->linkage.unknown);
  if (builder->hands_over != 0)
    (void)graph_take_range(builder, 0, UINT64_MAX, TAKEN_BY_SUM, builder->hands_over);
  take_personalities(graph, image);
  take_words(builder, true);
  graph_take(graph, graph->linkage.init, TAKEN_BY_START, 0);
  graph_take(graph, graph->linkage.fini, TAKEN_BY_START, 0);
  take_entered(graph);
}
