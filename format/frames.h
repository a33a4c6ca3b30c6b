/* frames.h - what is known of a frame that waits at a call: where it ends, and where it has put what
 * belongs to its caller.
 *
 * A stack map says where a frame's references are, and how large LLVM takes the frame to be: one
 * number for all of a function, which leaves out arguments that are pushed for a call, isn't there
 * where the function allocates on the stack by a variable amount, and says nothing of registers.
 * After linking, unwind tables say all of it for each address (elf/eh_frame.h). Their rules come to
 * this: the canonical frame address (CFA), which is the caller's stack pointer, is a register and an
 * offset; and each register of the caller, the return address among them, still has its value, or is
 * in memory at an offset from the CFA. For a function that began with `push %rbp; push %rbx; sub $24,
 * %rsp`, on x86-64:
 *
 *   CFA = %rsp + 48; return address at CFA - 8, %rbp at CFA - 16, %rbx at CFA - 24
 *
 * Registers are DWARF's numbers of the machine. Those from 32 on are left out: on the machines that
 * are known they hold no references. So a return address has one below 32, as on all of these.
 */
#ifndef STACKPACK_FRAMES_H
#define STACKPACK_FRAMES_H

#include "format/intern.h"

enum {
  FRAME_REGISTERS = 32,    /* that are told of */
  FRAME_NO_REGISTER = 255, /* the CFA isn't known */
  FRAME_WORDS_MAX = 2 + FRAME_REGISTERS,
};

struct frame_facts {
  uint8_t cfa_register;
  uint8_t return_register; /* what it held at the function's start is the return address */
  bool is_signed;          /* AArch64: the return address is, where it is saved */
  int32_t cfa_offset;
  uint32_t saved; /* bit n: register n is in memory at the CFA plus offsets[n] */
  uint32_t lost;  /* bit n: register n has neither its value nor such a place */
  int32_t offsets[FRAME_REGISTERS];
};

/* The same as a sequence of words, of which equal facts have the same: for a set (intern.h). */
unsigned frame_words(const struct frame_facts *facts, uint64_t words[FRAME_WORDS_MAX]);
struct frame_facts frame_from_words(struct intern_sequence sequence);

#endif
