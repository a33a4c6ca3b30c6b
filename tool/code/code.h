/* code.h - instructions as operations, for the call graph and for frames without unwind tables.
 * Each architecture has a file.
 *
 * There are two queries. `decode` is for every instruction of a program: its length, its target,
 * the addresses that it names, its effects on the stack (struct code_stack), and the value that it
 * moves or makes (struct code_values); an architecture answers it as fast as it can. code_follow is
 * for functions with jumps, calls, sums or callbacks by pointers: the registers' values, as far as
 * they decide the targets. It changes a struct code_state by one decoded instruction at a time.
 *
 * A decoder names an upper bound of the effects. An instruction that it lacks is CODE_INVALID: the
 * function with it is undecodable, and calls everything.
 */
#ifndef STACKPACK_CODE_H
#define STACKPACK_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum code_kind {
  CODE_OTHER,
  CODE_PADDING, /* without effect */
  CODE_CALL,
  CODE_JUMP,
  CODE_BRANCH, /* a jump on a condition */
  CODE_RETURN,
  CODE_STOP,    /* a trap: control ends here */
  CODE_INVALID, /* invalid bytes */
};

/* Whether control never falls through. */
static inline bool code_ends(enum code_kind kind) {
  return kind == CODE_JUMP || kind == CODE_RETURN || kind == CODE_STOP;
}

/* Whether control may go elsewhere, and leaves no return address. */
static inline bool code_jumps(enum code_kind kind) {
  return kind == CODE_JUMP || kind == CODE_BRANCH;
}

/* How a call, jump or branch names its target. */
enum code_target {
  CODE_DIRECT,   /* target: the address itself */
  CODE_SLOT,     /* target: the address of a word in memory that holds it */
  CODE_COMPUTED, /* the target is computed elsewhere */
};

/* An instruction's constant effects on the stack: a return takes the caller's address only if the
 * stack is as deep as at the function's start, and that place is unwritten. */
enum code_stack_base { CODE_NO_BASE, CODE_STACK_POINTER, CODE_FRAME_POINTER };
enum { CODE_STACK_LOST = INT32_MAX };
enum { CODE_PRESERVED = 12, CODE_PRESERVED_FRAME = 1, CODE_WORDS = 2 };
enum { CODE_LINK = 1 << CODE_PRESERVED }; /* the register with a call's return address */

struct code_stack {
  int32_t growth; /* of the stack, in bytes: a push has 8; CODE_STACK_LOST: it is elsewhere */
  /* Of the memory that is used, from the base: from its value after the instruction, or before it
   * if the base becomes something else. */
  int32_t offset;
  int32_t size;    /* of that memory, in bytes */
  uint8_t base;    /* enum code_stack_base; CODE_NO_BASE without such memory */
  uint8_t copy;    /* enum code_stack_base: the other one of the two is set from this one */
  bool is_read;    /* the memory is only read */
  bool is_address; /* its address is computed, for others that may use it */
  /* Sets of CODE_LINK and of registers that calls preserve; the first is the frame pointer. One is
   * stored in a word at `offset` from the base, or loaded from there, and maybe another one in the
   * next word; those that change become something else. */
  uint16_t saves[CODE_WORDS], loads[CODE_WORDS], changes;
  int32_t copy_offset; /* from `copy` before the instruction */
  bool reads_link;     /* it reads CODE_LINK: no return, and no store that saves it */
  bool signs_link;     /* it makes or checks the signature of CODE_LINK */
  /* enum code_stack_base: another register, or memory, gets a value made of this one. Others may
   * then use `handed_size` bytes of memory, at `handed_offset` from it. */
  uint8_t handed;
  int32_t handed_offset, handed_size;
};

/* Whether the frame pointer becomes something else than a place at a distance from the stack
 * pointer. */
static inline bool code_loses_frame(const struct code_stack *stack) {
  return (stack->changes & CODE_PRESERVED_FRAME) != 0 && stack->copy != CODE_STACK_POINTER;
}

/* Where instructions are too short for an address, two of them make it: one has its upper part, for
 * a register, and another adds the rest. An instruction's use of such parts; the operands are those
 * of struct code_values, and the number is `target`: */
