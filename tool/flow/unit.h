/* unit.h - one function's code, decoded once, and followed along its jumps until nothing changes.
 *
 * A unit is a function, or several ranges of code that share a frame: the parts into which
 * compilers divide a function, code that several functions share, helpers. Each range is decoded
 * from its first byte to its last; where a jump leads into an instruction, from there on as well.
 *
 * A block is a run of instructions that is entered at its first one. It starts with a state
 * (state.h) that holds whichever way control comes there; following the block gives the states with
 * which it is left, for the blocks after it. Where control goes, and what a call does, depends on
 * the question, so the one who asks tells (struct unit_hooks):
 *
 *     unit_add(&unit, ...);  unit_start(&unit, switch's targets ...);
 *     unit_make_blocks(&unit);
 *     unit_enter(&unit, start, &state, false);  unit_run(&unit, &hooks);
 *     unit_visit(&unit, &hooks, visit, context);    the answer: each instruction with its state
 *
 * A block's state only loses what it knows, a bounded number of times: the work is in proportion to
 * the unit's size.
 */
#ifndef STACKPACK_UNIT_H
#define STACKPACK_UNIT_H

#include "tool/code/parts.h"
#include "tool/flow/state.h"
#include "tool/flow/waiting.h"

enum { UNIT_NO_CALL = UINT32_MAX };

struct unit_step {
  struct code_instruction instruction;
  uint32_t block;
  uint32_t call; /* for the one who asks: a number */
  bool is_start; /* of a block */
  bool is_after_call;
};

struct unit_block {
  uint32_t first, end; /* steps */
  bool is_reached, is_waiting;
  bool is_guessed; /* it was reached only by calls of which it isn't known that they return */
  struct state state;
};

struct unit_range {
  uint64_t start, size;
  const uint8_t *bytes;
  size_t at; /* in step_at: where its bytes' places start */
};

struct unit {
  const struct code_architecture *architecture;
  struct parts parts; /* as they are where control comes from elsewhere */
  struct unit_range *ranges;
  struct unit_step *steps;
  uint32_t *step_at; /* by place: the step there, plus 1 */
  struct unit_block *blocks;
  size_t range_count, range_capacity, at_count, at_capacity, step_capacity, block_capacity;
  uint32_t step_count, block_count;
  struct waiting waiting, guesses; /* blocks; those whose last call may return */
};

struct unit_hooks {
  void *context;
  /* What a call does besides pushing its return address, or putting it into a register. NULL:
   * nothing. */
  void (*call)(void *context, struct unit *unit, const struct unit_step *step,
               const struct state *before, struct state *after);
  /* A block was left after a step: enters what control may go to. */
  void (*leave)(void *context, struct unit *unit, const struct unit_step *step,
                const struct state *state);
};

/* An empty one. `parts` tells of the file. */
struct unit unit_open(const struct code_architecture *architecture, const struct parts *parts);
void unit_close(struct unit *unit);

/* Takes all code out again. */
void unit_clear(struct unit *unit);

/* Adds bytes[0..size), which stay where they are. False without memory, or beyond 2 GB. */
bool unit_add(struct unit *unit, uint64_t address, const uint8_t *bytes, uint64_t size);

/* The step at an address; NULL if no instruction was decoded there. */
struct unit_step *unit_step(const struct unit *unit, uint64_t address);

/* A block starts at an address, which is decoded from there on if it lies within an instruction.
 * False if it is in no range, or without memory. */
bool unit_start(struct unit *unit, uint64_t address);

/* Makes the blocks, none of which is reached. Where direct jumps lead to, blocks start. False
 * without memory. */
bool unit_make_blocks(struct unit *unit);

/* Control may come to an address where a block starts: false if none does. Where it is only
 * guessed that a call returns, what is reached otherwise counts, if the depth of the stack differs
 * there. */
bool unit_enter(struct unit *unit, uint64_t address, const struct state *state, bool is_guessed);
/* The same for what follows on a step at a block's end: true if there is no such block. */
bool unit_goes_beyond(const struct unit *unit, const struct unit_step *step);
void unit_go_on(struct unit *unit, const struct unit_step *step, const struct state *state);

/* A block that ends in a call, which may return: what follows on it is entered when all else was
 * followed, by `leave` once more. */
void unit_guess(struct unit *unit, const struct unit_step *step);

/* Follows all blocks that were entered, until nothing changes. `guess` is called for each step for
 * which unit_guess was; NULL if it never is. */
typedef void unit_guesser(void *context, struct unit *unit, const struct unit_step *step,
                          const struct state *state);
void unit_run(struct unit *unit, const struct unit_hooks *hooks, unit_guesser *guess);

/* Follows a block once more, and tells of each of its instructions. */
typedef void unit_visitor(void *context, const struct unit_step *step, const struct state *before,
                          const struct state *after, const struct state_uses *uses);
void unit_visit(struct unit *unit, const struct unit_hooks *hooks, uint32_t block,
                unit_visitor *visit);

#endif
