/* functions.c - where functions start: divides the code for the call graph.
 *
 * Symbols give the starts; where they are stripped off, unwind tables, stack maps and exported
 * symbols do. Each of these may be incomplete: assembly code may lack unwind tables, a static
 * function a symbol. So each only adds starts, and the code between two starts is one function. But
 * where a symbol or unwind table ends a function earlier, and other code than padding follows, that
 * is one more function, without a source for its start or end.
 *
 * A procedure linkage table has a stub for each symbol, and mostly no symbols of its own: its jumps
 * divide it.
 */
#include "elf/evidence.h"
#include "format/search.h"
#include "tool/calls/call_graph.h"
#include "tool/code/code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A label in code may be the start of a function in assembly, where types are optional. */
static void add_symbols(struct integers *starts, const struct image *image) {
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next_defined(&at);) {
    const unsigned type = GELF_ST_TYPE(at.symbol.st_info);
    const bool is_label = type == STT_NOTYPE && *at.name != 0 && !names_is_mapping(at.name);
    if (type == STT_FUNC || type == STT_GNU_IFUNC || is_label)
      integers_add(starts, at.symbol.st_value);
  }
}

/* Sorts the starts, and keeps each that is in code once. */
static void sort_starts(struct integers *starts, const struct areas *areas) {
  size_t kept = 0;
  integers_sort(starts);
  for (size_t i = 0; i < starts->count; i++) {
    const struct area *area = areas_find(areas, starts->items[i]);
    if (area != NULL && area->is_code)
      starts->items[kept++] = starts->items[i];
  }
  starts->count = kept;
}

/* The first address from `from` on after padding; `to` if the rest is padding. */
static uint64_t after_padding(const struct graph_builder *builder, const struct area *area,
                              uint64_t from, uint64_t to) {
  struct code_instruction instruction;
  while (from < to) {
    const uint8_t *bytes = area->bytes + (from - area->address);
    if (*bytes == 0) { /* padding of linkers, or the start of an unlikely instruction */
      const uint8_t *end = bytes + (to - from);
      while (bytes < end && *bytes == 0)
        bytes++;
      return bytes == end ? to : from;
    }
    builder->architecture->decode(bytes, area->address + area->size - from, from, &instruction);
    if (instruction.kind != CODE_PADDING && instruction.kind != CODE_STOP)
      return from;
    from += instruction.length;
    while (instruction.length == 1 && from < to && area->bytes[from - area->address] == *bytes)
      from++; /* an instruction of one byte is the same again */
  }
  return to; /* also where an instruction reaches beyond: some unwind tables start a byte early */
}

/* The stubs of a procedure linkage table: each ends with a jump, and the next starts after it and
 * its padding. The code after a jump in the same stub, for lazy binding, becomes a function of its
 * own, too. The section's entry size is unreliable: some state none, and some tables start with a
 * larger entry. */
static void add_stubs(const struct graph_builder *builder, struct integers *starts,
                      const struct area *area) {
  const uint64_t end = area->address + area->size;
  struct code_instruction instruction;
  for (uint64_t at = area->address; at < end; at += instruction.length) {
    builder->architecture->decode(area->bytes + (at - area->address), end - at, at, &instruction);
    if (instruction.kind == CODE_JUMP)
      integers_add(starts, after_padding(builder, area, at + instruction.length, end));
  }
}

static void add_all(const struct graph_builder *builder, struct integers *starts,
                    const struct image *image, const struct safepoints *table,
                    const struct code_ranges *unwound) {
  const struct call_graph *graph = builder->graph;
  add_symbols(starts, image);
  for (size_t i = 0; i < unwound->count; i++)
    integers_add(starts, unwound->items[i].start);
  for (uint32_t i = 0; table != NULL && i < table->function_count; i++)
    integers_add(starts, table->functions[i].address);
  for (size_t i = 0; i < graph->areas.count; i++) {
    if (graph->areas.items[i].is_code)
      integers_add(starts, graph->areas.items[i].address);
    if (graph->areas.items[i].is_linkage)
      add_stubs(builder, starts, &graph->areas.items[i]);
  }
  integers_add(starts, graph->linkage.entry);
  integers_add(starts, graph->linkage.init);
  integers_add(starts, graph->linkage.fini);
}