enum part_use {
  CODE_NO_PART,
  CODE_UPPER,    /* register `to` becomes the number; the rest is added later */
  CODE_BITS,     /* 16 bits of `to` become those of the number, at `shift` */
  CODE_LOWER,    /* `to` becomes the base (or 0, without one) plus the number */
  CODE_LOAD,     /* `to` becomes the word in memory at the base plus the number */
  CODE_ACCESS,   /* other memory there is used */
  CODE_SHIFT,    /* `to` becomes the base times 2 to the power of the number */
  CODE_THROUGH,  /* control goes to the base plus the number */
  CODE_SUBTRACT, /* the stack pointer becomes itself less the base, */
  CODE_ADD,      /* or plus the base */
};

enum { CODE_REGISTERS = 32, CODE_NO_REGISTER = 255, CODE_ARGUMENTS = 6 };

struct code_parts {
  uint32_t reads, writes; /* registers, by number: a bit each */
  uint32_t may_write;     /* it may or may not write to these */
  uint8_t part;           /* enum part_use */
  bool is_constant;       /* its value is an address only in a file at a fixed address */
  bool is_copy; /* x86-64: it only copies registers; elsewhere, copies count as computed */
  /* The register that is written to, or the target, is a word of memory outside the stack. */
  bool is_load;
};

/* The value that an instruction puts into its destination; values.c follows it. Operands are
 * registers, or one of enum value_operand. For example:
 *
 *   mov 8(%rsp), %rax            VALUE_COPY      to rax, first VALUE_MEMORY (base rsp, number 8)
 *   sh1add a0, a1, a2            VALUE_ADDRESS   to a0; base a2, index a1, shift 1
 *   stp x19, x20, [sp, #16]      VALUE_COPY      to VALUE_MEMORY (base sp, number 16), first x19,
 *                                                second x20
 *   movslq (%rax,%rcx,4), %rdx   VALUE_COPY      to rdx, first VALUE_MEMORY (base rax, index rcx,
 *                                                shift 2), of 4 bytes with their sign
 *
 * The number is `target`; it may be another address relative to the instruction. */
enum value_operation {
  VALUE_COMPUTED,   /* something made of the registers that it reads: any other operation */
  VALUE_COPY,       /* `first`; `second` is another register, with the next word in memory */
  VALUE_EITHER,     /* `first` or `second` */
  VALUE_SUM,        /* `first` plus `second`, */
  VALUE_DIFFERENCE, /* or less `second` */
  VALUE_ADDRESS,    /* the base, the shifted index, and the number */
  VALUE_BITS,       /* `first`, but 16 bits of it are the number's, at `shift` */
  VALUE_GO,         /* none: control goes to `first` */
};

enum value_operand {
  VALUE_NUMBER = 252,
  VALUE_MEMORY, /* at the base, plus the shifted index, plus the number */
  VALUE_TOP,    /* the word that is pushed, or popped */
};

/* Where that memory is: at a distance from one of enum code_stack_base, or at an unresolved one */
enum value_place {
  VALUE_ON_STACK = 3, /* from the stack pointer, */
  VALUE_BY_FRAME,     /* from the frame pointer, which may be another value, */
  VALUE_ELSEWHERE,    /* or from another register */
};

struct code_values {
  uint8_t operation; /* enum value_operation */
  uint8_t to, first, second;
  uint8_t base, index, shift; /* CODE_NO_REGISTER: without one */
  uint8_t place;              /* enum value_place, or code_stack_base */
  /* The bytes of `first` that count, or of the index, or of the sum without an index; a zero or
   * their sign extends them. */
  uint8_t part;
  bool is_unsigned;
  uint16_t size;  /* of memory that is stored, in bytes; 4: a register's upper half becomes 0 */
  int32_t number; /* x86-64: that is put into memory, or added to it: `target` has a displacement */
};

/* Of an instruction that computes the value of a register. */
static inline struct code_values code_computed(unsigned to, unsigned base) {
  return (struct code_values){.to = (uint8_t)to,
                              .first = CODE_NO_REGISTER,
                              .second = CODE_NO_REGISTER,
                              .base = (uint8_t)base,
                              .index = CODE_NO_REGISTER,
                              .part = 8};
}

enum { CODE_CONSTANTS = 3 };

