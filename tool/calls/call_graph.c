/* call_graph.c - see call_graph.h: puts the steps together, and looks things up. */
#include "tool/calls/call_graph.h"

#include "format/array.h"
#include "format/search.h"
#include "tool/code/code.h"
#include "tool/image/clean.h"
#include "tool/image/trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Looking up ---- */

uint32_t call_graph_function(const struct call_graph *graph, uint64_t address) {
  if (address - graph->code_start >= graph->code_span) /* most queries are for data */
    return GRAPH_NO_NODE;
  const size_t from = SEARCH_UP_TO(graph->functions, graph->function_count, address, address);
  if (from == 0 || address - graph->functions[from - 1].address >= graph->functions[from - 1].size)
    return GRAPH_NO_NODE;
  return (uint32_t)from - 1;
}

uint32_t call_graph_start(const struct call_graph *graph, uint64_t address) {
  const uint32_t number = call_graph_function(graph, address);
  return number != GRAPH_NO_NODE && graph->functions[number].address == address ? number
                                                                                : GRAPH_NO_NODE;
}

uint32_t call_graph_calls_near(const struct call_graph *graph, uint64_t end) {
  const uint64_t first = end < UINT8_MAX ? 0 : end - UINT8_MAX; /* of the longest instruction */
  return (uint32_t)SEARCH_BELOW(graph->calls, graph->call_count, at, first);
}

bool graph_uses(const struct call_graph *graph, const char *words) {
  if (graph->has_system_call && name_is_among(LEAF_SYSTEM_CALL, ' ', words))
    return true;
  for (uint32_t i = 1; *words != 0 && i < graph->linkage.symbol_count; i++)
    if (name_is_among(graph->linkage.symbols[i].name, ' ', words))
      return true;
  return false;
}

const char *call_graph_name(const struct call_graph *graph, uint32_t node) {
  if (graph_is_function(graph, node))
    return names_find(&graph->names, graph->functions[node].address);
  const struct linkage_symbol *symbol = graph_symbol_of(graph, node);
  return symbol == NULL || *symbol->name == 0 ? NULL : symbol->name;
}

void call_graph_print_node(const struct call_graph *graph, uint32_t node) {
  const char *name = call_graph_name(graph, node);
  if (name != NULL)
    clean_print(stdout, name);
  else if (graph_is_function(graph, node))
    printf("0x%" PRIx64, graph->functions[node].address);
  else if (node == graph_anything(graph))
    printf("any function whose address is taken");
  else if (node == graph_everything(graph))
    printf("any function");
  else
    printf("any function of a type");
}

/* ---- For the steps ---- */

struct parts graph_parts(const struct graph_builder *builder) {
  return (struct parts){.global = builder->global,
                        .global_register = builder->architecture->global_register,
                        .is_fixed = builder->graph->linkage.is_fixed};
}

void graph_lose_pointers(const struct call_graph *graph, uint32_t number) {
  EACH_CALL(graph, &graph->functions[number], call)
    if (call->target == graph_anything(graph))
      call->target = graph_everything(graph);
}

void graph_label(struct call_graph *graph, uint32_t function, uint64_t address) {
  area_mark(areas_find(&graph->areas, address), MARK_LABEL, address);
  graph->functions[function].has_label = true;
}

/* Whether some instruction may use the memory at an address: see parts.h. */
static bool is_open(const struct graph_builder *builder, uint64_t address) {
  const struct code_ranges *open = &builder->open;
  const size_t before = SEARCH_UP_TO(open->items, open->count, start, address);
  return before > 0 && address < open->items[before - 1].end;
}

bool graph_word_is_taken(const struct graph_builder *builder, const struct linkage_word *word) {
  const struct call_graph *graph = builder->graph;
  const struct linkage_symbol *symbol = &graph->linkage.symbols[word->symbol];
  if (word->kind != CODE_RELOCATION_SYMBOL || symbol->is_defined || !symbol->is_code)
    return false;
  const struct area *area = areas_find(&graph->areas, word->address);
  return !word->is_constant || area == NULL || area_is_marked(area, MARK_USED, word->address) ||
         area_is_marked(area, MARK_BASE, word->address) || is_open(builder, word->address);
}

bool graph_take(struct call_graph *graph, uint64_t address, enum taken how, uint64_t at) {
  struct area *area = areas_find(&graph->areas, address);
  if (area == NULL && address > UINT32_MAX) { /* with a tag in its high bits? */
    address &=
        areas_find(&graph->areas, address & ADDRESS_BITS) != NULL ? ADDRESS_BITS : UINT32_MAX;
    area = areas_find(&graph->areas, address);
  }
  if (area == NULL)
    return false;
  if (!area->is_code) {
    area_mark(area, MARK_BASE, address);
    return true;
  }
  const uint32_t number = call_graph_function(graph, address);
  if (number == GRAPH_NO_NODE)
    return false;
  struct graph_function *function = &graph->functions[number];
  const uint64_t into = address - function->address;
  if (into != 0 || function->is_part)
    graph_label(graph, number, address);
  const bool from_elsewhere = how == TAKEN_BY_CODE && at - function->address >= function->size;
  if (function->taken != TAKEN_NOT)
    return true;
  if (into < GRAPH_TAG_SIZE || from_elsewhere)
    function->taken = (uint8_t)how;
  else if (function->entered == TAKEN_NOT)
    function->entered = (uint8_t)how;
  else
    return true;
  function->taken_at = at;
  return true;
}

