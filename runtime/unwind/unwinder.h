/* unwinder.h - what the files of the unwinder share: see unwinder.c. */
#ifndef STACKPACK_UNWINDER_H
#define STACKPACK_UNWINDER_H

#include "runtime/unwind/machine.h"
#include "runtime/unwind/stackpack_unwind.h"

#include <libunwind.h>
#include <stddef.h>

enum { WORD = sizeof(uintptr_t) };

/* What lies over struct stackpack_unwinder. */
struct unwinder_overlay {
  unw_addr_space_t space; /* libunwind's: the functions of target.c */
  void *rules;            /* rules.c: from calloc */
  size_t rules_size;      /* of one call site's rules, as libunwind has them */
  enum stackpack_unwinder_reason reason;
};
_Static_assert(sizeof(struct unwinder_overlay) <= sizeof(struct stackpack_unwinder),
               "room for an unwinder");

/* One frame, as libunwind sees it: through the functions of target.c. */
struct target {
  struct stackpack_stack stack;
  const struct stackpack_context *context;
  uintptr_t pc;                       /* an address within the instruction that is being executed */
  uintptr_t tables_start, tables_end; /* the segment of the unwind tables that are read, */
  const void *module;                 /* and what they are of: a struct link_map */
  enum stackpack_unwinder_reason reason; /* why one of the functions failed */
  bool is_trial;                         /* memory that can't be read is 0 */
};

/* target.c */
extern const unw_accessors_t target_accessors;
struct target target_of(struct stackpack_stack stack, const struct stackpack_context *context);
bool target_has_word(const struct target *target, uintptr_t address);

/* signal.c: whether the code at pc is the return from a signal handler; and what lies beneath such
 * a frame. False if that is out of the stack. */
bool signal_returns_at(uintptr_t pc);
bool signal_interrupted(const struct target *target, struct stackpack_context *interrupted);

/* stub.c: the caller of a frame that is in one of the stubs: of a linker's, which have no unwind
 * table, or of the dynamic linker's, which have a wrong one. */
bool stub_caller(const struct machine_stubs *stubs, const struct target *target,
                 struct stackpack_context *caller);

/* Copies what *from knows of register `other` to register `reg` of *to. */
void keep_register(struct stackpack_context *to, unsigned reg, const struct stackpack_context *from,
                   unsigned other);

/* saves.c: where a function saves each of unwinder_machine.preserved. */
enum { SAVES = MACHINE_PRESERVED };
struct save {
  enum { NOT_SAVED, FROM_CFA, FROM_FRAME_POINTER } from;
  int64_t offset;
};
void saves_find(const struct unwinder_overlay *unwinder, const struct target *target,
                struct save saves[SAVES]);

/* Whether a function that was interrupted can have saved a register at `place`. */
bool saves_are_possible(const struct stackpack_context *context, uintptr_t cfa, uintptr_t place);

/* The caller of a function that was interrupted: adds the places that its rules don't name. */
void saves_complete(const struct target *target, const struct save saves[SAVES], uintptr_t cfa,
                    struct stackpack_context *caller);

/* rules.c: the rules by which the frame of a call site is unwound. */
struct rules {
  uintptr_t pc;                       /* the target's; 0 in an empty entry */
  uint64_t returns_from_signal;       /* not 0: a signal handler returns to there */
  uintptr_t tables_start, tables_end; /* rules may be expressions, which are read from there, */
  const void *module;                 /* or from elsewhere in the module */
  uint64_t has_saves;                 /* not 0: `saves` is known */
  struct save saves[SAVES];           /* of an instruction at which a signal came */
  uint64_t words[];                   /* as unw_apply_reg_state takes them */
};
enum stackpack_error rules_open(struct unwinder_overlay *unwinder);
void rules_forget(struct unwinder_overlay *unwinder);

/* NULL, and target->reason, where there are none. Valid until the next call. */
struct rules *rules_find(const struct unwinder_overlay *unwinder, struct target *target);

#endif
