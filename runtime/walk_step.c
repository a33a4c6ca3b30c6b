/* walk_step.c - from a frame to its caller's.
 *
 * By frame size. A function of known frame size moves the stack pointer once, in its prologue, and at
 * every call it is that much below where it was at the function's entry, where the return address
 * lies. (LLVM's "frame size" counts pushed registers, but not the return address.) What the function
 * has done with the registers that it preserves isn't known then.
 *
 * By frame pointer. A function that keeps one begins with `push %rbp; mov %rsp, %rbp`. So %rbp is the
 * address of the caller's %rbp; the return address lies above it, and above that is where the
 * caller's stack pointer will be. Nothing is said about the function's own stack pointer, which it
 * may move at will, and nothing is needed, as its callee told it in the same way.
 *
 * LLVM knows no frame size where a function allocates on the stack by a variable amount or realigns
 * it. But such a function always keeps a frame pointer (X86FrameLowering::hasFPImpl); what is needed
 * is its %rbp.
 *
 * There is one more trap in frame sizes. LLVM may push arguments before a call instead of storing
 * them in room that the prologue made, and the record doesn't say that the stack pointer is lower
 * there (X86CallFrameOptimization). So a frame size is checked against whatever else is known.
 *
 * By unwinding: what unwinders do. As they are slow, the walks by the other ways ask them only where
 * they must. The registers that such a walk has lost by then are found by unwinding from the last
 * frame where all of them were known, up to the frame at hand; no frame is unwound twice.
 */
#include "runtime/walk.h"

enum { WORD = sizeof(uintptr_t) };

/* A step has been made: tells whether it was one. */
static enum stackpack_walk_answer check_progress(const struct stackpack_context *context,
                                                 uintptr_t stack_pointer) {
  return context->stack_pointer > stack_pointer ? STACKPACK_WALK_NATIVE
                                                : STACKPACK_WALK_NO_PROGRESS;
}

/* ---- By unwinding ---- */

static enum stackpack_walk_answer unwind(struct stackpack_walk *walk,
                                         struct stackpack_context *context) {
  const struct stackpack_walker *walker = walk->private_.walker;
  const uintptr_t stack_pointer = context->stack_pointer;
  switch (walker->unwind(walker->unwinder, walk->private_.stack, context)) {
  case STACKPACK_UNWOUND:
    return check_progress(context, stack_pointer);
  case STACKPACK_OUTERMOST:
    return STACKPACK_WALK_END;
  case STACKPACK_NOT_UNWOUND:
    break;
  }
  return STACKPACK_WALK_NOT_UNWOUND;
}

enum stackpack_walk_answer walk_recover(struct stackpack_walk *walk) {
  struct stackpack_context *behind = &walk->private_.behind;
  const struct stackpack_context *context = &walk->context;
  while (behind->stack_pointer < context->stack_pointer) {
    const enum stackpack_walk_answer answer = unwind(walk, behind);
    if (answer != STACKPACK_WALK_NATIVE)
      return answer == STACKPACK_WALK_END ? STACKPACK_WALK_DISAGREEMENT : answer;
  }
  if (behind->stack_pointer != context->stack_pointer || behind->pc != context->pc)
    return STACKPACK_WALK_DISAGREEMENT;
  walk->context = *behind;
  return STACKPACK_WALK_NATIVE;
}

static enum stackpack_walk_answer by_unwinding(struct stackpack_walk *walk) {
  if (walk->private_.walker->unwind == NULL)
    return STACKPACK_WALK_NOT_UNWOUND;
  enum stackpack_walk_answer answer = walk_recover(walk);
  if (answer == STACKPACK_WALK_NATIVE)
    answer = unwind(walk, &walk->private_.behind);
  if (answer == STACKPACK_WALK_NATIVE)
    walk->context = walk->private_.behind;
  return answer;
}

/* ---- By frame pointer and by frame size ---- */

/* A return address as it is looked up. Functions may sign theirs before they save it, in bits that no
 * address has (Arm Architecture Reference Manual, "Pointer authentication"; HINT 7 is XPACLRI). */
static uintptr_t strip_signature(uintptr_t address) {
#ifdef __aarch64__
  register uintptr_t link __asm__("x30") = address;
  __asm__("hint 7" : "+r"(link));
  return link;
#else
  return address;
#endif
}

/* Goes to the caller: its stack pointer, and where the address is at which it goes on. The registers are
 * left to it. */
static enum stackpack_walk_answer go_behind(struct stackpack_walk *walk, uintptr_t return_place,
                                            uintptr_t stack_pointer) {
  if (return_place % WORD != 0)
    return STACKPACK_WALK_MISALIGNED;
  if (!walk_has_word(&walk->private_.stack, return_place))
    return STACKPACK_WALK_OUT_OF_STACK;
  walk->context.pc = strip_signature(*(const uintptr_t *)return_place);
  walk->context.stack_pointer = stack_pointer;
  walk->context.is_exact = 0;
  walk->context.known = 0;
  return STACKPACK_WALK_NATIVE;
}

