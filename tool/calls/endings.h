/* endings.h - how functions end: by a return, or by running on into the next.
 *
 * The sweep notes the end of each function. After all calls were found, the ends are settled, and
 * the resulting calls added.
 */
#ifndef STACKPACK_ENDINGS_H
#define STACKPACK_ENDINGS_H

#include "tool/calls/call_graph.h"

enum run { ENDS, RUNS_ON, RUNS_ODDLY };

/* A call that must never return: the code after it is entered with another stack. */
struct doubt {
  uint32_t function, call;
};

struct endings {
  struct graph_builder *builder;
  bool *returns;        /* by node: it may return; at first, those with a return of their own */
  uint32_t *last_calls; /* by function: the call that ends it, plus 1; or 0 */
  uint8_t *runs_on;     /* by function: enum run: whether control passes its end */
  struct doubt *doubts;
  size_t doubt_count, doubt_capacity;
};

void endings_open(struct endings *endings, struct graph_builder *builder);
/* Control certainly passes a function's end. */
void endings_run_on(struct endings *endings, uint32_t function);
/* If the call returns, the function's returns may go anywhere. */
void endings_doubt(struct endings *endings, uint32_t function, uint32_t call);
/* Finds the functions that return, adds the calls of those that run on, and frees all. */
void endings_settle(struct endings *endings);

#endif
