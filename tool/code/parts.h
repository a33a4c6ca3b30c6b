/* parts.h - the addresses that two instructions make together.
 *
 * On machines whose instructions are too short for an address, one has the address's upper part,
 * for a register, and another adds the rest:
 *
 *     adrp x0, page of f;   add x0, x0, rest of f
 *
 * The instructions of a function are followed in the order of their addresses, as long as control
 * goes from one to the next. Where both parts are met in that way, the whole address is resolved;
 * and so is the next one, where a constant is added to that. An upper part may also be used unseen:
 * after a jump, in another block, from another register. So an upper part that is still in its
 * register at a jump or a call, or is read by any other instruction, is open: any address with this
 * upper part counts as made.
 *
 * Other values of registers are followed, too, if they decide the target of a jump or call by a
 * register: a whole address, and the word at an address (of the global offset table); and
 * constants, by which large frames move the stack pointer. Jumps into the middle are still unseen
 * here: indirect_calls.c doubts such jumps and calls later.
 */
#ifndef STACKPACK_PARTS_H
#define STACKPACK_PARTS_H

#include "tool/code/code.h"

struct part_value {
  uint64_t value;
  uint8_t kind;     /* enum part_kind */
  bool is_constant; /* an address only in a file at a fixed address */
  bool is_open;     /* an upper part that was reported as open */
};

enum part_kind {
  PART_UNKNOWN,
  PART_UPPER, /* the value is an address's upper part */
  PART_WHOLE, /* it is the value */
  PART_SLOT,  /* it is the word at the address `value` */
};

struct parts {
  struct part_value registers[CODE_REGISTERS];
  uint64_t global;         /* the global pointer's value; 0: unresolved */
  uint8_t global_register; /* its number, or 0 */
  bool is_fixed;           /* the file has a fixed address */
  bool is_straight;        /* control is taken to go from each instruction to the next */
};

/* Control comes from somewhere else: forgets all values. */
void parts_reset(struct parts *parts);

/* Completes an instruction by the values of registers: its reference, constants, target, and its
 * effect on the stack pointer. One that changes has no form then (decoder.h). `open` is called for
 * each upper part that becomes open, unless it is NULL. False if the instruction makes an address
 * in an unsupported way. */
typedef void parts_visitor(void *context, uint64_t upper);
bool parts_follow(struct parts *parts, struct code_instruction *instruction, parts_visitor *open,
                  void *context);

/* Control leaves the followed code: upper parts become open. */
void parts_leave(struct parts *parts, parts_visitor *open, void *context);

#endif
