/* helpers.h - helpers (tool/flow/helper.h) in the call graph. */
#ifndef STACKPACK_HELPERS_H
#define STACKPACK_HELPERS_H

#include "tool/calls/call_graph.h"
#include "tool/calls/stack.h"

/* Whether a call or jump goes to a helper. Its instructions are then followed in place, and it has
 * no other successor. */
bool helper_follow(const struct graph_builder *builder, struct stack_notes *notes,
                   struct stack *stack, const struct code_instruction *transfer);

#endif