/* ---- Gaps ---- */

/* Adds code after the recorded end of a function and before the next start. */
static void add_gaps(const struct graph_builder *builder, struct integers *starts,
                     const struct code_ranges *ranges) {
  const struct areas *areas = &builder->graph->areas;
  const size_t count = starts->count;
  uint64_t known_end = 0;
  size_t range = 0;
  for (size_t i = 0; i < count; i++) {
    const uint64_t start = starts->items[i];
    const struct area *area = areas_find(areas, start);
    assert(area != NULL); /* sort_starts has left out the others */
    const uint64_t area_end = area->address + area->size;
    const uint64_t next =
        i + 1 < count && starts->items[i + 1] < area_end ? starts->items[i + 1] : area_end;
    for (; range < ranges->count && ranges->items[range].start <= start; range++)
      if (ranges->items[range].end > known_end)
        known_end = ranges->items[range].end;
    if (known_end <= start || known_end >= next)
      continue;
    const uint64_t code = after_padding(builder, area, known_end, next);
    if (code < next)
      integers_add(starts, code);
  }
}

/* ---- The functions ---- */

/* A word in front of a function, without a symbol, as -fsanitize=kcfi puts there: a jump to it may
 * do anything, but it is mostly unreachable. */
static void find_data(struct call_graph *graph) {
  enum { SIZE = 8 }; /* of a word, and of padding */
  for (uint32_t i = 0; i < graph->function_count; i++) {
    struct graph_function *function = &graph->functions[i];
    function->is_data = !function->is_whole && function->size < SIZE &&
                        call_graph_name(graph, i) == NULL && !graph_is_linkage(graph, i);
    function->is_undecodable = function->is_data;
  }
}

static void make_functions(struct call_graph *graph, const struct integers *starts,
                           const struct code_ranges *ranges) {
  assert(graph->functions == NULL && IS_SORTED(ranges->items, ranges->count, start));
  graph->functions = calloc(starts->count + 1, sizeof *graph->functions);
  graph->function_count = (uint32_t)starts->count;
  size_t range = 0;
  for (size_t i = 0; i < starts->count; i++) {
    struct area *area = areas_find(&graph->areas, starts->items[i]);
    assert(area != NULL && (i == 0 || starts->items[i - 1] < starts->items[i]));
    const uint64_t area_end = area->address + area->size;
    const bool is_last = i + 1 == starts->count || starts->items[i + 1] >= area_end;
    graph->functions[i].address = starts->items[i];
    graph->functions[i].size = (is_last ? area_end : starts->items[i + 1]) - starts->items[i];
    while (range < ranges->count && ranges->items[range].start < starts->items[i])
      range++;
    graph->functions[i].is_whole =
        range < ranges->count && ranges->items[range].start == starts->items[i];
    graph->code_size += graph->functions[i].size;
    area_mark(area, MARK_FUNCTION, starts->items[i]);
  }
  if (graph->function_count > 0) {
    const struct graph_function *last = &graph->functions[graph->function_count - 1];
    graph->code_start = graph->functions[0].address;
    graph->code_span = last->address + last->size - graph->code_start;
  }
}

void functions_find(struct graph_builder *builder, const struct image *image,
                    const struct safepoints *table) {
  struct evidence evidence;
  struct integers starts = {0};
  (void)evidence_find(&evidence, &image->elf_image);
  const struct code_ranges *unwound = &evidence.code.unwound;
  struct code_ranges *ranges = &evidence.code.named; /* and then of both */
  add_all(builder, &starts, image, table, unwound);
  for (size_t i = 0; i < unwound->count; i++)
    (void)code_ranges_add(ranges, unwound->items[i].start, unwound->items[i].end);
  code_ranges_sort(ranges);
  sort_starts(&starts, &builder->graph->areas);
  add_gaps(builder, &starts, ranges);
  sort_starts(&starts, &builder->graph->areas);
  make_functions(builder->graph, &starts, ranges);
  find_data(builder->graph);
  free(starts.items);
  evidence_free(&evidence);
}
