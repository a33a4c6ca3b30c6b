/* unwinder.h - declarations for the files of the unwinder: see unwinder.c. */
#ifndef STACKPACK_UNWINDER_H
#define STACKPACK_UNWINDER_H

#include "elf/frame_rules.h"
#include "runtime/stackpack_unwind.h"
#include "runtime/unwind/machine.h"

enum { WORD = sizeof(uintptr_t) };

/* The contents of struct stackpack_unwinder. */
struct unwinder_overlay {
  struct rules *rules; /* rules.c: from calloc */
  enum stackpack_unwinder_reason reason;
  uintptr_t above_interrupted; /* the caller's stack pointer, after a step from an exact address */
  bool was_frameless;          /* and that function had no frame: a mere helper of its caller's */
};
_Static_assert(sizeof(struct unwinder_overlay) <= sizeof(struct stackpack_unwinder),
               "room for an unwinder");

/* ---- target.c: the frame that is unwound ---- */

struct target {
  struct stackpack_stack stack;
  const struct stackpack_context *context;
  uintptr_t pc; /* an address within the instruction that is being executed */
  enum stackpack_unwinder_reason reason; /* set when a function below returns false */
};
struct target target_of(struct stackpack_stack stack, const struct stackpack_context *context);
bool target_has_word(const struct target *target, uintptr_t address);

/* Reads an aligned word of the stack, or a register by DWARF's number. False if it is missing. */
bool target_read(struct target *target, uintptr_t address, uintptr_t *value);
bool target_register(struct target *target, uint64_t reg, uintptr_t *value);

/* ---- tables.c, expression.c: reading unwind tables ---- */

/* Finds the entry that covers an address: STACKPACK_UNWINDER_NO_REASON, or the reason for its
 * absence. Its section is the memory that has the tables. */
enum stackpack_unwinder_reason table_find(uintptr_t pc, struct eh_frame_entry *entry);

/* Evaluates the expression at a place in `memory`, as a rule (frame_rules.h) names it. It starts
 * with *cfa on its stack, or with nothing where that is NULL. False, perhaps with
 * target->reason. */
bool expression_evaluate(struct cursor memory, int32_t place, struct target *target,
                         const uintptr_t *cfa, uintptr_t *result);

/* Whether the expression is register `reg` + *offset, and no more. */
bool expression_is_offset(struct cursor memory, int32_t place, unsigned reg, int32_t *offset);

/* ---- signal.c, stub.c: frames without usable tables ---- */

/* Whether the code at pc is the return from a signal handler; and the frame beneath such a frame.
 * False if that is out of the stack. */
bool signal_returns_at(uintptr_t pc);
bool signal_interrupted(const struct target *target, struct stackpack_context *interrupted);

/* The caller of a frame that is in one of the stubs: a linker's, without unwind tables, or the
 * dynamic linker's, with wrong ones. */
bool stub_caller(const struct machine_stubs *stubs, const struct target *target,
                 struct stackpack_context *caller);

/* Whether a signal came in one of these stubs. */
bool stub_is_at(const struct machine_stubs *stubs, const struct stackpack_context *context);

/* Copies the place or value of register `other` of *from to register `reg` of *to. */
void keep_register(struct stackpack_context *to, unsigned reg, const struct stackpack_context *from,
                   unsigned other);

/* ---- saves.c: the places where a function saves each of unwinder_machine.preserved ---- */

enum { SAVES = MACHINE_PRESERVED };
struct save {
  enum { NOT_SAVED, FROM_CFA, FROM_FRAME_POINTER } from;
  int32_t offset;
  bool is_cfa;     /* the register becomes the CFA itself, and the rules forget that it is saved */
  bool is_above;   /* its place isn't in the red zone */
  bool is_unclear; /* else it is there, or the register is unsaved */
};
/* For a signal at an instruction, and the row that holds there. False if the frame may be another
 * than the row's. */
bool saves_find(const struct eh_frame_entry *entry, uintptr_t pc, const struct frame_rules *now,
                struct save saves[SAVES]);

/* Whether a function that was interrupted can have saved a register at `place`. */
bool saves_are_possible(const struct stackpack_context *context, const struct save *save,
                        uintptr_t cfa, uintptr_t place);
/* False if the register, too, may have the caller's value, and another one than its place. */
bool saves_are_clear(const struct stackpack_context *context, unsigned reg, const struct save *save,
                     uintptr_t place);

/* The caller of a function that was interrupted: adds the places that its rules leave out. */
void saves_complete(const struct target *target, const struct save saves[SAVES], uintptr_t cfa,
                    struct stackpack_context *caller);

/* ---- rules.c: the rules of call sites, remembered ---- */

struct rules {
  uintptr_t pc;             /* the target's; 0 in an empty entry */
  struct cursor memory;     /* that the rules' expressions are in */
  struct frame_rules row;   /* that holds at pc */
  uint32_t others;          /* bit n: register n is saved, though calls needn't preserve it */
  uint8_t return_register;  /* below FRAME_REGISTERS: its rule is the return address's */
  bool returns_from_signal; /* a signal handler returns to there */
  bool has_saves;           /* `saves` counts */
  struct save saves[SAVES]; /* for an instruction at which a signal came */
};
enum stackpack_error rules_open(struct unwinder_overlay *unwinder);
void rules_forget(struct unwinder_overlay *unwinder);

/* NULL, and target->reason, where there are none. Valid until the next call. */
const struct rules *rules_find(const struct unwinder_overlay *unwinder, struct target *target);

/* The registers that a row saves, though calls needn't preserve them. */
uint32_t rules_others(const struct frame_rules *row, unsigned return_register);

/* ---- landing.c ---- */

/* Whether a row is of a function that throws, by rules_others. */
bool landing_is_in(const struct frame_rules *row, uint32_t others);

/* Whether the frame's saved registers may be those of an exception's handler already. */
bool landing_begins(const struct rules *rules, struct target *target, uintptr_t cfa);

#endif
