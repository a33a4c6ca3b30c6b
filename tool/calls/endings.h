/* endings.h - how functions end: which of them return, and which run on into the next.
 *
 * The sweep notes how each ends by itself. When all calls are known, that is settled, and the calls
 * are added that follow from it.
 */
#ifndef STACKPACK_ENDINGS_H
#define STACKPACK_ENDINGS_H

#include "tool/calls/call_graph.h"

enum run { ENDS, RUNS_ON, RUNS_ODDLY };

/* A call that mustn't return: what follows on it is entered with another stack. */
struct doubt {
  uint32_t function, call;
};

struct endings {
  struct graph_builder *builder;
  bool *returns;        /* by node: whether it may return; at first, what has a return of its own */
  uint32_t *last_calls; /* by function: the call that ends it, plus 1; 0 if none does */
  uint8_t *runs_on;     /* by function: enum run: its last instruction doesn't end it */
  struct doubt *doubts;
  size_t doubt_count, doubt_capacity;
};

void endings_open(struct endings *endings, struct graph_builder *builder);
/* If a call returns, the function's returns lead anywhere. */
void endings_doubt(struct endings *endings, uint32_t function, uint32_t call);
/* Finds what returns, adds the calls of what runs on, and frees all. `depths`: of the stack at
 * functions' starts; not 0 for parts of functions. */
void endings_settle(struct endings *endings, const int32_t *depths);

#endif
