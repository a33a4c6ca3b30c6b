/* parts.h - the addresses that two instructions make together.
 *
 * On machines whose instructions are too short for an address, one has the address's upper part,
 * for a register, and another adds the rest:
 *
 *     adrp x0, page of f;   add x0, x0, rest of f
 *
 * The instructions of a function are followed in the order of their addresses, as long as control
 * goes from one to the next. Where both parts are met in that way, the whole address is known; and
 * so is the next one, where a constant is added to that. An upper part may also be used where it
 * isn't seen: after a jump, in another block, from another register. So an upper part that is still
 * in its register at a jump or a call, or is read by any other instruction, is open: any address of
 * which it is the upper part counts as made.
 *
 * What else registers hold is followed, too, as far as it tells where a jump or call by a register
 * leads: a whole address, and the word at an address (of the global offset table); and constants,
 * for which large frames move the stack pointer. Where control may come to a place in between isn't
 * known yet: indirect_calls.c doubts such jumps and calls when it is.
 */
#ifndef STACKPACK_PARTS_H
#define STACKPACK_PARTS_H

#include "tool/code/code.h"

struct part_value {
  uint64_t value;
  uint8_t kind;     /* enum part_kind */
  bool is_constant; /* an address only in a file that doesn't move */
  bool is_open;     /* an upper part that has been told as open */
};

enum part_kind {
  PART_UNKNOWN,
  PART_UPPER, /* the value is an address's upper part */
  PART_WHOLE, /* it is the value */
  PART_SLOT,  /* it is the word at the address `value` */
};

struct parts {
  struct part_value registers[CODE_REGISTERS];
  uint64_t global;         /* what the global pointer holds; 0: it isn't known */
  uint8_t global_register; /* its number; 0: there is none */
  bool is_fixed;           /* the file doesn't move */
  bool is_straight;        /* control is taken to go from each instruction to the next */
};

/* Control comes from somewhere else: nothing is known. */
void parts_reset(struct parts *parts);

/* Completes an instruction by what is known of registers: its reference, constants, target, and
 * what it does with the stack pointer. Each upper part that becomes open is told, unless `open` is
 * NULL. False if the instruction makes an address in a way that isn't understood. */
typedef void parts_visitor(void *context, uint64_t upper);
bool parts_follow(struct parts *parts, struct code_instruction *instruction, parts_visitor *open,
                  void *context);

/* Control goes where it isn't followed: upper parts become open. */
void parts_leave(struct parts *parts, parts_visitor *open, void *context);

#endif
