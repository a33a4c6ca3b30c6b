/* call_types.c - narrows indirect calls by the types that `.llvm.callgraph` tells.
 *
 * Clang's option -fexperimental-call-graph-section writes an entry for each function (LLVM's
 * AsmPrinter::emitCallGraphSection; all numbers little-endian):
 *
 *   u8 version, 0; u8 flags; u64 address; u64 type's identifier, 0 if it isn't known
 *   flags & 1: a pointer may lead here
 *   flags & 2: ULEB128 count, and as many u64: functions that are called directly
 *   flags & 4: ULEB128 count, and as many u64: types of the pointers that are called
 *
 * So the types belong to the caller as a whole, not to each call. They tell of all calls that the
 * frontend gave a type: but a statepoint's call has lost it (rewrite-statepoints-for-gc doesn't keep
 * it). Calls that have a record therefore stay as they were, and so do functions that list no type.
 *
 * A pointer of a type leads to the functions of that type, if their addresses are taken at all; and
 * to functions without a known type. A pointer from another file may lead there. None comes to a
 * program that is linked with the C library alone, and doesn't look functions up by their names.
 */
#include "format/array.h"
#include "tool/calls/call_graph.h"

#include <stdlib.h>
#include <string.h>

enum { FLAG_TARGET = 1, FLAG_DIRECT = 2, FLAG_INDIRECT = 4 };

struct entry {
  uint64_t type; /* 0: not known */
  size_t types;  /* where the types of its pointers are in `identifiers` */
  uint32_t type_count;
  uint32_t function;
};

struct reader {
  const uint8_t *bytes;
  size_t size, position;
  bool is_broken;
};

struct types {
  struct graph_builder *builder;
  const struct safepoints *table;
  struct entry *entries; /* by function */
  uint64_t *identifiers;
  size_t entry_count, entry_capacity, identifier_count, identifier_capacity;
  size_t type_capacity, member_capacity;
  uint32_t member_count, known_types; /* types 1 to known_types have an identifier */
  bool no_memory;
};

/* Makes room for one more item. */
static bool make_room(struct types *types, void **items, size_t count, size_t *capacity,
                      size_t size) {
  if (array_make_room(items, capacity, count + 1, size))
    return true;
  types->no_memory = true;
  return false;
}

/* ---- Reading ---- */

static uint64_t read_number(struct reader *reader, unsigned size) {
  uint64_t number = 0;
  if (reader->size - reader->position < size) {
    reader->is_broken = true;
    return 0;
  }
  memcpy(&number, reader->bytes + reader->position, size);
  reader->position += size;
  return number;
}

static uint64_t read_count(struct reader *reader) {
  uint64_t count = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    const uint64_t byte = read_number(reader, 1);
    count |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0)
      break;
  }
  reader->is_broken |= count > (reader->size - reader->position) / 8;
  return reader->is_broken ? 0 : count;
}

static void read_types(struct types *types, struct reader *reader, struct entry *entry) {
  entry->type_count = (uint32_t)read_count(reader);
  entry->types = types->identifier_count;
  for (uint32_t i = 0; i < entry->type_count; i++)
    if (make_room(types, (void **)&types->identifiers, types->identifier_count,
                  &types->identifier_capacity, sizeof *types->identifiers))
      types->identifiers[types->identifier_count++] = read_number(reader, 8);
}

static void read_entry(struct types *types, struct reader *reader) {
  const uint64_t version = read_number(reader, 1), flags = read_number(reader, 1);
  const uint64_t address = read_number(reader, 8), type = read_number(reader, 8);
  struct entry entry = {.type = (flags & FLAG_TARGET) != 0 ? type : 0};
  reader->is_broken |=
      version != 0 || (flags & ~(uint64_t)(FLAG_TARGET | FLAG_DIRECT | FLAG_INDIRECT)) != 0;
  if ((flags & FLAG_DIRECT) != 0)
    for (uint64_t left = read_count(reader); left > 0; left--)
      read_number(reader, 8);
  if ((flags & FLAG_INDIRECT) != 0)
    read_types(types, reader, &entry);
  const struct call_graph *graph = types->builder->graph;
  entry.function = call_graph_function(graph, address);
  if (reader->is_broken || entry.function == (uint32_t)GRAPH_NO_NODE ||
      graph->functions[entry.function].address != address)
    return; /* discarded by the linker */
  if (make_room(types, (void **)&types->entries, types->entry_count, &types->entry_capacity,
                sizeof entry))
    types->entries[types->entry_count++] = entry;
}

