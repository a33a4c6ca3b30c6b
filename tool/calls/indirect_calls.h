/* indirect_calls.h - what the pass over calls and jumps by pointers knows that others ask for. */
#ifndef STACKPACK_INDIRECT_CALLS_H
#define STACKPACK_INDIRECT_CALLS_H

#include "tool/calls/flow.h"

/* Whether the function that was followed has a jump of which nothing is known. It may lead into any
 * block, and what is known there may be wrong. */
bool indirect_calls_has_unknown_jump(const struct flow *flow);

#endif
