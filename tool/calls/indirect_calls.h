/* indirect_calls.h - a result of the pass over indirect calls and jumps, for other passes. */
#ifndef STACKPACK_INDIRECT_CALLS_H
#define STACKPACK_INDIRECT_CALLS_H

#include "tool/calls/value_flow.h"

/* Whether the functions that were followed have a jump with unresolved targets. It may enter any
 * block, and make the state there wrong. */
bool indirect_calls_has_open_jump(struct value_flow *flow);

#endif