struct code_instruction {
  uint64_t address;   /* its own */
  uint64_t target;    /* enum code_target; of others, the displacement of memory, or the number */
  uint64_t reference; /* an address that is given relative to the instruction's own */
  uint64_t constants[CODE_CONSTANTS]; /* wide enough to be an address */
  uint32_t form; /* number of its decoder's, plus 1 (decoder.h); 0: it has none yet */
  uint8_t length;
  uint8_t kind;        /* enum code_kind */
  uint8_t target_kind; /* enum code_target */
  uint8_t constant_count;
  bool has_reference;
  bool is_access;   /* the reference is to memory that is used; otherwise the address is computed */
  bool is_relative; /* the target, the reference or a part is at a distance from the instruction */
  bool is_wide;     /* the last constant has 64 bits */
  bool may_store;   /* something elsewhere than on the stack, or by another register */
  bool is_system;   /* it calls the operating system */
  bool is_break;    /* a trap for debuggers, after which control may go on */
  bool may_be_call; /* with other extensions, it is a jump, a call, a push or moves (image.h) */
  bool is_sum; /* it adds something to a register; or it goes where one points to: `values.first` */
  struct code_stack stack;
  struct code_parts parts;
  struct code_values values;
};

/* Whether it is a call that leaves its return address in the link register. */
static inline bool code_calls_by_link(const struct code_instruction *instruction) {
  return instruction->kind == CODE_CALL && (instruction->stack.changes & CODE_LINK) != 0;
}

/* Whether a register becomes a copy of another one. */
static inline bool code_is_copy(const struct code_instruction *instruction) {
  const struct code_values *values = &instruction->values;
  return values->operation == VALUE_COPY && values->to < CODE_REGISTERS &&
         values->first < CODE_REGISTERS && values->part == 8;
}

/* The value of a register. It is kept and compared as words: all of its bytes are members'. */
enum code_value_kind {
  CODE_UNKNOWN,
  CODE_ADDRESS,  /* the constant `table` */
  CODE_ENTRY,    /* one of the entries of `table`, each of `size` bytes */
  CODE_TARGET,   /* `base` plus one of them, shifted */
  CODE_ARGUMENT, /* the function's argument number `table` */
  CODE_WORD,     /* the word in memory at `table`, unchanged */
  CODE_SUM,      /* `table` plus something else: it may be any address */
  CODE_HELD,     /* the address `table`, or something else */
};

struct code_value {
  uint8_t kind; /* enum code_value_kind */
  uint8_t size, shift;
  bool is_unsigned; /* entries are */
  bool is_upper;    /* `table` is an address's upper part: the rest is added later */
  /* An instruction may have computed it, from any values: any address. Values from memory outside
   * the stack, arguments, and calls' results are exempt. */
  bool is_made;
  bool is_uncertain; /* a sum's `table` is one of several addresses */
  bool is_stack;     /* it may be an address on the stack */
  uint64_t table, base;
};

/* The origin that the offset of a place on the stack, or of a variable, is counted from. */
enum code_region {
  REGION_ANYWHERE, /* an unresolved distance on the stack */
  REGION_START,    /* the stack pointer at the function's start */
  REGION_LATER,    /* the same when aligned, moved by a computed distance, or after an exception */
  REGION_FRAME,    /* the frame pointer: unresolved, it may point to the stack */
  REGION_OTHER,    /* the frame pointer is another value */
  REGION_FIXED,    /* memory at a fixed address */
};

/* The value of the stack pointer or the frame pointer; or a word that it points to. */
struct code_place {
  int32_t offset;
  uint32_t region; /* enum code_region */
};

/* Places with values of a kind. */
enum { CODE_PLACES = 128 };
struct code_places {
  uint32_t count; /* may be more than there is room for: then any place is one */
  struct code_place items[CODE_PLACES];
};

/* A function's places with addresses of code, with computed values, and with addresses on the
 * stack, at any time. */
enum { CODE_SLOTS = 16 };
struct code_slots {
  uint64_t start, size; /* where the code is */
  bool is_fixed;        /* at a fixed address: a number may be an address */
  bool has_grown;       /* there are new ones */
  uint32_t lost;        /* registers that some function changes though calls preserve them */
  bool makes_frame;     /* some function makes the frame pointer for its caller */
  bool has_load;        /* something was loaded from the stack */
  /* Registers may hold addresses of places on the stack; a computed value was stored by such a
   * register, perhaps. */
  bool has_address, has_distant_store;
  uint32_t count; /* may be more than there is room for: then any place is one */
  struct code_slot {
    uint64_t address;
    struct code_place place;
  } items[CODE_SLOTS];
  struct code_places made, stacks;
};

