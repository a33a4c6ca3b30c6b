/* reach.c - tests the ways to a goal: on hand-made graphs, and on random ones against a search that
 * is too simple to be wrong.
 */
#include "tool/calls/reach.h"
#include "numbers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 48 };

struct edge {
  uint32_t from, to;
};

struct edges {
  const struct edge *items;
  size_t count;
};

static void visit_edges(const void *graph, uint32_t node, reach_visitor *visit, void *context) {
  const struct edges *edges = graph;
  for (size_t i = 0; i < edges->count; i++)
    if (edges->items[i].from == node)
      visit(context, edges->items[i].to);
}

/* Compares the next nodes with those expected. */
static void check_next(uint32_t nodes, const struct edge *items, size_t count, uint32_t goal,
                       const uint32_t *expected) {
  const struct edges edges = {items, count};
  bool goals[NODES_MAX] = {false};
  goals[goal] = true;
  uint32_t *next = reach_goals(&edges, nodes, goals, visit_edges);
  for (uint32_t node = 0; node < nodes; node++)
    ck_assert_uint_eq(next[node], expected[node]);
  free(next);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

TEST(a_chain_leads_to_its_end) {
  static const struct edge edges[] = {{0, 1}, {1, 2}, {2, 3}};
  static const uint32_t expected[] = {1, 2, 2, REACH_NOTHING};
  check_next(4, edges, COUNT(edges), 2, expected);
}

TEST(of_two_ways_the_shorter_is_taken) {
  static const struct edge edges[] = {{0, 1}, {0, 3}, {1, 2}, {2, 4}, {3, 4}};
  static const uint32_t expected[] = {3, 2, 4, 4, 4};
  check_next(5, edges, COUNT(edges), 4, expected);
}

TEST(a_cycle_leads_out_where_one_of_it_does) {
  static const struct edge edges[] = {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {4, 0}};
  static const uint32_t expected[] = {1, 2, 3, 3, 0};
  check_next(5, edges, COUNT(edges), 3, expected);
}

TEST(a_cycle_without_way_out_leads_nowhere) {
  static const struct edge edges[] = {{0, 1}, {1, 0}, {1, 1}, {2, 0}, {3, 2}};
  static const uint32_t expected[] = {REACH_NOTHING, REACH_NOTHING, REACH_NOTHING, REACH_NOTHING,
                                      4};
  check_next(5, edges, COUNT(edges), 4, expected);
}

TEST(a_goal_is_its_own_next) {
  static const struct edge edges[] = {{0, 0}, {0, 1}, {1, 0}};
  static const uint32_t expected[] = {0, 0};
  check_next(2, edges, COUNT(edges), 0, expected);
}

TEST(a_graph_may_have_no_edges_and_no_goals) {
  static const struct edges edges = {NULL, 0};
  static const bool goals[3] = {false};
  uint32_t *next = reach_goals(&edges, 3, goals, visit_edges);
  for (uint32_t node = 0; node < 3; node++)
    ck_assert_uint_eq(next[node], REACH_NOTHING);
  free(next);
}

/* Distances by trying all edges again and again. */
static void find_distances(uint32_t nodes, const struct edge *edges, size_t count,
                           const bool *goals, uint32_t *distances) {
  for (uint32_t node = 0; node < nodes; node++)
    distances[node] = goals[node] ? 0 : NODES_MAX;
  for (uint32_t round = 0; round < nodes; round++)
    for (size_t i = 0; i < count; i++)
      if (distances[edges[i].to] + 1 < distances[edges[i].from])
        distances[edges[i].from] = distances[edges[i].to] + 1;
}

TEST(random_graphs_have_shortest_ways) {
  struct numbers numbers = {7};
  for (int round = 0; round < 2000; round++) {
    const uint32_t nodes = 1 + (uint32_t)numbers_below(&numbers, NODES_MAX - 1);
    struct edge edges[NODES_MAX * 3];
    size_t count = 0;
    for (uint32_t node = 0; node < nodes; node++)
      for (uint64_t left = numbers_below(&numbers, 4); left > 0; left--)
        edges[count++] = (struct edge){node, (uint32_t)numbers_below(&numbers, nodes)};
    bool goals[NODES_MAX];
    uint32_t distances[NODES_MAX];
    for (uint32_t node = 0; node < nodes; node++)
      goals[node] = numbers_below(&numbers, 10) == 0;
    find_distances(nodes, edges, count, goals, distances);
    const struct edges graph = {edges, count};
    uint32_t *next = reach_goals(&graph, nodes, goals, visit_edges);
    for (uint32_t node = 0; node < nodes; node++) {
      if (distances[node] >= NODES_MAX)
        ck_assert_uint_eq(next[node], REACH_NOTHING);
      else if (distances[node] == 0)
        ck_assert_uint_eq(next[node], node);
      else
        ck_assert_uint_eq(distances[next[node]], distances[node] - 1);
    }
    free(next);
  }
}
