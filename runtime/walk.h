/* walk.h - declarations for the files of the walk: see walk.c. */
#ifndef STACKPACK_WALK_H
#define STACKPACK_WALK_H

#include "runtime/internal.h"

#include <assert.h>

/* The state of a walk: private_.state. */
enum walk_state {
  WALK_AT_START, /* at a context that is yet to be looked at */
  WALK_AT_FRAME, /* the frame at hand has been answered */
  WALK_AT_ROOTS, /* and its roots are being gone through, as a row: see next_pair */
  WALK_AT_PAIRS, /* or from private_.pairs */
  WALK_DONE,     /* private_.answer says why */
};

/* The bytes that a call pushes; and for a function with a frame pointer, the places of the caller's
 * frame pointer and the return address, and the caller's stack pointer: as distances from the frame
 * pointer's value. */
#if defined __x86_64__ /* AMD64 psABI, figure 3.3 */
enum { WALK_PUSHED = 8, WALK_SAVED_POINTER = 0, WALK_SAVED_RETURN = 8, WALK_BEHIND = 16 };
#elif defined __riscv /* RISC-V Calling Conventions, "Frame Pointer Convention" */
enum { WALK_PUSHED = 0, WALK_SAVED_POINTER = -16, WALK_SAVED_RETURN = -8, WALK_BEHIND = 0 };
#else /* AArch64: the two may be anywhere in the frame (AAPCS64, 6.4.6); it ends after them */
enum { WALK_PUSHED = 0, WALK_SAVED_POINTER = 0, WALK_SAVED_RETURN = 8, WALK_BEHIND = -1 };
#endif
enum { WALK_BEHIND_IS_KNOWN = WALK_BEHIND >= 0 };

/* The registers that may hold a root: bit n for register n. */
#define WALK_REGISTERS                                                                             \
  ((uint32_t)(((uint64_t)1 << STACKPACK_REGISTERS) - 1) & ~((uint32_t)1 << STACKPACK_STACK_POINTER))

static inline bool walk_is_stop(enum stackpack_walk_answer answer) {
  return answer >= STACKPACK_WALK_NOT_SAFEPOINT;
}

static inline bool walk_knows(const struct stackpack_context *context, unsigned reg) {
  assert(reg < STACKPACK_REGISTERS);
  return (context->known >> reg & 1) != 0;
}

/* The value of a register that the context has. */
static inline uintptr_t walk_register(const struct stackpack_context *context, unsigned reg) {
  assert(walk_knows(context, reg));
  const uintptr_t value = context->registers[reg];
  return (context->in_memory >> reg & 1) != 0 ? *(const uintptr_t *)value : value;
}

/* The value of any register, if the context has it. */
static inline bool walk_find_register(const struct stackpack_context *context, unsigned reg,
                                      uintptr_t *value) {
  if (reg == STACKPACK_STACK_POINTER) {
    *value = context->stack_pointer;
    return true;
  }
  if (reg >= STACKPACK_REGISTERS || !walk_knows(context, reg))
    return false;
  *value = walk_register(context, reg);
  return true;
}

/* A return address without its signature, for a look-up. Functions may sign theirs before they save
 * it, in bits that no address has (Arm Architecture Reference Manual, "Pointer authentication";
 * HINT 7 is XPACLRI). */
static inline uintptr_t walk_strip_signature(uintptr_t address) {
#ifdef __aarch64__
  register uintptr_t link __asm__("x30") = address;
  __asm__("hint 7" : "+r"(link));
  return link;
#else
  return address;
#endif
}

/* Whether the word at an aligned address is within the stack. */
static inline bool walk_has_word(const struct stackpack_stack *stack, uintptr_t address) {
  assert(address % sizeof(uintptr_t) == 0);
  return address >= stack->low && address < stack->end && stack->end - address >= sizeof(uintptr_t);
}

/* Ends the walk. */
static inline enum stackpack_walk_answer walk_end(struct stackpack_walk *walk,
                                                  enum stackpack_walk_answer answer) {
  assert(!stackpack_walk_is_frame(answer));
  walk->private_.state = WALK_DONE;
  walk->private_.entry = NULL;
  return walk->private_.answer = answer;
}

/* walk_step.c: each moves walk->context to the caller of the frame at hand: of a native frame, of
 * one for which the table has only LLVM's size, and of any frame, by unwinding.
 * STACKPACK_WALK_NATIVE for a caller, which is yet to be looked up; or an end or a stop. */
enum stackpack_walk_answer walk_step_native(struct stackpack_walk *walk);
enum stackpack_walk_answer walk_step_without_facts(struct stackpack_walk *walk);
enum stackpack_walk_answer walk_step_by_unwinding(struct stackpack_walk *walk);

/* walk_root.c: STACKPACK_WALK_MANAGED, if the roots of the frame at hand can be found. */
enum stackpack_walk_answer walk_check_roots(const struct stackpack_walk *walk);

/* walk_root.c: gets ready to go through the roots of the frame at hand, from the first one on. A
 * stop where one can't be found. */
enum stackpack_walk_answer walk_begin_roots(struct stackpack_walk *walk);

/* walk_root.c: where a location is in the frame at hand: the memory, or NULL and *value for a
 * constant or the address of a stack object. `word` counts within a slot of several. */
enum stackpack_walk_answer walk_place(struct stackpack_walk *walk,
                                      const struct stackpack_location *location, uint32_t word,
                                      uintptr_t **place, uintptr_t *value);

#endif
