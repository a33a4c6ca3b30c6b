/* code.h - what the call graph asks of an architecture's instructions. A file per architecture
 * answers.
 *
 * Two questions. The first is asked of every instruction of a program: how long it is, whether it
 * goes elsewhere, and which addresses it names; an architecture answers it as fast as it can. The
 * second is asked only of functions with jumps whose target isn't in the instruction: what do the
 * registers hold, as far as it takes to see that a jump goes through a table of the compiler's? It
 * is answered an instruction at a time, by changing a struct code_state.
 */
#ifndef STACKPACK_CODE_H
#define STACKPACK_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum code_kind {
  CODE_OTHER,
  CODE_PADDING, /* does nothing */
  CODE_CALL,
  CODE_JUMP,
  CODE_BRANCH, /* a jump on a condition */
  CODE_RETURN,
  CODE_STOP,    /* a trap: what follows is not reached from here */
  CODE_INVALID, /* no instruction */
};

/* How a call, jump or branch names its target. */
enum code_target {
  CODE_DIRECT,   /* target: the address itself */
  CODE_SLOT,     /* target: the address of a word in memory that holds it */
  CODE_COMPUTED, /* neither is in the instruction */
};

/* What an instruction does with the stack, as far as that is constant: a return takes the caller's
 * address only if the stack is as deep as at the function's start, and nothing was written there. */
enum code_stack_base { CODE_NO_BASE, CODE_STACK_POINTER, CODE_FRAME_POINTER };
enum { CODE_STACK_LOST = INT32_MAX };

struct code_stack {
  int32_t growth; /* of the stack, in bytes; CODE_STACK_LOST: it is somewhere else */
  int32_t offset; /* of the memory that is used, from a register after the instruction */
  int32_t size;   /* of that memory, in bytes */
  uint8_t base;   /* enum code_stack_base: that register; CODE_NO_BASE if there is no such memory */
  uint8_t copy;   /* enum code_stack_base: what the other register of the two is made of */
  bool is_read;   /* the memory is read, and nothing else */
  bool loses_frame;    /* the frame pointer becomes something else */
  int32_t copy_offset; /* from that register before the instruction */
};

enum { CODE_CONSTANTS = 3 };

struct code_instruction {
  uint64_t target;
  uint64_t reference; /* an address that is given relative to the instruction's own */
  uint64_t constants[CODE_CONSTANTS]; /* wide enough to be an address */
  uint8_t length;
  uint8_t kind;        /* enum code_kind */
  uint8_t target_kind; /* enum code_target */
  uint8_t constant_count;
  bool has_reference;
  bool is_access; /* the reference is to memory that is used; otherwise the address is computed */
  bool is_wide;   /* the last constant has 64 bits */
  bool is_sum;    /* it adds registers; or it goes where a register points to */
  struct code_stack stack;
};

/* What a register may be known to hold. */
enum code_value_kind {
  CODE_UNKNOWN,
  CODE_ADDRESS,       /* the constant `table` */
  CODE_PLACE,         /* the address of some word behind `table` */
  CODE_SHORT_ENTRY,   /* one of the 4-byte words behind `table` */
  CODE_SHORT_TARGET,  /* `table` plus one of them */
  CODE_POINTER_ENTRY, /* one of the 8-byte words behind `table` */
  CODE_SUM,           /* `table` plus something else: it may be any address */
};

struct code_value {
  enum code_value_kind kind;
  uint64_t table;
};

enum { CODE_REGISTERS = 16, CODE_ARGUMENTS = 6 };

struct code_state {
  struct code_value registers[CODE_REGISTERS];
  uint64_t summed; /* the address to which something was added last; 0: none */
};

struct code_decoder; /* the architecture's own */

struct code_architecture {
  uint16_t machine; /* EM_* */
  /* The canonical frame address at a function's start: this register (DWARF's number), plus this. */
  uint8_t stack_register;
  uint8_t entry_offset;
  const uint8_t *arguments; /* the registers of a call's first CODE_ARGUMENTS arguments */
  struct code_decoder *(*open)(void);
  void (*close)(struct code_decoder *decoder);
  /* The instruction at bytes[0..size), which will run at `address`. A broken one is CODE_INVALID,
   * of length 1. */
  void (*decode)(const struct code_decoder *decoder, const uint8_t *bytes, size_t size,
                 uint64_t address, struct code_instruction *instruction);
  /* Changes the state as the instruction does; of a jump or call whose target is computed, *jump is
   * the target. */
  void (*follow)(const struct code_decoder *decoder, const uint8_t *bytes, size_t size,
                 uint64_t address, struct code_state *state, struct code_value *jump);
};

/* The architecture of an ELF machine; NULL if it isn't known. */
const struct code_architecture *code_architecture(uint16_t machine);

extern const struct code_architecture code_x86_64;

#endif
