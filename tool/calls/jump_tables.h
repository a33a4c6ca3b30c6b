/* jump_tables.h - the tables that the compiler makes of a `switch`: the jump that uses each, and
 * its extent. */
#ifndef STACKPACK_JUMP_TABLES_H
#define STACKPACK_JUMP_TABLES_H

#include "tool/calls/value_flow.h"

/* Whether a jump to a value goes by a table of the function's own: judged by the first entries from
 * the place on that the code names. */
bool jump_table_is_own(const struct value_flow *flow, struct code_value table);

/* The constant data that contains a table, or NULL. */
const struct area *jump_table_area(const struct value_flow *flow, struct code_value table);

/* The function's own table that a value is of, with the entries that a jump by it may go to, if
 * something is left then. Valid until the next call. */
struct jump_table *jump_table_find(struct value_flow *flow, struct code_value table);

/* The target of entry n of a table. False if that is outside the code. */
bool jump_table_entry(const struct call_graph *graph, const struct area *area,
                      struct code_value table, int64_t n, uint64_t *target);

/* Replaces an indirect jump by the targets in its table, which must be the function's own. */
void jump_table_resolve(struct value_flow *flow, struct call *call, struct code_value table);

#endif
