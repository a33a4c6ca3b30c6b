/* reach.c - see reach.h.
 *
 * Reachability is a fixed point: a node reaches a goal if it is one, or if a successor does. A
 * forward computation would go over strongly connected components, all of whose nodes reach the
 * same nodes. Backwards is simpler: starting from the goals, the predecessors of all found nodes
 * are found, each once, in the order of their distance: so each node's finder is the next one on a
 * shortest path, also in cycles. Either takes time in proportion to the edges.
 */
#include "tool/calls/reach.h"

#include <assert.h>
#include <stdlib.h>

/* The graph with all edges turned round: the predecessors of node n are
 * sources[starts[n]..starts[n + 1]). While they are filled in, starts[n + 1] is where the next one
 * of n goes. */
struct reversed {
  size_t *starts;
  uint32_t *sources;
  uint32_t source; /* whose successors are visited */
};

static void count_edge(void *context, uint32_t node) {
  struct reversed *reversed = context;
  reversed->starts[(size_t)node + 2]++;
}

static void add_edge(void *context, uint32_t node) {
  struct reversed *reversed = context;
  reversed->sources[reversed->starts[(size_t)node + 1]++] = reversed->source;
}

static struct reversed reverse(const void *graph, uint32_t nodes, reach_successors *successors) {
  struct reversed reversed = {.starts = calloc((size_t)nodes + 2, sizeof *reversed.starts)};
  for (uint32_t node = 0; node < nodes; node++)
    successors(graph, node, count_edge, &reversed);
  for (size_t node = 0; node <= nodes; node++)
    reversed.starts[node + 1] += reversed.starts[node];
  reversed.sources = malloc((reversed.starts[(size_t)nodes + 1] + 1) * sizeof *reversed.sources);
  for (; reversed.source < nodes; reversed.source++)
    successors(graph, reversed.source, add_edge, &reversed);
  return reversed;
}

uint32_t *reach_goals(const void *graph, uint32_t nodes, const bool *goals,
                      reach_successors *successors) {
  struct reversed reversed = reverse(graph, nodes, successors);
  uint32_t *next = malloc(((size_t)nodes + 1) * sizeof *next);
  uint32_t *found = malloc(((size_t)nodes + 1) * sizeof *found);
  uint32_t count = 0;
  for (uint32_t node = 0; node < nodes; node++) {
    next[node] = goals[node] ? node : REACH_NOTHING;
    if (goals[node])
      found[count++] = node;
  }
  for (uint32_t done = 0; done < count; done++)
    for (size_t i = reversed.starts[found[done]]; i < reversed.starts[(size_t)found[done] + 1];
         i++) {
      const uint32_t before = reversed.sources[i];
      if (next[before] != REACH_NOTHING)
        continue;
      assert(count < nodes); /* each node is found once */
      next[before] = found[done];
      found[count++] = before;
    }
  free(reversed.starts);
  free(reversed.sources);
  free(found);
  return next;
}
