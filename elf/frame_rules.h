/* frame_rules.h - the rules by which unwind tables find a function's caller.
 *
 * An FDE's instructions make a table of the function's code (DWARF 5, 6.4.1). Each row holds from
 * one address up to the next row's. It has a rule for the canonical frame address (CFA), the
 * caller's stack pointer, and one for each register of the caller. A function that begins with
 * `push %rbx; sub $16, %rsp` has three rows on x86-64:
 *
 *   from   CFA         return address   %rbx
 *   +0     %rsp + 8    at CFA - 8       same
 *   +1     %rsp + 16   at CFA - 8       at CFA - 16
 *   +5     %rsp + 32   at CFA - 8       at CFA - 16
 */
#ifndef STACKPACK_FRAME_RULES_H
#define STACKPACK_FRAME_RULES_H

#include "elf/eh_frame_entries.h"
#include "format/frames.h"

/* The source of a register's value in the caller. `value` below is the rule's own. */
enum frame_rule {
  RULE_SAME,          /* the register still has it */
  RULE_LOST,          /* it is lost */
  RULE_AT,            /* the word at CFA + value */
  RULE_IS,            /* CFA + value itself */
  RULE_REGISTER,      /* register number `value` */
  RULE_AT_EXPRESSION, /* the word at the result of an expression, */
  RULE_IS_EXPRESSION, /* or the result. value: the place in the section of its size (ULEB128) */
  RULE_NONE,          /* of the CFA alone: it is yet to come */
};

/* A row. Rules whose value exceeds 32 bits are RULE_LOST. */
struct frame_rules {
  /* RULE_REGISTER: the CFA is register `cfa_register` + cfa_value. RULE_IS_EXPRESSION: the result
   * of the expression at cfa_value. RULE_LOST: its rule is unusable. */
  enum frame_rule cfa;
  uint32_t cfa_register;
  int32_t cfa_value;
  bool is_signed;                 /* AArch64: the saved return address is */
  uint8_t kinds[FRAME_REGISTERS]; /* enum frame_rule */
  int32_t values[FRAME_REGISTERS];
};

/* Receives the row that holds in [range.start, range.end). It may change the row: the later ones go
 * on from there. False ends the run. */
typedef bool frame_row_visitor(void *context, struct frame_rules *rules, struct code_range range);

/* Calls `visit` for each row of a function whose FDE eh_frame_next has found, in order of
 * addresses; rows may be empty. False where an instruction is unreadable, or `visit` returned
 * false. Time is in proportion to the size of the FDE, and of the CIE's instructions, whose number
 * is limited. */
bool frame_rules_run(const struct cie_facts *cie, struct cursor fde, struct code_range function,
                     frame_row_visitor *visit, void *context);

#endif
