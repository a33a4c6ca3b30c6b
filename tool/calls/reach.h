/* reach.h - which nodes of a graph lead to a goal, and by which shortest way. */
#ifndef STACKPACK_REACH_H
#define STACKPACK_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nodes are numbers. The successors of node n are targets[starts[n]..starts[n + 1]). All zeros is
 * an empty graph; edges are added in the order of their nodes. */
struct reach_graph {
  uint32_t *starts, *targets;
  uint32_t nodes;
  size_t capacity; /* of targets */
  bool failed;     /* with more edges than a number can count */
};

/* Prepares for `nodes` nodes. */
void reach_graph_open(struct reach_graph *graph, uint32_t nodes);
void reach_graph_close(struct reach_graph *graph);
/* Ends the successors of the nodes before `node`; those of `node` follow. */
void reach_graph_node(struct reach_graph *graph, uint32_t node);
void reach_graph_edge(struct reach_graph *graph, uint32_t target);
/* After the last edge. False if anything failed. */
bool reach_graph_finish(struct reach_graph *graph);

enum { REACH_NOTHING = UINT32_MAX };

/* For each node the next one on a shortest way to a goal: itself for a goal, REACH_NOTHING if it
 * leads to none. An array, to be freed. */
uint32_t *reach_goals(const struct reach_graph *graph, const bool *goals);

#endif
