#include "call_graph.h"
bool call_types_read(struct graph_builder *builder, const struct image *image,
                     const struct safepoints *table, struct problem *problem) {
  (void)builder, (void)image, (void)table, (void)problem;
  return true;
}
