/* returns.h - whether a function returns to its caller.
 *
 * A return takes an address off the stack, or from a register. It's the caller's if the stack is as
 * deep there as at the function's start, and that place is unwritten, or if the register has its
 * value. Code that compilers hide from processors' guesses, and code by hand, breaks either on
 * purpose:
 *
 *     push %rax; ret          add $5, (%rsp); ret          mov %rax, 8(%rbp)
 *
 * A function may break its callers' returns as well: by a store above its own return address, by
 * the address of a frame, which is beside a return address, or by another value in a register that
 * calls preserve.
 *
 * So each function's code is followed along its jumps (tool/flow/unit.h), and its returns and jumps
 * to other functions are judged by the states there. A call returns, unless a jump comes to the
 * place after it with another stack: then it must never return (endings.h).
 *
 * Parts of a function are functions of their own in the graph. So a jump to a part, or into another
 * function's middle, takes its state along: such a place is entered with the join of the states at
 * all jumps to it, and its function is followed once more if that loses facts. An exception takes
 * the state at a call to its landing pad. A place in the middle whose address others have is
 * entered as a function is.
 *
 * Computed jumps, as in a `switch`, may reach all code of their function that is unreachable
 * otherwise, with the state that they have in common.
 */
#ifndef STACKPACK_RETURNS_H
#define STACKPACK_RETURNS_H

#include "tool/calls/endings.h"
#include "tool/flow/unit.h"

/* A function's, after it was followed. */
struct returns_verdict {
  uint64_t odd_at;     /* an instruction by which it takes another return address than its own, */
  bool is_odd;         /* if there is one */
  bool runs_oddly;     /* control passes the end with another stack than at the start */
  bool reads_return;   /* something else than a return uses the return address, */
  bool is_read_surely; /* at a depth that is certain */
  bool is_unfinished;  /* to be followed again: others may enter code that nothing reaches */
  bool is_waiting;
  uint8_t times;        /* that it was followed */
  uint16_t lost;        /* callee-saved registers that have other values at a return: a set */
  bool makes_frame;     /* the frame pointer has one on the stack there */
  uint32_t first_entry; /* into it, plus 1; or 0 */
};

/* A place that other functions enter. */
struct returns_entry {
  uint64_t address;
  struct state state; /* the join of theirs */
  uint32_t changes;
  uint32_t next; /* of the same function, plus 1; or 0 */
};

/* Of an instruction. */
struct returns_finding {
  uint64_t at;
  uint32_t function;
  enum finding {
    FINDING_DOUBT,  /* a call that must never return */
    FINDING_MORE,   /* a jump by a pointer that leaves something on the stack */
    FINDING_HELPER, /* a call or jump to a helper that was followed (helper.h) */
  } kind;
};

enum { RETURNS_KEPT = 64 };

struct returns {
  struct graph_builder *builder;
  struct returns_verdict *verdicts; /* by function */
  struct unit *unit;                /* the code of the function that is followed */
  struct intern numbers;            /* of entries, by their addresses */
  struct returns_entry *entries;
  struct waiting waiting; /* functions */
  struct returns_finding *findings;
  size_t entry_count, entry_capacity, finding_count, finding_capacity;

  uint32_t function;
  uint64_t start, size;
  bool is_last_time; /* code that nothing reaches is entered in all functions */
  bool is_judging;   /* the states are final */
  bool *is_unseen;   /* by block: nothing reaches it */
  /* Places whose addresses others may use; and those of the return address and the caller's frame
   * pointer. */
  struct state_use *handed;
  int64_t kept[RETURNS_KEPT];
  unsigned kept_count;
  size_t unseen_capacity, handed_count, handed_capacity;
};

void returns_open(struct returns *returns, struct graph_builder *builder);
void returns_close(struct returns *returns);

/* Prepares for a function: its instructions are to be put into returns->unit. */
void returns_begin(struct returns *returns, uint32_t function);
/* Follows them. */
void returns_follow(struct returns *returns);
/* Something may enter a function at an address in its middle as if that were a start. */
void returns_enter(struct returns *returns, uint64_t address);
/* When all functions were followed: adds the results to the graph and the ends. */
void returns_settle(struct returns *returns, struct endings *endings);

#endif
