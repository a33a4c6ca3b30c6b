/* state.h - the stack and the caller's values at one place in a function.
 *
 * A caller relies on the stack pointer, the callee-saved registers, and the return address. So a
 * state has the offsets of the stack pointer and the frame pointer, from the stack pointer at the
 * function's start; and for each callee-saved register, and the return address, whether it still
 * holds the caller's value, and the place on the stack that stores this value:
 *
 *     push %rbx            stack -8;  %rbx is the caller's, and stored at -8
 *     mov  %rdi, %rbx      %rbx is stored at -8
 *     pop  %rbx            stack 0;   %rbx is the caller's
 *     ret                  the return address was stored at 0 by the call, and is still there
 *
 * A state assumes that stores by other pointers than these two miss its words on the stack:
 * compilers keep their objects apart. Code that breaks this on purpose shows in the uses below: it
 * computes an address near one of those words for others.
 */
#ifndef STACKPACK_STATE_H
#define STACKPACK_STATE_H

#include "tool/code/code.h"

/* Values of the caller's: of the registers that calls preserve, in the order of struct code_stack's
 * sets, and the return address. A set of them has a bit for each. */
enum { KEPT_FRAME = 0, KEPT_LINK = CODE_PRESERVED, KEPT = CODE_PRESERVED + 1 };
enum { KEPT_REGISTERS = CODE_LINK - 1, KEPT_LINK_BIT = CODE_LINK };

struct state_pointer {
  int32_t offset; /* from where the stack pointer was at the start */
  bool is_known;
  bool is_foreign; /* on some path, it is made of anything else: it may be of another stack */
  /* On at least one path, the pointer was set before any call: so it is safe from callees. */
  bool is_sure;
  bool unused; /* fills the last word */
};

/* It is kept and compared as words: all of its bytes are members'. */
struct state {
  struct state_pointer stack, frame;
  uint16_t own;         /* those whose register has the caller's value */
  uint16_t stored;      /* those that are stored on the stack, at `places`; */
  uint16_t sure;        /* by a pointer that was sure */
  bool has_calls_link;  /* the link register may have a call's return address */
  bool is_signed;       /* the return address is */
  uint32_t link_copies; /* other registers that have the return address: a bit each */
  int32_t places[KEPT];
};
enum { STATE_WORDS = sizeof(struct state) / sizeof(uint64_t) };
_Static_assert(sizeof(struct state) == 28 + KEPT * sizeof(int32_t) &&
                   sizeof(struct state) == STATE_WORDS * sizeof(uint64_t),
               "no byte between members");

/* Bytes on the stack, from where the stack pointer was at the start. */
struct state_use {
  int64_t at;
  int32_t size;
  bool is_known; /* false: there are none, or their place is unknown */
  bool is_sure;  /* the pointer that they are used by was sure */
  bool is_read, is_address;
};

/* An instruction's uses of memory on the stack, and of the return address. */
struct state_uses {
  struct state_use memory, handed; /* `handed`: others may use it */
  bool reads_return;               /* something else than a return, or a store that saves it */
  bool reads_return_surely;        /* at a depth that is certain */
  bool reads_frame;                /* the saved frame pointer, other than to restore it */
};

/* At the start of a function. */
struct state state_at_start(const struct code_architecture *architecture);

/* Applies an instruction to a state. */
struct state_uses state_follow(struct state *state, const struct code_architecture *architecture,
                               const struct code_instruction *instruction);

/* Whether an instruction uses nothing, and keeps each state that has no link_copies. */
bool state_is_kept(const struct code_architecture *architecture,
                   const struct code_instruction *instruction);

/* Joins two states of one place: keeps the facts that hold in both. A pointer that differs becomes
 * unknown. Returns whether *state changed. */
bool state_join(struct state *state, const struct state *other);

/* Whether the stack is as deep as at the function's start. */
static inline bool state_is_at_start(const struct state *state) {
  return state->stack.is_known && state->stack.offset == 0;
}

/* Whether a jump to another function may be made here, or a return: the stack pointer and the frame
 * pointer are the caller's, and so is the return address. */
bool state_is_level(const struct state *state, const struct code_architecture *architecture);

#endif
