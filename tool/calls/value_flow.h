/* value_flow.h - the values of registers in a function, or a group of them, at each instruction.
 *
 * They decide about jump tables, calls by pointers, and calls that register functions: see
 * jump_tables.h, indirect_calls.c and registered.c.
 */
#ifndef STACKPACK_VALUE_FLOW_H
#define STACKPACK_VALUE_FLOW_H

#include "format/intern.h"
#include "tool/calls/call_graph.h"
#include "tool/code/code.h"
#include "tool/flow/unit.h"

/* A block of the unit. */
struct value_block {
  bool is_entered; /* by other ways than falling through */
  bool has_load;   /* from the stack */
};

/* Entries of a table, numbered from the place that the code names. */
struct extent {
  int64_t first, end;
};

/* A table of jumps: jumps by the same one share all that is found. Its values are those of all
 * jumps by it in a round, joined: an entry is entered again only if these change. */
struct jump_table {
  struct extent extent;
  uint32_t round;       /* the last one in which a jump by it was followed */
  uint32_t values;      /* the number of their join there */
  uint32_t resolved_in; /* the last function in which one was resolved, plus 1 */
  bool leads_out;       /* of that */
};

/* One function at a time, or a group of functions that share a frame. */
struct value_flow {
  struct graph_builder *builder;
  uint32_t first; /* its functions: this one, and the others of its group unless it is alone */
  bool is_alone;
  bool sums_code;   /* it adds something to an address of code; */
  bool hands_over;  /* maybe for other functions: without a jump, or not to a place of its own */
  bool names_label; /* it makes the address of a place of its own */
  bool has_frame;   /* its frame pointer may point to the stack; */
  bool has_frames_address;     /* it makes an address of that */
  bool knows_arguments;        /* at its start, registers hold CODE_ARGUMENT values */
  bool has_targets;            /* a table points into a block: the blocks must be made again */
  bool enters_labels;          /* unresolved jumps may go to places that are marked, */
  struct integers labels;      /* these; */
  uint32_t jumped;             /* with the join of their values in a round, or NO_VALUES */
  struct unit *unit;           /* its code */
  struct value_block *blocks;  /* by the unit's block */
  struct integers named;       /* the addresses that its instructions name: sorted, each once */
  struct intern table_numbers; /* of tables, by the fields of their values */
  struct jump_table *tables;   /* by number */
  size_t table_count, tables_capacity;
  uint32_t round;
  uint64_t left;        /* how many steps and entries of tables are yet to be looked at, at most */
  uint64_t left_in_all; /* the same, in this function and all after it */
  size_t blocks_capacity;
  struct code_slots slots;
};

struct value_flow value_flow_open(struct graph_builder *builder);
void value_flow_close(struct value_flow *flow);

/* Decodes a function, which must be decodable; and the others of its group, of which it must be the
 * first, unless `is_alone`. */
void value_flow_start(struct value_flow *flow, uint32_t number, bool is_alone);
/* The next of the functions, or GRAPH_NO_NODE. */
uint32_t value_flow_next(const struct value_flow *flow, uint32_t function);
/* Follows its values; false if that takes too long. Then, as after a later query that takes too
 * long, `left` is 0. */
bool value_flow_follow(struct value_flow *flow);

/* Counts steps, or entries, against `left`; false if that is used up. */
bool value_flow_spend(struct value_flow *flow, uint64_t count);

/* The value of the pointer that a call goes by, and the registers' values before it. */
struct code_value value_flow_value(struct value_flow *flow, const struct unit_step *step,
                                   struct code_state *state);
/* The function that starts at a value; GRAPH_NO_NODE for all other values. */
uint32_t value_flow_function(const struct value_flow *flow, struct code_value value);
/* Whether a value is the address of one place in the functions. */
bool value_flow_is_own_address(const struct value_flow *flow, struct code_value value);
/* Whether an address is in the middle of one of the functions. */
bool value_flow_is_inside(const struct value_flow *flow, uint64_t address);

#endif
