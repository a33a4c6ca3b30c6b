/* code_link.h - what machines have in common whose calls leave the return address in a register.
 *
 * Their instructions have 4 bytes, or 2, so an address takes two of them (struct code_parts), and a
 * decoder is a matter of fields: it reads them, and calls these functions, which know what an
 * addition to the stack pointer, or a load of the link register, means for the stack.
 */
#ifndef STACKPACK_CODE_LINK_H
#define STACKPACK_CODE_LINK_H

#include "tool/code/code.h"

/* The numbers of registers, and a bit for each that a call may change. */
struct link_machine {
  uint8_t stack, frame, link;
  int8_t callers_frame; /* from `frame`: where the caller's is saved; the return address is above */
  uint8_t preserved;    /* calls preserve ten registers from that on, */
  uint32_t also;        /* and these: a bit for each, at most one */
  uint32_t clobbers;
  uint8_t result; /* of calls */
};

static inline uint32_t link_field(uint32_t word, unsigned low, unsigned width) {
  return word >> low & (((uint32_t)1 << width) - 1);
}

/* A number of `width` bits, with its sign. */
static inline int64_t link_signed(uint32_t value, unsigned width) {
  const int64_t sign = (int64_t)1 << (width - 1);
  return ((int64_t)value ^ sign) - sign;
}

/* What the register is the base of. */
enum code_stack_base link_base(const struct link_machine *machine, unsigned number);

void link_set_direct(struct code_instruction *instruction, enum code_kind kind, uint64_t target);
void link_set_part(struct code_instruction *instruction, enum part_use part, unsigned to,
                   unsigned from, int64_t distance);

/* Others may write to a place. Where the frame pointer leads to are the caller's, which the same
 * holds for, and the return address. */
void link_set_address(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                      int32_t offset);

/* An instruction uses memory at a distance from a register that isn't known. */
void link_set_anywhere(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                       bool is_read);

/* Register `to` becomes `from` plus a constant. */
void link_set_sum(const struct link_machine *machine, struct code_stack *stack, unsigned to,
                  unsigned from, int32_t distance);

/* A word at `offset` from the memory that is used is stored from a register, or loaded into it. */
void link_set_saved(const struct link_machine *machine, struct code_stack *stack, unsigned number,
                    int32_t offset, bool is_load);

/* Tells of the stack pointer, the frame pointer and the link register what `parts` says of all. */
void link_finish(const struct link_machine *machine, struct code_instruction *instruction);

/* Whether an instruction stores something on the stack; and one whose value isn't followed, so that
 * it may be any that was computed, or made of an address of code. */
bool link_stores(const struct code_instruction *instruction);
void link_store_made(const struct code_instruction *instruction, struct code_state *state);

/* Whether numbers in instructions may be addresses. */
bool link_has_numbers(const struct code_state *state);

/* The value of an address's upper part, which may be a number; of an address; and of a sum, where b
 * is shifted and extended first: a table's address and an entry make a target. */
struct code_value link_upper(const struct code_state *state, uint64_t address, bool is_number);
struct code_value link_address(uint64_t address);
struct code_value link_sum(struct code_value a, struct code_value b, uint8_t shift,
                           bool is_unsigned);

/* Forgets the values that the instruction changes; register `to` (CODE_NO_REGISTER: none) has
 * `result` then, if that is known. All but the registers `taken` (a bit each), which become what
 * memory or other registers hold, are computed. */
void link_assign(const struct link_machine *machine, const struct code_instruction *instruction,
                 struct code_state *state, unsigned to, struct code_value result, uint32_t taken);

/* See struct code_architecture. */
extern const uint16_t link_system_leaves[];

#endif
