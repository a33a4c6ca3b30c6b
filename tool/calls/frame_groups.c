/* frame_groups.c - functions that share a frame.
 *
 * Compilers divide functions: GCC's `f.cold` goes on in f's frame, and may go back:
 *
 *     f:       lea (%rdi,%rsi), %rax; mov %rax, 8(%rsp); test %rdx, %rdx; jne f.cold; ...
 *     f.cold:  call *8(%rsp)
 *
 * In the graph each part is a function of its own, but the values in registers and on the stack are
 * of all of them: value_flow.c follows a group as one unit.
 *
 * Jumps, ends that run on, and exceptions join a group: into the middle of another function; to a
 * part, by unwind tables; or to code that nothing calls, as f.cold is where f has no frame. Shared
 * epilogues (GCC's -msave-restore) would join most of a program: code that many functions jump to
 * stays apart, and is mixed, as is a group that becomes too large. The values at all entries of
 * mixed functions are unresolved, and so are all values on their stack.
 */
#include "tool/calls/call_graph.h"

#include <assert.h>
#include <stdlib.h>

enum { JUMPERS_MAX = 16, MEMBERS_MAX = 64 };

struct joining {
  struct graph_builder *builder;
  struct joined {
    uint32_t members;     /* of a group's first function */
    uint32_t jumpers;     /* functions that jump to this one */
    uint32_t last_jumper; /* number plus 1 */
  } * functions;
};

typedef void call_visitor(struct joining *joining, uint32_t from, const struct call *call);

static void visit_calls(struct joining *joining, call_visitor *visit) {
  const struct graph_builder *builder = joining->builder;
  const struct call_graph *graph = builder->graph;
  for (uint32_t i = 0; i < graph->function_count; i++)
    EACH_CALL(graph, &graph->functions[i], call)
      if (graph_is_function(graph, call->target))
        visit(joining, i, call);
  for (size_t i = 0; i < builder->later_count; i++) {
    const uint32_t from = call_graph_function(graph, builder->later[i].at);
    assert(from != GRAPH_NO_NODE);
    if (graph_is_function(graph, builder->later[i].target))
      visit(joining, from, &builder->later[i]);
  }
}

static void note_called(struct joining *joining, uint32_t from, const struct call *call) {
  (void)from;
  joining->builder->graph->functions[call->target].is_called |= !call->is_jump;
}

/* Whether a jump takes its frame, or may take its registers, to another function. */
static bool shares_frame(const struct call_graph *graph, uint32_t from, const struct call *call) {
  const struct graph_function *target = &graph->functions[call->target];
  return call->is_jump && call->target != from &&
         (call->is_inside || target->is_part ||
          (!target->is_called && !graph_is_linkage(graph, call->target)));
}

static void count_jumper(struct joining *joining, uint32_t from, const struct call *call) {
  struct joined *target = &joining->functions[call->target];
  if (!shares_frame(joining->builder->graph, from, call) || target->last_jumper == from + 1)
    return;
  target->last_jumper = from + 1;
  target->jumpers++;
}

static uint32_t first_of(const struct graph_builder *builder, uint32_t function) {
  uint32_t *group = builder->group;
  for (; group[function] != function; function = group[function])
    group[function] = group[group[function]];
  return function;
}

static void join(struct joining *joining, uint32_t from, const struct call *call) {
  struct graph_builder *builder = joining->builder;
  if (!shares_frame(builder->graph, from, call) ||
      joining->functions[call->target].jumpers > JUMPERS_MAX)
    return;
  const uint32_t a = first_of(builder, from), b = first_of(builder, call->target);
  const uint32_t members = joining->functions[a].members + joining->functions[b].members;
  const uint32_t first = a < b ? a : b;
  if (a == b || members > MEMBERS_MAX)
    return;
  builder->group[a < b ? b : a] = first;
  joining->functions[first].members = members;
}

/* Values come from outside the group. */
static void note_mixed(struct joining *joining, uint32_t from, const struct call *call) {
  const struct graph_builder *builder = joining->builder;
  const uint32_t target = first_of(builder, call->target);
  if (shares_frame(builder->graph, from, call) && first_of(builder, from) != target)
    builder->graph->functions[target].is_mixed = true;
}

/* Lists each group's functions in order. All of them are mixed if the first one is. */
static void list_members(struct graph_builder *builder) {
  const struct call_graph *graph = builder->graph;
  for (uint32_t i = graph->function_count; i-- > 0;) {
    const uint32_t first = first_of(builder, i);
    assert(first <= i);
    builder->group[i] = first;
    graph->functions[i].is_mixed = graph->functions[first].is_mixed;
    builder->next_in_group[i] = GRAPH_NO_NODE;
  }
  for (uint32_t i = graph->function_count; i-- > 0;) {
    const uint32_t first = builder->group[i];
    if (first == i)
      continue;
    builder->next_in_group[i] = builder->next_in_group[first];
    builder->next_in_group[first] = i;
  }
}

void frame_groups_find(struct graph_builder *builder) {
  const struct call_graph *graph = builder->graph;
  const size_t count = (size_t)graph->function_count + 1;
  builder->group = malloc(count * sizeof *builder->group);
  builder->next_in_group = malloc(count * sizeof *builder->next_in_group);
  struct joining joining = {.builder = builder,
                            .functions = calloc(count, sizeof *joining.functions)};
  for (uint32_t i = 0; i < graph->function_count; i++) {
    builder->group[i] = i;
    joining.functions[i].members = 1;
  }
  visit_calls(&joining, note_called);
  visit_calls(&joining, count_jumper);
  visit_calls(&joining, join);
  visit_calls(&joining, note_mixed);
  for (uint32_t i = 0; i < graph->function_count; i++)
    graph->functions[first_of(builder, i)].is_mixed |= graph->functions[i].is_undecodable;
  list_members(builder);
  free(joining.functions);
}
