/* call_types.c - narrows indirect calls by a frontend's types.
 *
 * A frontend has more facts about a pointer than machine code: the function's type in the language,
 * or the field that the pointer comes from. It numbers these freely, and gives an indirect call's
 * statepoint the number as its ID. The section `.stackpack.types`, loaded or not, lists the
 * functions that a pointer of each type may point to. It has pairs of 64-bit words, in the file's
 * byte order:
 *
 *   u64 address of a function, or 0      u64 type
 *
 * A pair for each type of each address-taken function; with address 0, it only declares the type. A
 * section `.stackpack.subtypes` may list further types whose functions a pointer may point to:
 *
 *   u64 type                             u64 another type, all of whose functions it has, too
 *
 * So a frontend that sees one module at a time can declare that the values of one field are copied
 * to another, and the linker joins the declarations of all modules. A call is tied to its type by
 * its own record: inlining, cloning or moving the call takes the ID along, and only this call has
 * it. (LLVM's own section `.llvm.callgraph` lacks the link between a call and its type, and omits
 * some calls silently. It is unused.)
 *
 * The successors of an indirect call whose ID is a type are the address-taken functions of that
 * type, and all address-taken functions without any type. That holds for any code around the call:
 * the frontend promises that the pointer's value is one of these. A pointer from another file may
 * be called there, too, if the program is linked with other libraries than the C library, loads
 * libraries (these may store one), or looks functions up by name.
 */
#include "format/array.h"
#include "format/search.h"
#include "tool/calls/call_graph.h"

#include <stdlib.h>
#include <string.h>

struct entry {
  uint64_t type, subtype;
  uint32_t function; /* or GRAPH_NO_NODE */
  bool has_subtype;
};

struct types {
  struct graph_builder *builder;
  struct entry *entries; /* by type */
  size_t entry_count, entry_capacity, type_capacity, member_capacity;
  uint32_t member_count;
};

/* ---- Reading ---- */

static int compare_entries(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  ORDER_BY(x, y, type)
  return x->function < y->function ? -1 : x->function > y->function;
}

static void add_entry(struct types *types, struct entry entry) {
  (void)ARRAY_ADD(types->entries, types->entry_count, types->entry_capacity, entry);
}

/* An address outside all functions is of one that the linker discarded. Where symbols and
 * unwind tables are missing, the graph may have one node for several functions: it has the
 * types of all. */
static void add_function(struct types *types, uint64_t address, uint64_t type) {
  struct call_graph *graph = types->builder->graph;
  const uint32_t function = call_graph_function(graph, address);
  add_entry(types, (struct entry){.type = type, .function = function});
  if (function != GRAPH_NO_NODE && graph->functions[function].is_whole &&
      graph->functions[function].address == address)
    graph->functions[function].is_typed = true;
}

/* Both types count as declared, with or without functions. */
static void add_subtype(struct types *types, uint64_t type, uint64_t subtype) {
  add_entry(types, (struct entry){.type = subtype, .function = GRAPH_NO_NODE});
  add_entry(types,
            (struct entry){
                .type = type, .subtype = subtype, .function = GRAPH_NO_NODE, .has_subtype = true});
}

/* Calls `add` with the two words of each pair of a section; false if it is unreadable. */
static bool read_pairs(struct types *types, const struct image *image,
                       const struct image_section *section,
                       void (*add)(struct types *types, uint64_t first, uint64_t second)) {
  uint64_t words[2];
  if (section->header.sh_type == SHT_NOBITS || (section->header.sh_flags & SHF_COMPRESSED) != 0 ||
      section->header.sh_size % sizeof words != 0)
    return false;
  for (uint64_t at = 0; at < section->header.sh_size; at += sizeof words) {
    memcpy(words, image->bytes + section->header.sh_offset + at, sizeof words);
    add(types, words[0], words[1]);
  }
  return true;
}

/* False if a section is absent or unreadable; then all calls stay as wide. */
static bool read_sections(struct types *types, const struct image *image) {
  const struct image_section *functions = image_section(image, ".stackpack.types");
  const struct image_section *subtypes = image_section(image, ".stackpack.subtypes");
  if (functions == NULL || !read_pairs(types, image, functions, add_function) ||
      (subtypes != NULL && !read_pairs(types, image, subtypes, add_subtype)))
    return false;
  array_sort(types->entries, types->entry_count, sizeof *types->entries, compare_entries);
  return types->entry_count > 0;
}