static int compare_entries(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  if (x->function != y->function)
    return x->function < y->function ? -1 : 1;
  return x->types < y->types ? -1 : x->types > y->types;
}

/* False if there is nothing, or something that isn't known: then nothing is narrowed. */
static bool read_section(struct types *types, const struct image *image) {
  const struct image_section *section = image_section(image, ".llvm.callgraph");
  if (section == NULL || section->header.sh_type == SHT_NOBITS ||
      (section->header.sh_flags & SHF_COMPRESSED) != 0)
    return false;
  struct reader reader = {image->bytes + section->header.sh_offset, section->header.sh_size, 0,
                          false};
  while (!reader.is_broken && !types->no_memory && reader.position < reader.size)
    read_entry(types, &reader);
  if (types->entry_count > 0)
    qsort(types->entries, types->entry_count, sizeof *types->entries, compare_entries);
  return !reader.is_broken && types->entry_count > 0;
}

/* ---- The types' nodes ---- */

static void add_member(struct types *types, uint32_t node) {
  struct call_graph *graph = types->builder->graph;
  if (make_room(types, (void **)&graph->type_members, types->member_count, &types->member_capacity,
                sizeof node))
    graph->type_members[types->member_count++] = node;
}

/* Starts a type; its members follow. There is always room for one more, which ends the last. */
static uint32_t start_type(struct types *types, uint64_t id) {
  struct call_graph *graph = types->builder->graph;
  if (make_room(types, (void **)&graph->types, (size_t)graph->type_count + 1, &types->type_capacity,
                sizeof *graph->types))
    graph->types[graph->type_count++] = (struct graph_type){id, types->member_count};
  return graph->type_count - 1;
}

static void end_types(struct types *types) {
  struct call_graph *graph = types->builder->graph;
  graph->types[graph->type_count] = (struct graph_type){0, types->member_count};
}

/* Functions are typed if all that is said of them is a type. */
static void mark_typed(struct types *types) {
  struct graph_function *functions = types->builder->graph->functions;
  for (size_t i = 0; i < types->entry_count; i++)
    functions[types->entries[i].function].is_typed = true;
  for (size_t i = 0; i < types->entry_count; i++)
    if (types->entries[i].type == 0)
      functions[types->entries[i].function].is_typed = false;
}

/* Whether some code or data has the address of a symbol that is elsewhere; a word that is only
 * called by doesn't count. */
static bool is_word_taken(const struct call_graph *graph, const struct linkage_word *word) {
  if (word->kind != LINKAGE_SYMBOL || graph->linkage.symbols[word->symbol].is_defined)
    return false;
  const struct area *area = areas_find(&graph->areas, word->address);
  return !word->is_constant || area == NULL || area_is_marked(area, MARK_USED, word->address) ||
         area_is_marked(area, MARK_BASE, word->address);
}

static bool has_foreign_pointers(const struct call_graph *graph) {
  const struct linkage *linkage = &graph->linkage;
  if (linkage->is_library || linkage->needs_more)
    return true;
  for (uint32_t i = 1; i < linkage->symbol_count; i++)
    if (strcmp(linkage->symbols[i].name, "dlsym") == 0 ||
        strcmp(linkage->symbols[i].name, "dlvsym") == 0)
      return true;
  return false;
}

/* Type 0: what has no known type. */
static void add_untyped(struct types *types) {
  const struct call_graph *graph = types->builder->graph;
  start_type(types, 0);
  for (uint32_t i = 0; i < graph->function_count; i++)
    if (graph->functions[i].taken != TAKEN_NOT && graph->functions[i].taken != TAKEN_BY_START &&
        !graph->functions[i].is_typed)
      add_member(types, i);
  for (size_t i = 0; i < graph->linkage.word_count; i++)
    if (is_word_taken(graph, &graph->linkage.words[i]))
      add_member(types, graph_symbol(graph, graph->linkage.words[i].symbol));
  if (has_foreign_pointers(graph))
    add_member(types, graph_anything(graph));
}