/* The same for a frame that keeps a frame pointer. */
static enum stackpack_walk_answer go_behind_pointer(struct stackpack_walk *walk, uintptr_t pointer,
                                                    uintptr_t stack_pointer) {
  const uintptr_t saved = pointer + (uintptr_t)WALK_SAVED_POINTER;
  if (pointer % WORD != 0)
    return STACKPACK_WALK_MISALIGNED;
  if (pointer < walk->context.stack_pointer)
    return STACKPACK_WALK_NO_PROGRESS;
  if (!walk_has_word(&walk->private_.stack, saved))
    return STACKPACK_WALK_OUT_OF_STACK;
  const enum stackpack_walk_answer answer =
      go_behind(walk, pointer + (uintptr_t)WALK_SAVED_RETURN, stack_pointer);
  if (answer == STACKPACK_WALK_NATIVE)
    stackpack_context_save(&walk->context, STACKPACK_FRAME_POINTER, (uintptr_t *)saved);
  return answer;
}

/* A frame whose own way leads nowhere, as `answer` says: the unwinder's turn, if there is one. */
static enum stackpack_walk_answer otherwise(struct stackpack_walk *walk,
                                            enum stackpack_walk_answer answer) {
  return walk->private_.walker->unwind == NULL ? answer : by_unwinding(walk);
}

/* Whether a frame pointer can be that of a frame above which the caller's stack pointer is. */
static bool fits(const struct stackpack_walk *walk, uintptr_t pointer, uintptr_t stack_pointer) {
  if (WALK_BEHIND_IS_KNOWN)
    return pointer + (uintptr_t)WALK_BEHIND == stack_pointer;
  const uintptr_t end = pointer + (uintptr_t)WALK_SAVED_RETURN + WORD;
  return pointer >= walk->context.stack_pointer && pointer < stack_pointer && end <= stack_pointer;
}

/* A managed frame of known size. Where the frame pointer is known and is to be one, both must lead to
 * the same place. On x86-64 a call has left the return address above the frame; on the other machines
 * the function saves it, and only beside the frame pointer is it known where. */
static enum stackpack_walk_answer by_frame_size(struct stackpack_walk *walk) {
  const struct stackpack_context *context = &walk->context;
  const uint64_t size = walk->record.frame_size;
  const bool knows = walk_knows(context, STACKPACK_FRAME_POINTER);
  const uintptr_t left = walk->private_.stack.end - context->stack_pointer;
  if (size > left || (size == left && WALK_PUSHED > 0))
    return otherwise(walk, STACKPACK_WALK_OUT_OF_STACK);
  const uintptr_t entry = context->stack_pointer + (uintptr_t)size;
  if (!walk->private_.walker->frame_pointers && WALK_PUSHED > 0)
    return go_behind(walk, entry, entry + WALK_PUSHED);
  if (size < WORD || (!knows && WALK_PUSHED == 0))
    return otherwise(walk, STACKPACK_WALK_NO_FRAME_POINTER);
  const uintptr_t pointer = knows ? walk_register(context, STACKPACK_FRAME_POINTER) : entry - WORD;
  if (!fits(walk, pointer, entry + WALK_PUSHED))
    return otherwise(walk, STACKPACK_WALK_DISAGREEMENT);
  return go_behind_pointer(walk, pointer, entry + WALK_PUSHED);
}

/* A frame that keeps a frame pointer. If it isn't known, or doesn't suffice, `answer` says what that
 * means. */
static enum stackpack_walk_answer by_frame_pointer(struct stackpack_walk *walk,
                                                   enum stackpack_walk_answer answer) {
  if (!WALK_BEHIND_IS_KNOWN || !walk_knows(&walk->context, STACKPACK_FRAME_POINTER))
    return otherwise(walk, answer);
  const uintptr_t pointer = walk_register(&walk->context, STACKPACK_FRAME_POINTER);
  return go_behind_pointer(walk, pointer, pointer + (uintptr_t)WALK_BEHIND);
}

static enum stackpack_walk_answer step_managed(struct stackpack_walk *walk) {
  const enum stackpack_way way = walk->private_.walker->managed;
  const uint64_t size = walk->record.frame_size;
  if (way == STACKPACK_BY_UNWINDING)
    return by_unwinding(walk);
  if (size == STACKPACK_FRAME_SIZE_UNKNOWN)
    return by_frame_pointer(walk, STACKPACK_WALK_SIZE_UNKNOWN);
  if (way == STACKPACK_BY_FRAME_SIZE || !WALK_BEHIND_IS_KNOWN)
    return by_frame_size(walk);
  if (walk_knows(&walk->context, STACKPACK_FRAME_POINTER) &&
      !fits(walk, walk_register(&walk->context, STACKPACK_FRAME_POINTER),
            walk->context.stack_pointer + size + WALK_PUSHED))
    return otherwise(walk, STACKPACK_WALK_DISAGREEMENT);
  return by_frame_pointer(walk, STACKPACK_WALK_NO_FRAME_POINTER);
}

/* A native function that was interrupted may not have set up its frame pointer yet. */
static enum stackpack_walk_answer step_native(struct stackpack_walk *walk) {
  const struct stackpack_context *context = &walk->context;
  if (walk->private_.walker->native == STACKPACK_BY_UNWINDING)
    return by_unwinding(walk);
  if (context->is_exact)
    return otherwise(walk, STACKPACK_WALK_NO_FRAME_POINTER);
  if (walk_knows(context, STACKPACK_FRAME_POINTER) &&
      walk_register(context, STACKPACK_FRAME_POINTER) == 0)
    return STACKPACK_WALK_END; /* psABI, 3.4.1: a process starts so; threads do, too */
  return by_frame_pointer(walk, STACKPACK_WALK_NO_FRAME_POINTER);
}

enum stackpack_walk_answer walk_step(struct stackpack_walk *walk) {
  return walk->private_.answer == STACKPACK_WALK_MANAGED ? step_managed(walk) : step_native(walk);
}