/* ---- The types' nodes ---- */

static void add_member(struct types *types, uint32_t node) {
  struct call_graph *graph = types->builder->graph;
  (void)ARRAY_ADD(graph->type_members, types->member_count, types->member_capacity, node);
}

/* Starts a type; its members follow. There is always room for one more, as the end of the last. */
static void start_type(struct types *types, uint64_t id) {
  struct call_graph *graph = types->builder->graph;
  array_make_room((void **)&graph->types, &types->type_capacity, (size_t)graph->type_count + 2,
                  sizeof *graph->types);
  graph->types[graph->type_count++] = (struct graph_type){id, types->member_count};
}

/* Type 0: all functions without a type. */
static void add_untyped(struct types *types) {
  const struct call_graph *graph = types->builder->graph;
  start_type(types, 0);
  for (uint32_t i = 0; i < graph->function_count; i++)
    if (graph->functions[i].taken != TAKEN_NOT && graph->functions[i].taken != TAKEN_BY_START &&
        !graph->functions[i].is_typed)
      add_member(types, i);
  for (size_t i = 0; i < graph->linkage.word_count; i++)
    if (graph_word_is_taken(types->builder, &graph->linkage.words[i]))
      add_member(types, graph_symbol(graph, graph->linkage.words[i].symbol));
  if (!linkage_is_alone(&graph->linkage) || graph_uses(graph, LEAF_LOADERS)) /* from other files */
    add_member(types, graph_anything(graph));
}

/* The type with a number, or 0. */
static uint32_t find_type(const struct call_graph *graph, uint64_t id) {
  if (graph->type_count == 0)
    return 0;
  const uint32_t at = 1 + (uint32_t)SEARCH_BELOW(graph->types + 1, graph->type_count - 1, id, id);
  return at < graph->type_count && graph->types[at].id == id ? at : 0;
}

/* A type for each number. */
static void add_known(struct types *types) {
  const struct call_graph *graph = types->builder->graph;
  for (size_t i = 0; i < types->entry_count; i++)
    if (i == 0 || types->entries[i].type != types->entries[i - 1].type)
      start_type(types, types->entries[i].type);
  uint32_t type = 0;
  for (size_t i = 0; i < types->entry_count; i++) {
    const struct entry *entry = &types->entries[i];
    if (i == 0 || entry->type != entry[-1].type) {
      graph->types[++type].first_member = types->member_count;
      add_member(types, graph_type_node(graph, 0));
    }
    if (entry->has_subtype)
      add_member(types, graph_type_node(graph, find_type(graph, entry->subtype)));
    else if (entry->function != GRAPH_NO_NODE &&
             graph->functions[entry->function].taken != TAKEN_NOT)
      add_member(types, entry->function);
  }
}

/* ---- Narrowing ---- */

/* The node for the type that all records at a return address have as their ID; 0 if they differ. */
static uint32_t type_at(const struct call_graph *graph, const struct safepoints *table,
                        uint64_t address) {
  uint32_t i = safepoints_first_record(table, address);
  if (i == table->record_count || table->records[i].address != address)
    return 0;
  const uint64_t id = table->records[i].id;
  for (; i < table->record_count && table->records[i].address == address; i++)
    if (table->records[i].id != id)
      return 0;
  const uint32_t type = find_type(graph, id);
  return type == 0 ? 0 : graph_type_node(graph, type);
}

static void narrow(struct types *types, const struct image *image, const struct safepoints *table) {
  struct call_graph *graph = types->builder->graph;
  if (table == NULL || !read_sections(types, image))
    return;
  add_untyped(types);
  add_known(types);
  graph->types[graph->type_count] = (struct graph_type){0, types->member_count};
  for (uint32_t i = 0; i < graph->call_count; i++) {
    struct call *call = &graph->calls[i];
    const bool is_pointer = call->kind == CALL_INDIRECT && call->target >= graph_anything(graph);
    const uint32_t node =
        is_pointer && !call->is_jump ? type_at(graph, table, call->at + call->length) : 0;
    if (node != 0)
      call->target = node;
  }
}

void call_types_read(struct graph_builder *builder, const struct image *image,
                     const struct safepoints *table) {
  struct types types = {.builder = builder};
  narrow(&types, image, table);
  free(types.entries);
}