/* Kept and compared as words up to the last of the machine's registers (value_flow.c). */
struct code_state {
  struct code_place stack, frame; /* the two pointers */
  struct code_value registers[CODE_REGISTERS];
  struct code_value summed; /* the sum or target that was made last, or CODE_UNKNOWN */
  uint64_t named;           /* the last address made of another one and a constant, or 0 */
  struct code_slots *slots;
};

/* Whether a value may have been computed by an instruction: sums, targets and short entries always
 * were. */
bool code_is_made(struct code_value value);
/* One of two values. An address of code is kept: something may be added to it. */
struct code_value code_either(const struct code_slots *slots, struct code_value a,
                              struct code_value b);
/* Values are copied from anywhere on the stack to anywhere there. */
void code_copy_anywhere(struct code_state *state);

struct code_architecture;
/* Changes the state as a decoded instruction does, which may lack its reference and constants. Of a
 * jump or call whose target is computed, *jump is the target. (values.c) */
void code_follow(const struct code_architecture *architecture,
                 const struct code_instruction *instruction, struct code_state *state,
                 struct code_value *jump);

/* A relocation's effect on a word. */
enum code_relocation {
  CODE_RELOCATION_NONE,     /* anything but a function's address */
  CODE_RELOCATION_ADDRESS,  /* the addend is an address in the file */
  CODE_RELOCATION_RESOLVER, /* the result of the function at that address */
  CODE_RELOCATION_CALL,     /* a symbol's address; code uses it for calls and jumps alone */
  CODE_RELOCATION_SLOT,     /* a symbol's address, in the global offset table */
  CODE_RELOCATION_SYMBOL,   /* a symbol's address plus the addend, or the distance to that */
};

struct code_relocation_type {
  uint32_t type;
  enum code_relocation meaning;
};

struct code_architecture {
  uint16_t machine; /* EM_* */
  uint8_t register_count;
  bool has_link; /* calls leave the return address in a register */
  /* Addresses have two parts: the range of the rest, which is added to the upper one. Both 0: they
   * are whole. */
  int16_t lowest, highest;
  uint8_t global_register; /* the base of distances of data, or 0 */
  /* Whether the instructions at bytes[0..size) set the global register. NULL without such a
   * register. */
  bool (*sets_global)(const uint8_t *bytes, size_t size, uint64_t address, uint64_t *value);
  /* The canonical frame address at a function's start: this register (DWARF's number), plus
   * this. */
  uint8_t stack_register;
  uint8_t stack_pointer; /* the number in code of the same */
  uint8_t entry_offset;
  int8_t callers_frame;            /* from the frame pointer: where the caller's is saved */
  uint32_t lost;                   /* registers that a call may change: register n is bit n */
  uint32_t passed;                 /* registers that pass arguments: likewise */
  uint8_t result;                  /* the register for its result */
  uint8_t link_register;           /* if there is one */
  uint8_t in_sets[CODE_PRESERVED]; /* the registers of struct code_stack's sets, in their order, */
  uint8_t in_tables[CODE_PRESERVED]; /* and DWARF's numbers of them; 0 ends the list */
  /* All types but those of a symbol's address; the last one, R_*_NONE, is all zero. */
  const struct code_relocation_type *relocations;
  const uint8_t *arguments; /* the registers of a call's first CODE_ARGUMENTS arguments */
  /* Decodes the instruction at bytes[0..size), which runs at `address`. A broken one is
   * CODE_INVALID, of length 1. */
  void (*decode)(const uint8_t *bytes, size_t size, uint64_t address,
                 struct code_instruction *instruction);
};

/* The architecture of an ELF machine, or NULL. */
const struct code_architecture *code_architecture(uint16_t machine);

/* The registers of a set (struct code_stack). */
uint32_t code_registers(const struct code_architecture *architecture, uint16_t set);

/* An unlisted type may be a function's address. */
enum code_relocation code_relocation(const struct code_architecture *architecture, uint64_t type);

extern const struct code_architecture code_x86_64, code_aarch64, code_riscv64;

#endif
