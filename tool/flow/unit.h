/* unit.h - one function's code, decoded, and followed along its jumps to a fixed point.
 *
 * A unit is a function, or several ranges of code that share a frame: the parts into which
 * compilers divide a function, code that several functions share, helpers. Each range is decoded
 * from its first byte to its last, and again from each jump target inside an instruction.
 *
 * A basic block is a run of instructions that is entered at its first one. It starts with the join
 * of the states (state.h) of all its predecessors; following the block gives the states for its
 * successors. The caller's hooks (struct unit_hooks) decide the successors and the effects of
 * calls:
 *
 *     unit_add(&unit, ...);  unit_start_targets(&unit);
 *     unit_start(&unit, switch's targets ...);
 *     unit_make_blocks(&unit);
 *     unit_enter(&unit, start, &state, false);  unit_run(&unit, &hooks);
 *     unit_visit(&unit, &hooks, block, visit);    the answer: each instruction with its state
 *
 * A block's state only loses facts, a bounded number of times: the work is in proportion to the
 * unit's size.
 */
#ifndef STACKPACK_UNIT_H
#define STACKPACK_UNIT_H

#include "format/intern.h"
#include "tool/code/decoder.h"
#include "tool/code/parts.h"
#include "tool/flow/state.h"
#include "tool/flow/waiting.h"

/* An instruction at its place. */
struct unit_step {
  uint64_t address;
  uint64_t target;
  uint32_t form; /* number of the decoder's */
  uint32_t block;
  uint8_t length, kind, target_kind; /* the form's */
  bool is_start;                     /* of a block */
  bool is_after_call;
  bool is_idle; /* see state_is_kept */
};

struct unit_block {
  uint32_t first, end; /* steps */
  uint32_t state;      /* at its start, if it is reached: number of the unit's */
  bool is_reached, is_waiting;
  bool is_guessed; /* only reached by calls that may or may not return */
};

struct unit_range {
  uint64_t start, size;
  const uint8_t *bytes;
  size_t at; /* in step_at: where its bytes' places start */
};

struct unit {
  struct decoder decoder;
  const struct code_architecture *architecture; /* the decoder's */
  struct parts parts;                           /* as at an entry from elsewhere */
  struct unit_range *ranges;
  struct code_instruction next; /* for unit_put: the last decoded one */
  struct intern states;         /* of blocks: struct state, or value_flow.c's values */
  struct unit_step *steps;
  uint32_t *step_at; /* by place: the step there, plus 1 */
  struct unit_block *blocks;
  size_t range_count, range_capacity, at_count, at_capacity, step_capacity, block_capacity;
  uint32_t step_count, block_count;
  struct waiting waiting, guesses; /* blocks; those whose last call may return */
  /* Called for each decoded instruction, with its addresses and constants; may be NULL. */
  void (*note)(void *context, const struct code_instruction *instruction);
  void *note_context;
};

struct unit_hooks {
  void *context;
  /* A call's effects besides pushing its return address, or putting it into a register. NULL if
   * there are none. */
  void (*call)(void *context, struct unit *unit, const struct unit_step *step,
               const struct state *before, struct state *after);
  /* A block was left after a step: enters its successors. */
  void (*leave)(void *context, struct unit *unit, const struct unit_step *step,
                const struct state *state);
  /* A step that unit_guess was called for, when all else was followed: enters the code after it.
   * NULL if there are none. */
  void (*guess)(void *context, struct unit *unit, const struct unit_step *step,
                const struct state *state);
};

/* An empty unit. `parts` describes the file. */
struct unit unit_open(const struct code_architecture *architecture, const struct parts *parts);
void unit_close(struct unit *unit);

/* Takes all code out again. The decoder's forms stay, unless they are many. */
void unit_clear(struct unit *unit);

/* Adds bytes[0..size), which the caller keeps, after all ranges before: less than 2 GB of all. */
void unit_add(struct unit *unit, uint64_t address, const uint8_t *bytes, uint64_t size);

/* The same, but the caller decodes: into `next`; unit_put then adds it to the unit, at its
 * address in the last range. */
void unit_cover(struct unit *unit, uint64_t address, const uint8_t *bytes, uint64_t size);
void unit_put(struct unit *unit);

/* The range that has an address, or NULL: ranges are in the order of their addresses. */
const struct unit_range *unit_range(const struct unit *unit, uint64_t address);

/* The decoded step at an address, or NULL. */
struct unit_step *unit_step(const struct unit *unit, uint64_t address);

/* A step's instruction without addresses and constants; valid until the next one is decoded. And
 * the whole instruction, without its reference and constants. */
static inline const struct code_instruction *unit_form(const struct unit *unit,
                                                       const struct unit_step *step) {
  return decoder_get(&unit->decoder, step->form);
}
struct code_instruction unit_instruction(const struct unit *unit, const struct unit_step *step);

/* Starts a block at an address, and decodes from there on if the address is inside an instruction.
 * Nothing happens outside all ranges. */
void unit_start(struct unit *unit, uint64_t address);

/* Whether control may go on after a step: also after a trap for debuggers. */
bool unit_falls_through(const struct unit *unit, const struct unit_step *step);

/* Starts a block at each target of a direct jump, and where steps from inside an instruction meet
 * those that were decoded before. */
void unit_start_targets(struct unit *unit);

/* Whether a block ends after a step: at a jump, an end, or invalid bytes (a call goes on); where a
 * block starts after it, or where the next instruction in memory is elsewhere in the order of
 * steps. */
bool unit_ends_block(const struct unit *unit, uint32_t step);

/* Makes the blocks, all of them unreached. */
void unit_make_blocks(struct unit *unit);

/* Whether a block's instructions are of some kinds only: 1 << enum code_kind. */
bool unit_has_only(const struct unit *unit, const struct unit_block *block, unsigned kinds);

/* Control may come to the block that starts at an address; false if no block does. If a guessed
 * return from a call contradicts another predecessor, by the depth of the stack or by the link
 * register, the other predecessor's state counts. */
bool unit_enter(struct unit *unit, uint64_t address, const struct state *state, bool is_guessed);

/* The state at the start of a block that is reached. */
struct state unit_state(const struct unit *unit, const struct unit_block *block);

/* The address after a step. */
static inline uint64_t unit_after(const struct unit_step *step) {
  return step->address + step->length;
}

/* Whether the unit has no code right after a step. */
bool unit_goes_beyond(const struct unit *unit, const struct unit_step *step);
/* Enters that code after the last step of a block, if there is some. */
void unit_go_on(struct unit *unit, const struct unit_step *step, const struct state *state);

/* For the last step of a block, a call that may return: when all else was followed, the hook
 * `guess` gets it. */
void unit_guess(struct unit *unit, const struct unit_step *step);

/* The worklist, for a caller that follows other values than states: adds a block, unless it waits
 * already; and takes the first one out. False if none waits. */
void unit_wait_for(struct unit *unit, uint32_t block);
bool unit_take(struct unit *unit, uint32_t *block);

/* Follows all blocks that were entered, to a fixed point. */
void unit_run(struct unit *unit, const struct unit_hooks *hooks);

/* Follows a block once more, and calls `visit`, unless it is NULL, for each of its instructions.
 * Returns the state at its end. */
typedef void unit_visitor(void *context, const struct unit_step *step, const struct state *before,
                          const struct state *after, const struct state_uses *uses);
struct state unit_visit(struct unit *unit, const struct unit_hooks *hooks, uint32_t block,
                        unit_visitor *visit);

#endif