/* Many ranges may have the same functions: each function is taken by one of them, and passed over
 * by the others, by steps that become longer. */
uint32_t graph_untaken(struct graph_builder *builder, uint32_t number) {
  const uint32_t count = builder->graph->function_count;
  uint32_t *next = builder->untaken;
  if (next == NULL) {
    builder->untaken = next = malloc(((size_t)count + 1) * sizeof *next);
    for (uint32_t i = 0; i <= count; i++)
      next[i] = i;
  }
  for (; next[number] != number; number = next[number])
    next[number] = next[next[number]];
  return number;
}

bool graph_take_range(struct graph_builder *builder, uint64_t start, uint64_t end, enum taken how,
                      uint64_t at) {
  struct call_graph *graph = builder->graph;
  const uint32_t first =
      (uint32_t)SEARCH_BELOW(graph->functions, graph->function_count, address, start);
  if (first == graph->function_count || graph->functions[first].address >= end)
    return false;
  for (uint32_t i = graph_untaken(builder, first);
       i < graph->function_count && graph->functions[i].address < end;
       i = graph_untaken(builder, i)) {
    graph_take(graph, graph->functions[i].address, how, at);
    builder->untaken[i] = i + 1;
  }
  return true;
}

void graph_add_call(struct graph_builder *builder, struct call call) {
  struct call_graph *graph = builder->graph;
  (void)ARRAY_ADD(graph->calls, graph->call_count, builder->call_capacity, call);
}

void graph_add_later(struct graph_builder *builder, struct call call) {
  (void)ARRAY_ADD(builder->later, builder->later_count, builder->later_capacity, call);
}

void graph_add_anywhere(struct graph_builder *builder, uint64_t at) {
  graph_add_later(builder, (struct call){.at = at,
                                         .target = graph_everything(builder->graph),
                                         .length = 1,
                                         .kind = CALL_INDIRECT,
                                         .is_jump = true});
}

void graph_add_landing(struct graph_builder *builder, uint64_t address, uint32_t from) {
  (void)ARRAY_ADD(builder->landings, builder->landing_count, builder->landing_capacity,
                  (struct landing){address, from});
}

/* ---- The whole ---- */

static int compare_calls(const void *a, const void *b) {
  const struct call *x = a, *y = b;
  ORDER_BY(x, y, at)
  return x->target < y->target ? -1 : x->target > y->target;
}

/* Drops the calls of CALL_NONE, and merges in those that were found later; afterwards calls are in
 * the order of their addresses. */
static void merge_calls(struct graph_builder *builder) {
  struct call_graph *graph = builder->graph;
  for (size_t i = 0; i < builder->later_count; i++)
    graph_add_call(builder, builder->later[i]);
  builder->later_count = 0;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < graph->call_count; i++)
    if (graph->calls[i].kind != CALL_NONE)
      graph->calls[kept++] = graph->calls[i];
  array_sort(graph->calls, kept, sizeof *graph->calls, compare_calls);
  graph->call_count = 0;
  for (uint32_t i = 0; i < kept; i++)
    if (i == 0 || compare_calls(&graph->calls[i - 1], &graph->calls[i]) != 0)
      graph->calls[graph->call_count++] = graph->calls[i];
  uint32_t next = 0;
  for (uint32_t i = 0; i < graph->function_count; i++) {
    struct graph_function *function = &graph->functions[i];
    function->first_call = next;
    while (next < graph->call_count && graph->calls[next].at - function->address < function->size)
      next++;
  }
  graph->functions[graph->function_count].first_call = next;
  assert(next == graph->call_count && IS_SORTED(graph->calls, graph->call_count, at));
}

bool graph_is_linkage(const struct call_graph *graph, uint32_t number) {
  assert(number < graph->function_count);
  const struct area *area = areas_find(&graph->areas, graph->functions[number].address);
  return area != NULL && area->is_linkage;
}

uint32_t graph_stub_target(const struct call_graph *graph, uint32_t number) {
  const struct graph_function *function = &graph->functions[number];
  if (function[1].first_call - function[0].first_call != 1 || function->is_undecodable ||
      !graph_is_linkage(graph, number))
    return GRAPH_NO_NODE;
  const struct call *call = &graph->calls[function->first_call];
  return call->kind == CALL_OUTSIDE && call->is_jump ? call->target : GRAPH_NO_NODE;
}

/* Calls of a stub are calls of its symbol. */
static void look_through_stubs(struct call_graph *graph) {
  for (uint32_t i = 0; i < graph->call_count; i++) {
    struct call *call = &graph->calls[i];
    const uint32_t symbol = graph_is_function(graph, call->target) && !call->is_inside
                                ? graph_stub_target(graph, call->target)
                                : GRAPH_NO_NODE;
    if (symbol == GRAPH_NO_NODE)
      continue;
    call->target = symbol;
    call->kind = CALL_OUTSIDE;
  }
}