static int compare_by_type(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  if (x->type != y->type)
    return x->type < y->type ? -1 : 1;
  return x->function < y->function ? -1 : x->function > y->function;
}

/* A type for each identifier that a function has. */
static bool add_known(struct types *types) {
  const struct call_graph *graph = types->builder->graph;
  struct entry *sorted = malloc((types->entry_count + 1) * sizeof *sorted);
  if (sorted == NULL)
    return false;
  memcpy(sorted, types->entries, types->entry_count * sizeof *sorted);
  qsort(sorted, types->entry_count, sizeof *sorted, compare_by_type);
  uint64_t last = 0;
  for (size_t i = 0; i < types->entry_count && !types->no_memory; i++) {
    const struct entry *entry = &sorted[i];
    if (entry->type == 0)
      continue;
    if (entry->type != last) {
      start_type(types, entry->type);
      add_member(types, graph_type_node(graph, 0));
      last = entry->type;
    }
    if (graph->functions[entry->function].taken != TAKEN_NOT)
      add_member(types, entry->function);
  }
  free(sorted);
  types->known_types = graph->type_count - 1;
  return !types->no_memory;
}

/* The type with an identifier. One that no function has leads to what has no known type. */
static uint32_t find_type(const struct types *types, uint64_t id) {
  const struct call_graph *graph = types->builder->graph;
  uint32_t from = 1, to = types->known_types + 1;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    if (graph->types[middle].id < id)
      from = middle + 1;
    else
      to = middle;
  }
  return from <= types->known_types && graph->types[from].id == id ? from : 0;
}

/* ---- Narrowing ---- */

static bool has_record(const struct types *types, uint64_t address) {
  return types->table != NULL && safepoints_has_record(types->table, address);
}

/* The node for all types that a function's pointers have: entries[first..end) are the function's. */
static uint32_t node_for(struct types *types, size_t first, size_t end) {
  const struct call_graph *graph = types->builder->graph;
  if (end - first == 1 && types->entries[first].type_count == 1)
    return graph_type_node(graph,
                           find_type(types, types->identifiers[types->entries[first].types]));
  const uint32_t type = start_type(types, 0);
  for (size_t i = first; i < end; i++)
    for (uint32_t k = 0; k < types->entries[i].type_count; k++)
      add_member(types,
                 graph_type_node(
                     graph, find_type(types, types->identifiers[types->entries[i].types + k])));
  return graph_type_node(graph, type);
}

static void narrow_function(struct types *types, size_t first, size_t end) {
  const struct call_graph *graph = types->builder->graph;
  const struct graph_function *function = &graph->functions[types->entries[first].function];
  for (size_t i = first; i < end; i++)
    if (types->entries[i].type_count == 0)
      return;
  uint32_t node = GRAPH_NO_NODE;
  for (uint32_t i = function[0].first_call; i < function[1].first_call; i++) {
    struct call *call = &graph->calls[i];
    if (call->kind != CALL_INDIRECT || has_record(types, call->at + call->length))
      continue;
    if (node == (uint32_t)GRAPH_NO_NODE)
      node = node_for(types, first, end);
    call->target = node;
  }
}

static bool narrow(struct types *types, const struct image *image) {
  if (!read_section(types, image))
    return !types->no_memory;
  mark_typed(types);
  add_untyped(types);
  if (!add_known(types))
    return false;
  for (size_t first = 0, end; first < types->entry_count; first = end) {
    for (end = first; end < types->entry_count &&
                      types->entries[end].function == types->entries[first].function;)
      end++;
    narrow_function(types, first, end);
  }
  if (!types->no_memory)
    end_types(types);
  return !types->no_memory;
}

bool call_types_read(struct graph_builder *builder, const struct image *image,
                     const struct safepoints *table, struct problem *problem) {
  struct types types = {.builder = builder, .table = table};
  const bool ok = narrow(&types, image);
  free(types.entries);
  free(types.identifiers);
  return ok || problem_set(problem, "not enough memory");
}
