/* reach.h - the nodes of a graph that reach a goal, and a shortest path for each. */
#ifndef STACKPACK_REACH_H
#define STACKPACK_REACH_H

#include <stdbool.h>
#include <stdint.h>

/* Calls `visit` with each successor of a node of a graph: the same ones each time. */
typedef void reach_visitor(void *context, uint32_t node);
typedef void reach_successors(const void *graph, uint32_t node, reach_visitor *visit,
                              void *context);

#define REACH_NOTHING UINT32_MAX

/* For each of a graph's nodes, numbered from 0, the next one on a shortest path to a goal: itself
 * for a goal, REACH_NOTHING if no goal is reachable. An array, to be freed. */
uint32_t *reach_goals(const void *graph, uint32_t nodes, const bool *goals,
                      reach_successors *successors);

#endif
