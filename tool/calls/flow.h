/* flow.h - the values of registers in one function: what is known of them at each instruction.
 *
 * Jump tables, calls by pointers, and calls that register functions are judged by them: see
 * jump_tables.h, indirect_calls.c and registered.c.
 */
#ifndef STACKPACK_FLOW_H
#define STACKPACK_FLOW_H

#include "tool/calls/call_graph.h"
#include "tool/code/code.h"
#include "tool/flow/waiting.h"

/* An instruction. */
struct step {
  uint32_t offset; /* in the function */
  uint32_t block;
  bool is_target; /* a table that was found while following leads here */
  struct code_instruction instruction;
};

/* Steps that are gone through from the first one to the last. */
struct block {
  uint32_t first, end; /* steps */
  bool is_reached, is_waiting;
  bool is_entered;         /* not only by what goes on into it */
  bool has_load;           /* from the stack */
  struct code_state state; /* at its start */
};

/* One function at a time. */
struct flow {
  struct graph_builder *builder;
  const struct area *area;
  uint32_t function;
  bool sums_code;       /* it adds something to an address of code, */
  bool sums_other;      /* which isn't that of a place of its own */
  bool names_label;     /* it makes the address of a place of its own */
  bool knows_arguments; /* at its start, registers hold what it was given */
  bool has_targets; /* a table that was found leads into a block: the blocks are to be made again */
  uint64_t start, size;
  struct step *steps;
  uint32_t *step_at; /* by offset: the step there, plus 1 */
  struct block *blocks;
  uint32_t step_count, block_count;
  struct waiting waiting; /* blocks */
  uint64_t left; /* how many steps and entries of tables are yet to be looked at, at most */
  size_t steps_capacity, at_capacity, blocks_capacity;
  struct code_slots slots;
};

struct flow flow_open(struct graph_builder *builder);
void flow_close(struct flow *flow);

/* Decodes a function, which is understood and below 2 GB. */
void flow_start(struct flow *flow, uint32_t number);
/* Follows its values; false if that takes too long. Then, and when what is asked for afterwards
 * takes too long, nothing is left. */
bool flow_follow(struct flow *flow);

/* Notes what was looked at; false if nothing is left. */
bool flow_spend(struct flow *flow, uint64_t count);

/* The step at an address of the function; NULL if no instruction starts there. */
struct step *flow_step(const struct flow *flow, uint64_t address);
/* The value of the pointer that a call goes by, and the registers' values before it. */
struct code_value flow_value(const struct flow *flow, const struct step *step,
                             struct code_state *state);
/* The function that starts at a value; GRAPH_NO_NODE if the value isn't known, or none does. */
uint32_t flow_function(const struct flow *flow, struct code_value value);
/* Whether a jump to a value leads to one place in the function. */
bool flow_is_own_address(const struct flow *flow, struct code_value value);

#endif
