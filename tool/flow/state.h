/* state.h - what a function has done, at one place, with its stack and with what is its caller's.
 *
 * A function's caller relies on the stack pointer, on some registers, and on the return address. So
 * a state says where the stack pointer and the frame pointer are, from where the stack pointer was
 * at the function's start, and of each register that calls preserve, and of the return address,
 * whether it still holds the caller's value, and where on the stack that is stored:
 *
 *     push %rbx            stack -8;  %rbx is the caller's, and stored at -8
 *     mov  %rdi, %rbx      %rbx is stored at -8
 *     pop  %rbx            stack 0;   %rbx is the caller's
 *     ret                  the return address was stored at 0 by the call, and is still there
 *
 * Memory that the function uses by other pointers than these two isn't the stack's words that a
 * state knows: compilers keep their objects apart. What breaks that on purpose is told by the uses
 * below: an address near one of those words is computed for others.
 */
#ifndef STACKPACK_STATE_H
#define STACKPACK_STATE_H

#include "tool/code/code.h"

/* Values of the caller's: of the registers that calls preserve, in the order of struct code_stack's
 * sets, and the return address. A set of them has a bit for each. */
enum { KEPT_FRAME = 0, KEPT_LINK = CODE_PRESERVED, KEPT = CODE_PRESERVED + 1 };
enum { KEPT_REGISTERS = (1 << CODE_PRESERVED) - 1, KEPT_LINK_BIT = 1 << KEPT_LINK };

struct state_pointer {
  int32_t offset; /* from where the stack pointer was at the start */
  bool is_known;
  /* No call lies between the start and where the pointer was made, on one way at least: so no
   * callee has moved it. */
  bool is_sure;
};

struct state {
  struct state_pointer stack, frame;
  uint16_t own;         /* those whose register has the caller's value */
  uint16_t stored;      /* those that are stored on the stack, */
  int32_t places[KEPT]; /* there; */
  uint16_t sure;        /* by a pointer that was sure */
  uint32_t link_copies; /* other registers that have the return address: a bit each */
  bool has_calls_link;  /* the register for it may have that of a call */
  bool is_signed;       /* the return address is */
};

/* Bytes on the stack, from where the stack pointer was at the start. */
struct state_use {
  int64_t at;
  int32_t size;
  bool is_known; /* otherwise there are none, or nothing is known of them */
  bool is_sure;  /* the pointer was, by which they are used */
  bool is_read, is_address;
};

/* What an instruction does with memory on the stack, and with the return address. */
struct state_uses {
  struct state_use memory, handed; /* `handed`: others may use it */
  bool reads_return;               /* something else than a return, or a store that saves it */
  bool reads_return_surely;        /* where the stack pointer is known */
};

/* At the start of a function. */
struct state state_at_start(const struct code_architecture *architecture);

/* What an instruction makes of a state. */
struct state_uses state_follow(struct state *state, const struct code_architecture *architecture,
                               const struct code_instruction *instruction);

/* What holds in both of two states of one place. Of a pointer that differs, nothing is known.
 * Whether *state became another one. */
bool state_join(struct state *state, const struct state *other);

/* Whether a jump to another function may be made here, or a return: the stack pointer and the frame
 * pointer are the caller's, and so is the return address. */
bool state_is_level(const struct state *state, const struct code_architecture *architecture);

#endif
