/* reach.c - see reach.h.
 *
 * What a node leads to is a fixed point: a node leads to a goal if it is one, or if a successor
 * does. One could compute it forwards, over strongly connected components, each of which leads to
 * what any of its nodes leads to. It is simpler backwards: starting from the goals, the
 * predecessors of all nodes that were found are found, each once. As they are found in the order of
 * their distance, the node from which one was found is the next on a shortest way; cycles need no
 * thought. Either takes time in proportion to the edges.
 */
#include "tool/calls/reach.h"

#include <stdlib.h>

void reach_graph_open(struct reach_graph *graph, uint32_t nodes) {
  *graph = (struct reach_graph){.nodes = nodes,
                                .starts = calloc((size_t)nodes + 2, sizeof *graph->starts)};
}

void reach_graph_close(struct reach_graph *graph) {
  free(graph->starts);
  free(graph->targets);
  *graph = (struct reach_graph){0};
}

/* starts[nodes + 1] counts the edges while they are added. */
static uint32_t *edge_count(const struct reach_graph *graph) {
  return &graph->starts[(size_t)graph->nodes + 1];
}

void reach_graph_node(struct reach_graph *graph, uint32_t node) {
  graph->starts[node] = *edge_count(graph);
}

void reach_graph_edge(struct reach_graph *graph, uint32_t target) {
  const uint32_t count = *edge_count(graph);
  if (count == graph->capacity) {
    const size_t capacity = graph->capacity * 2 + 1024;
    if (capacity > UINT32_MAX) {
      graph->failed = true;
      return;
    }
    graph->targets = realloc(graph->targets, capacity * sizeof *graph->targets);
    graph->capacity = capacity;
  }
  graph->targets[count] = target;
  (*edge_count(graph))++;
}

bool reach_graph_finish(struct reach_graph *graph) {
  graph->starts[graph->nodes] = *edge_count(graph);
  return !graph->failed;
}

/* The same graph with all edges turned round. */
static void reverse(const struct reach_graph *graph, struct reach_graph *reversed) {
  const uint32_t edges = graph->starts[graph->nodes];
  reach_graph_open(reversed, graph->nodes);
  reversed->targets = malloc(((size_t)edges + 1) * sizeof *reversed->targets);
  for (uint32_t i = 0; i < edges; i++)
    reversed->starts[graph->targets[i] + 1]++;
  for (uint32_t node = 0; node < graph->nodes; node++)
    reversed->starts[node + 1] += reversed->starts[node];
  /* Filled from the back, so that starts[n + 1] becomes the start of n, and the order stays. */
  for (uint32_t node = graph->nodes; node-- > 0;)
    for (uint32_t i = graph->starts[node]; i < graph->starts[node + 1]; i++)
      reversed->targets[--reversed->starts[graph->targets[i] + 1]] = node;
  for (uint32_t node = 0; node < graph->nodes; node++)
    reversed->starts[node] = reversed->starts[node + 1];
  reversed->starts[graph->nodes] = edges;
}

static void find_all(const struct reach_graph *reversed, const bool *goals, uint32_t *next,
                     uint32_t *found) {
  uint32_t count = 0;
  for (uint32_t node = 0; node < reversed->nodes; node++) {
    next[node] = goals[node] ? node : (uint32_t)REACH_NOTHING;
    if (goals[node])
      found[count++] = node;
  }
  for (uint32_t done = 0; done < count; done++) {
    const uint32_t node = found[done];
    for (uint32_t i = reversed->starts[node]; i < reversed->starts[node + 1]; i++) {
      const uint32_t before = reversed->targets[i];
      if (next[before] != (uint32_t)REACH_NOTHING)
        continue;
      next[before] = node;
      found[count++] = before;
    }
  }
}

uint32_t *reach_goals(const struct reach_graph *graph, const bool *goals) {
  struct reach_graph reversed;
  uint32_t *next = malloc(((size_t)graph->nodes + 1) * sizeof *next);
  uint32_t *found = malloc(((size_t)graph->nodes + 1) * sizeof *found);
  reverse(graph, &reversed);
  find_all(&reversed, goals, next, found);
  reach_graph_close(&reversed);
  free(found);
  return next;
}
