/* code_x86_64.h - x86-64's instructions as operations on values: code_x86_64.c decodes them, and
 * code_x86_64_values.c follows them.
 */
#ifndef STACKPACK_CODE_X86_64_H
#define STACKPACK_CODE_X86_64_H

#include "tool/code/code.h"

/* The value that an instruction puts into its destination. */
enum x86_operation {
  X86_COMPUTE,       /* any other */
  X86_MOVE,          /* `from` */
  X86_EXTEND_WORD,   /* the 32 bits of `from`, with their sign */
  X86_EXTEND,        /* fewer bits of it, or without a sign */
  X86_EXTEND_RESULT, /* rax becomes eax, with its sign */
  X86_EXCHANGE,      /* `from`, which becomes the destination's */
  X86_PUSH,
  X86_POP,
  X86_ADDRESS,  /* the address of its memory */
  X86_ADD,      /* the destination's, plus `from`; */
  X86_SUBTRACT, /* less `from` */
  X86_CHOOSE,   /* `from`, or the destination's */
  X86_GO,       /* control goes to `from` */
};

/* Operands other than registers. */
enum { X86_MEMORY = 254, X86_NUMBER = 253 };

/* Memory that values are followed through. */
enum x86_place {
  X86_ELSEWHERE,
  X86_AT_PLACE, /* at a constant distance from rsp or rbp, or at a fixed address */
  X86_ON_STACK, /* at an unresolved distance from rsp or rbp */
  X86_OF_THREAD /* of a segment: as elsewhere, but no table is there */
};

/* struct code_architecture's `follow`. */
void x86_follow(const struct code_instruction *instruction, struct code_state *state,
                struct code_value *jump);

#endif
