/* stack.h - whether a function returns to its caller.
 *
 * A return takes an address off the stack. It's the caller's if the stack is as deep there as at
 * the function's start, and that place is unwritten. Code that compilers hide from processors'
 * guesses, and code by hand, breaks either on purpose:
 *
 *     push %rax; ret          add $5, (%rsp); ret          mov %rax, 8(%rbp)
 *
 * A function may break its callers' returns as well: by a store above its own return address, or by
 * the address of a frame, which is beside a return address.
 *
 * So a function's instructions are followed, in the order of their addresses: the depth of the
 * stack, and the place of the frame pointer. A stack pointer that is made of anything else may
 * point anywhere, up to where it is made of the frame pointer again. Depths are exact as long as
 * the stack changes by constants, and a forward jump notes its depth for its target. A place
 * without a noted jump (the body of a loop that is entered at its end, a landing pad, a case of a
 * switch) gets the depth of the last switch, or else of the last jump or call; then only the pushes
 * from there on count, unless a jump back shows the depth, or all switches have the same.
 *
 * On machines with a link register, a return takes the address from there. It's the caller's if
 * neither a call nor another instruction has changed the register; or if it was stored to a place
 * on the stack before, which has no other stores, and is loaded from there. A function has one such
 * place. The address may also be kept in another register, across a call that preserves it, as the
 * outliner of LLVM does.
 *
 * The caller's own return may go by the frame pointer, and the values of its callee-saved registers
 * are followed, too (flow.c). So a function that uses such a register must restore the caller's
 * value: it stores the value to one place on the stack, which has no other stores, and loads it
 * from there before it returns.
 */
#ifndef STACKPACK_STACK_H
#define STACKPACK_STACK_H

#include "tool/code/code.h"

/* How deep the stack is: by how many bytes more than at the function's start. */
struct stack_depth {
  int32_t bytes;
  int32_t enough; /* a return at this depth or less is right, if the depth is inexact */
  int32_t
      frame; /* the distance from the frame pointer to where the stack pointer was at the start */
  uint8_t link;                       /* enum stack_link */
  bool is_loaded;                     /* it is the function's own since it was loaded */
  uint8_t certainty, frame_certainty; /* enum stack_certainty */
  uint32_t link_copies;               /* registers that have the return address: a bit each */
  uint16_t changed; /* sets of callee-saved registers: one has lost the caller's value; */
  uint16_t saved;   /* or it is stored, and still unrestored */
  bool by_frame;    /* the stack pointer was made of the frame pointer */
  bool is_noted, is_decoded;
};

enum stack_certainty {
  STACK_OTHER, /* it may be another stack */
  STACK_LOST,  /* it is the function's own; bytes are from a place on */
  STACK_GUESSED,
  STACK_EXACT
};

/* The contents of the link register. */
enum stack_link {
  LINK_OWN,   /* the function's own; also on machines without it */
  LINK_SAVED, /* the same; but it is to be loaded before the function returns */
  LINK_CALL,  /* a call's return address */
  LINK_OTHER
};

struct stack {
  struct stack_depth depth, jumped; /* here, and where control last went elsewhere */
  struct stack_depth switched;      /* and where it went by a jump that may be a switch's, */
  bool has_switched;                /* if there is one; */
  bool has_other_switch;            /* or several, with other depths */
};

/* Bytes on the stack that are stored to: see `place`. */
struct stack_store {
  int64_t at;
  int32_t size;
};
enum { STACK_EARLY = 64 };

/* A function. */
struct stack_notes {
  struct stack_depth
      *depths;     /* by offset; all zeros at first, and as many as the largest has bytes */
  uint32_t *noted; /* offsets of the noted ones */
  size_t noted_count, noted_capacity;
  uint64_t start;
  bool has_link;     /* the machine has a register for return addresses, */
  uint8_t link;      /* this one; */
  uint32_t clobbers; /* calls may change these */
  bool is_part;
  /* Where the return address is on the stack: how far above where the stack pointer is at the
   * start. */
  bool has_place;
  int32_t place;
  bool is_saved, is_loaded; /* it is stored there, and loaded */
  /* The same for each callee-saved register. Sets: those that have a place; whose place has another
   * store; that lack the caller's value at a return. */
  uint16_t placed, overwritten, lost;
  int64_t places[CODE_PRESERVED];
  struct stack_store early[STACK_EARLY]; /* before the place was found */
  uint32_t early_count;                  /* may be more than there is room for */
  bool is_read;                          /* its return address is */
  bool is_read_surely;                   /* the same, at a depth that is exact */
  bool is_written;                       /* or may be: its returns may go anywhere */
  /* Of guesses: some were right, or wrong, as a jump back showed; there are returns that depend on
   * them, and some that would be odd if they were right. */
  bool has_right, has_wrong, has_return, has_odd_return;
  /* A jump back to decoded code had another stack there, or another frame pointer; and there are
   * returns without the frame pointer, or with it. */
  bool has_other_back, has_plain_return, has_frame_back, has_frame_return;
  /* Or the link register with another return address; and there are returns by its value from the
   * start. The same for sets of callee-saved registers. */
  bool has_link_back, has_kept_return;
  uint16_t changed_back, unchanged_return;
};

/* Prepares for a function. A part of one has another depth at its start, perhaps
 * STACK_UNKNOWN_DEPTH. */
enum { STACK_UNKNOWN_DEPTH = INT32_MAX };
void stack_open(struct stack_notes *notes, struct stack *stack, uint64_t start, int32_t depth);

/* Control comes to an address by going on, or from an unseen place. False if it goes on there with
 * another depth than a jump has, or with another return address: one of the two is wrong, and the
 * jump's is kept. */
bool stack_arrive(struct stack_notes *notes, struct stack *stack, uint64_t address, bool goes_on);
/* Whether stack and registers are as at the start of a function, by facts or by guesses. */
bool stack_is_level(const struct stack *stack);
/* Applies an instruction. */
void stack_follow(struct stack_notes *notes, struct stack *stack,
                  const struct code_instruction *instruction);
/* A call whose callee is skipped: it may change registers. */
void stack_call(struct stack *stack);
/* Control may go to an address in the function, or call it. */
void stack_jump(struct stack_notes *notes, const struct stack *stack, uint64_t target,
                bool is_call);

/* Whether a return, or another function's after a jump to it, takes something else than the
 * function's own return address here. */
bool stack_is_odd(struct stack_notes *notes, const struct stack *stack);
/* A jump by a pointer: to another function, if the stack is as deep as at the start. Whether that
 * is odd. */
bool stack_leaves_oddly(struct stack_notes *notes, const struct stack *stack);
/* Whether a jump by a pointer leaves something on the stack: it's to a place in the function, or
 * else another function returns to the address there. On another stack, it may, where a helper
 * returns by such a jump (helpers.c). */
bool stack_has_more(const struct stack_notes *notes, const struct stack *stack);
/* Whether a return was odd, by the facts at the function's end. */
bool stack_was_odd(const struct stack_notes *notes);
/* The set of callee-saved registers that are changed when the function returns. */
uint16_t stack_lost_registers(const struct stack_notes *notes);

#endif
