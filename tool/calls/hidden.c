/* hidden.c - control flow without an instruction.
 *
 * An exception lets a function go on at a landing pad. Mostly that is in the function itself; but
 * compilers put rare code, and linkers blocks of code, elsewhere, as functions of their own,
 * reachable only by exceptions: -fbasic-block-sections=all, -mfs-split-ehcode. The unwinder's
 * tables list them.
 *
 * A statepoint that lacks a call before it is filled in by the program at run time (LLVM's
 * "statepoint-num-patch-bytes"), and so may be the place of a patchpoint or a stackmap: with a call
 * of anything.
 */
#include "tool/calls/call_graph.h"

#include "format/array.h"
#include "format/search.h"

static void add_way(struct graph_builder *builder, uint64_t at, uint32_t target) {
  const struct call_graph *graph = builder->graph;
  const uint32_t from = call_graph_function(graph, at);
  const bool is_known = graph_is_function(graph, target);
  const struct call call = {.at = at,
                            .target = target,
                            .length = 1,
                            .kind = is_known ? CALL_BRANCH : CALL_INDIRECT,
                            .is_jump = true,
                            .is_inside = true};
  if (from != GRAPH_NO_NODE && from != target)
    graph_add_later(builder, call);
}

/* Parts of a function are functions of their own in the graph: the landing pad is a successor of
 * both the function's start and its call. */
static void add_landing(struct graph_builder *builder, const struct landing_pad *pad) {
  const struct call_graph *graph = builder->graph;
  uint32_t target = call_graph_function(graph, pad->landing);
  if (target == GRAPH_NO_NODE)
    target = graph_everything(graph);
  else if (!area_is_marked(areas_find(&graph->areas, pad->landing), MARK_INSTRUCTION, pad->landing))
    graph->functions[target].is_undecodable = true;
  graph_add_landing(builder, pad->landing, GRAPH_NO_NODE);
  add_way(builder, pad->function.start, target);
  add_way(builder, pad->calls.start, target);
  add_way(builder, pad->calls.end - 1, target);
}

const struct pad_pointers *landings_pad(const struct graph_builder *builder, uint64_t address) {
  const struct integers *landings = &builder->pad_landings;
  const size_t number = search_words_below(landings->items, landings->count, address);
  return number < landings->count && landings->items[number] == address
             ? &builder->pad_pointers[number]
             : NULL;
}

void landings_add(struct graph_builder *builder) {
  for (size_t i = 0; i < builder->pad_count; i++)
    add_landing(builder, &builder->pads[i]);
}

static void add_pad(void *context, struct code_range function, struct code_range calls,
                    uint64_t landing) {
  struct graph_builder *builder = context;
  (void)ARRAY_ADD(builder->pads, builder->pad_count, builder->pad_capacity,
                  (struct landing_pad){function, calls, landing});
}

static int compare_pads(const void *a, const void *b) {
  const struct landing_pad *x = a, *y = b;
  ORDER_BY(x, y, calls.start);
  ORDER_BY(x, y, calls.end);
  ORDER_BY(x, y, landing);
  return 0;
}

static void sort_pads(struct graph_builder *builder) {
  array_sort(builder->pads, builder->pad_count, sizeof *builder->pads, compare_pads);
  for (size_t i = 0; i < builder->pad_count; i++)
    integers_add(&builder->pad_landings, builder->pads[i].landing);
  integers_sort(&builder->pad_landings);
}

/* The canonical frame address is at a fixed distance from the stack pointer at the function's
 * start. */
static void set_pointers(struct graph_builder *builder, size_t number,
                         const struct frame_facts *frame) {
  enum { OFFSET_MAX = 1 << 24 };
  const struct code_architecture *architecture = builder->architecture;
  const int64_t offset = (int64_t)architecture->entry_offset - frame->cfa_offset;
  const struct code_place place = {(int32_t)offset, REGION_START};
  if (offset > OFFSET_MAX || offset < -OFFSET_MAX)
    return;
  if (frame->cfa_register == architecture->stack_register)
    builder->pad_pointers[number].stack = place;
  else if (frame->cfa_register == architecture->in_tables[0])
    builder->pad_pointers[number].frame = place;
}

/* The stack at a part's start differs from that at a call. */
static void set_part(struct graph_builder *builder, size_t number,
                     const struct frame_facts *frame) {
  builder->graph->functions[number].is_part =
      frame->cfa_register != FRAME_NO_REGISTER &&
      (frame->cfa_register != builder->architecture->stack_register ||
       frame->cfa_offset != builder->architecture->entry_offset);
}

/* Calls `set` for each of some ascending addresses that unwind tables have a frame of. */
static void read_frames(struct graph_builder *builder, const struct section_bytes *tables,
                        const uint64_t *addresses, size_t count,
                        void (*set)(struct graph_builder *builder, size_t number,
                                    const struct frame_facts *frame)) {
  struct intern facts = {0};
  uint32_t *numbers = calloc(count + 1, sizeof *numbers);
  if (count > 0 && tables->size > 0)
    (void)eh_frame_facts(&facts, numbers, addresses, count, NULL, tables);
  for (size_t i = 0; i < count; i++) {
    if (numbers[i] == 0)
      continue;
    const struct frame_facts frame = frame_facts_get(&facts, numbers[i]);
    set(builder, i, &frame);
  }
  intern_free(&facts);
  free(numbers);
}

static void find_parts(struct graph_builder *builder, const struct section_bytes *tables) {
  const uint32_t count = builder->graph->function_count;
  uint64_t *starts = calloc((size_t)count + 1, sizeof *starts);
  for (uint32_t i = 0; i < count; i++)
    starts[i] = builder->graph->functions[i].address;
  read_frames(builder, tables, starts, count, set_part);
  free(starts);
}

bool landings_read(struct graph_builder *builder, const struct image *image,
                   struct problem *problem) {
  const struct section_bytes frames = image_contents(image, ".eh_frame");
  const struct section_bytes tables = image_contents(image, ".gcc_except_table");
  if (!eh_frame_landings(&frames, &tables, add_pad, builder))
    return problem_set(problem, "unwind entries that lead to more than 4 times the bytes of "
                                ".gcc_except_table");
  sort_pads(builder);
  builder->pad_pointers = /* REGION_ANYWHERE, unless there is a frame */
      calloc(builder->pad_landings.count + 1, sizeof *builder->pad_pointers);
  read_frames(builder, &frames, builder->pad_landings.items, builder->pad_landings.count,
              set_pointers);
  find_parts(builder, &frames);
  return true;
}

static void add_patch(struct graph_builder *builder, uint64_t at) {
  const uint32_t function = call_graph_function(builder->graph, at);
  if (function != GRAPH_NO_NODE)
    builder->graph->functions[function].is_patched = true;
  add_way(builder, at, graph_everything(builder->graph));
}

void patches_find(struct graph_builder *builder, const struct safepoints *table) {
  const struct call_graph *graph = builder->graph;
  for (uint32_t i = 0; table != NULL && i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    const bool is_statepoint = safepoints_kind(table, record) == SAFEPOINT_STATEPOINT;
    bool is_called = false;
    for (uint32_t k = call_graph_calls_near(graph, record->address);
         k < graph->call_count && graph->calls[k].at < record->address; k++)
      is_called |= !graph->calls[k].is_jump &&
                   graph->calls[k].at + graph->calls[k].length == record->address;
    if (!is_statepoint || !is_called)
      add_patch(builder, record->address - is_statepoint);
  }
}
