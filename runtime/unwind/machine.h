/* machine.h - the unwinder's description of a machine: x86_64.c, aarch64.c and riscv64.c. */
#ifndef STACKPACK_UNWINDER_MACHINE_H
#define STACKPACK_UNWINDER_MACHINE_H

#include "runtime/stackpack.h"

#include <stddef.h>

enum {
  MACHINE_PRESERVED = __builtin_popcount(STACKPACK_PRESERVED_REGISTERS),
  MACHINE_CODE_MAX = 8,
};

/* Instructions that are the same in every program, except addresses and numbers. */
struct machine_code {
  struct machine_instruction {
    uint64_t bits; /* the instruction's bytes, the first one lowest, */
    uint64_t mask; /* where this has ones; `bits` has zeros elsewhere */
    uint8_t size;  /* in bytes; 0 after the last instruction */
    uint8_t words; /* when it comes next, so many words have been pushed since the call */
  } instructions[MACHINE_CODE_MAX];
};

enum { MACHINE_CALL_PUSHES = -1, MACHINE_NO_NUMBER = -1 };

struct unwinder_machine {
  int pc;   /* DWARF's number of the program counter, or MACHINE_NO_NUMBER */
  int link; /* the register that a call puts the return address into; or MACHINE_CALL_PUSHES */
  uint8_t preserved[MACHINE_PRESERVED]; /* the registers that a call preserves */
  uint8_t red_zone; /* the bytes below its stack pointer that a function may use */

  /* The code that a signal handler returns to. While it runs, the ucontext is at this distance from
   * the stack pointer; the bytes [registers, registers_end) of that are the registers. */
  struct machine_code signal_return;
  uint16_t ucontext, registers, registers_end;

  /* See stub.c: the first one that matches counts. In `linker`, the rules leave out the words that
   * have been pushed before; in `jumps`, that the return address is in a register. */
  struct machine_stubs {
    const struct machine_code *stubs;
    unsigned count;
  } stubs, linker, jumps;

  /* In glibc's swapcontext: from there on, it loads the registers of another stack.
   * (sysdeps/unix/sysv/linux, swapcontext.S) */
  struct machine_code switches;

  /* NULL, or: whether code has moved the stack pointer, or loaded the frame pointer, between two
   * places. */
  bool (*has_moved)(uintptr_t from, uintptr_t to, bool frame_pointer);

  /* The same: whether code between two places makes a frame, frees it, or saves registers there. */
  bool (*has_frame)(uintptr_t from, uintptr_t to);

  /* The same: whether it saves the return address's register. */
  bool (*saves_link)(uintptr_t from, uintptr_t to);
};
extern const struct unwinder_machine unwinder_machine;

/* code.c: whether a few bytes are readable. */
bool machine_can_read(uintptr_t start, size_t size);

/* code.c: whether pc is the address of the instruction number *at of such code. */
bool machine_is_at(const struct machine_code *code, uintptr_t pc, unsigned *at);

/* code.c: whether such code is in a function from its start on, before pc. */
bool machine_is_behind(const struct machine_code *code, uintptr_t start, uintptr_t pc);

/* The machines' assembly of stackpack_unwinder_call puts a context on the stack, and beside it the
 * registers that a call preserves, one word each. The context has their addresses. They are loaded
 * from there again as any function's saved registers are; so the caller goes on with the values
 * that a collection writes into these words. The frame keeps a frame pointer, and has the usual
 * unwind rules of such a function, so that all kinds of walkers, debuggers and exceptions can pass
 * it. The assembly counts on these: */
_Static_assert(offsetof(struct stackpack_context, pc) == 0, "pc");
_Static_assert(offsetof(struct stackpack_context, stack_pointer) == 8, "stack_pointer");
_Static_assert(offsetof(struct stackpack_context, is_exact) == 16, "is_exact");
_Static_assert(offsetof(struct stackpack_context, known) == 20, "known");
_Static_assert(offsetof(struct stackpack_context, in_memory) == 24, "in_memory");
_Static_assert(offsetof(struct stackpack_context, doubled) == 28, "doubled");
_Static_assert(offsetof(struct stackpack_context, registers) == 32, "registers");

#endif