/* Unreachable words of data are harmless. */
static void settle_data(struct call_graph *graph) {
  bool *is_entered = calloc((size_t)graph_nodes(graph) + 1, sizeof *is_entered);
  for (uint32_t i = 0; i < graph->call_count; i++) {
    assert(graph->calls[i].target < graph_nodes(graph));
    is_entered[graph->calls[i].target] = true;
  }
  for (uint32_t i = 0; i < graph->function_count; i++) {
    struct graph_function *function = &graph->functions[i];
    if (function->is_data && !is_entered[i] && function->taken == TAKEN_NOT && !function->is_typed)
      function->is_undecodable = false;
  }
  free(is_entered);
}

/* Notes the end of a pass: see tool/image/trace.h. */
static void end_pass(struct trace *trace, const struct call_graph *graph, const char *pass) {
  trace_pass(trace, pass, "%" PRIu32 " functions, %" PRIu32 " calls", graph->function_count,
             graph->call_count);
}

static bool build(struct graph_builder *builder, const struct image *image,
                  const struct safepoints *table, struct problem *problem) {
  struct trace trace = trace_begin("calls");
  functions_find(builder, image, table);
  end_pass(&trace, builder->graph, "functions_find");
  if (!landings_read(builder, image, problem))
    return false;
  end_pass(&trace, builder->graph, "landings_read");
  sweep(builder);
  end_pass(&trace, builder->graph, "sweep");
  landings_add(builder);
  frame_groups_find(builder);
  indirect_calls_resolve(builder);
  end_pass(&trace, builder->graph, "indirect_calls_resolve");
  registered_note(builder);
  end_pass(&trace, builder->graph, "registered_note");
  escapes_find(builder, image);
  end_pass(&trace, builder->graph, "escapes_find");
  indirect_calls_enter_labels(builder);
  end_pass(&trace, builder->graph, "indirect_calls_enter_labels");
  merge_calls(builder);
  patches_find(builder, table);
  if (builder->later_count > 0)
    merge_calls(builder);
  end_pass(&trace, builder->graph, "patches_find");
  look_through_stubs(builder->graph);
  call_types_read(builder, image, table);
  end_pass(&trace, builder->graph, "call_types_read");
  settle_data(builder->graph);
  registered_check(builder);
  end_pass(&trace, builder->graph, "registered_check");
  return true;
}

/* So that functions and calls can be counted by 32 bits, and pointers have room for tags. */
static bool check_size(const struct areas *areas, struct problem *problem) {
  uint64_t size = 0;
  for (size_t i = 0; i < areas->count; i++) {
    const struct area *area = &areas->items[i];
    if (area->address > ADDRESS_BITS || area->size > ADDRESS_BITS - area->address)
      return problem_set(problem, "%s is at an address of more than 48 bits", area->name);
    size += area->is_code ? area->size : 0;
  }
  return size <= INT32_MAX || problem_set(problem, "more than 2 GB of code");
}

static bool check(const struct image *image, struct problem *problem) {
  if (image->is_laid_out || (image->header.e_type != ET_EXEC && image->header.e_type != ET_DYN))
    return problem_set(problem, "neither an executable nor a shared library: link it first");
  if (image->section_count == 0)
    return problem_set(problem, "no section headers (stripped off?), which tell code from data");
  if (code_architecture(image->header.e_machine) == NULL)
    return problem_set(problem, "code for %s, which can't be analysed",
                       image->machine != NULL ? image->machine->name : "an unknown machine");
  return true;
}

bool call_graph_open(struct call_graph *graph, const struct image *image,
                     const struct image_section *raw, const struct safepoints *table,
                     struct problem *problem) {
  *graph = (struct call_graph){0};
  if (!check(image, problem))
    return false;
  struct graph_builder builder = {.graph = graph,
                                  .architecture = code_architecture(image->header.e_machine)};
  names_open(&graph->names, image);
  graph->calls = calloc(1, sizeof *graph->calls); /* not NULL, for EACH_CALL */
  const bool ok = linkage_open(&graph->linkage, image, problem) &&
                  areas_open(&graph->areas, image, raw, problem) &&
                  check_size(&graph->areas, problem) && build(&builder, image, table, problem);
  free(builder.namings);
  free(builder.later);
  free(builder.landings);
  free(builder.pads);
  free(builder.pad_landings.items);
  free(builder.pad_pointers);
  free(builder.group);
  free(builder.next_in_group);
  free(builder.callbacks);
  free(builder.untaken);
  code_ranges_free(&builder.tables);
  code_ranges_free(&builder.open);
  unit_close(&builder.unit);
  if (!ok)
    call_graph_close(graph);
  return ok;
}

void call_graph_close(struct call_graph *graph) {
  areas_close(&graph->areas);
  linkage_close(&graph->linkage);
  names_close(&graph->names);
  free(graph->functions);
  free(graph->calls);
  free(graph->types);
  free(graph->type_members);
  *graph = (struct call_graph){0};
}
