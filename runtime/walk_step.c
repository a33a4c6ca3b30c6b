/* walk_step.c - from a frame to its caller's, where the table has no facts (walk.c has the others).
 *
 * Of a managed frame the table then has LLVM's size alone. The function moves the stack pointer
 * once, in its prologue, and at every call it is that much below the return address, unless
 * arguments are pushed for the call. Then some other word is taken for the return address, and
 * mostly looks like one in native code. So from there on the walk is unsure, and a native frame
 * doesn't end it well. The places of the callee-saved registers are unknown, too.
 *
 * A function of unknown frame size (it allocates on the stack by a variable amount, or realigns it)
 * keeps a frame pointer (X86FrameLowering::hasFPImpl).
 *
 * Native frames are passed by frame pointer or by unwinding. A function that keeps a frame pointer
 * begins with `push %rbp; mov %rsp, %rbp`. So %rbp is the address of the caller's %rbp; the return
 * address is above it, and the caller's stack pointer will point above that. The function may move
 * its own stack pointer at will: its value comes from the callee in the same way.
 */
#include "runtime/walk.h"

enum { WORD = sizeof(uintptr_t) };

/* ---- By unwinding ---- */

/* Checks the step that has been made. Where a call leaves the return address in a register, a
 * function that was interrupted may have no frame. */
static enum stackpack_walk_answer check_progress(const struct stackpack_context *context,
                                                 uintptr_t stack_pointer, bool was_exact) {
  const bool can_stay = was_exact && context->is_exact == 0;
  return context->stack_pointer > stack_pointer ||
                 (context->stack_pointer == stack_pointer && can_stay)
             ? STACKPACK_WALK_NATIVE
             : STACKPACK_WALK_NO_PROGRESS;
}

enum stackpack_walk_answer walk_step_by_unwinding(struct stackpack_walk *walk) {
  const struct stackpack_walker *walker = walk->private_.walker;
  const uintptr_t stack_pointer = walk->context.stack_pointer;
  const bool was_exact = walk->context.is_exact != 0;
  if (walker->unwind == NULL)
    return STACKPACK_WALK_NOT_UNWOUND;
  switch (walker->unwind(walker->unwinder, walk->private_.stack, &walk->context)) {
  case STACKPACK_UNWOUND:
    return check_progress(&walk->context, stack_pointer, was_exact);
  case STACKPACK_OUTERMOST:
    return STACKPACK_WALK_END;
  case STACKPACK_NOT_UNWOUND:
    break;
  }
  return STACKPACK_WALK_NOT_UNWOUND;
}

/* ---- By frame pointer, and by LLVM's frame size ---- */

/* Goes to the caller: its stack pointer, and the place of its return address. The registers are
 * left to it. */
static enum stackpack_walk_answer go_behind(struct stackpack_walk *walk, uintptr_t return_place,
                                            uintptr_t stack_pointer) {
  if (return_place % WORD != 0)
    return STACKPACK_WALK_MISALIGNED;
  if (!walk_has_word(&walk->private_.stack, return_place))
    return STACKPACK_WALK_OUT_OF_STACK;
  walk->context.pc = walk_strip_signature(*(const uintptr_t *)return_place);
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

/* Where the frame pointer is unknown or insufficient: asks the unwinder, if there is one; else
 * `answer` is the result. */
static enum stackpack_walk_answer by_frame_pointer(struct stackpack_walk *walk,
                                                   enum stackpack_walk_answer answer) {
  if (!WALK_BEHIND_IS_KNOWN || !walk_knows(&walk->context, STACKPACK_FRAME_POINTER))
    return walk->private_.walker->unwind == NULL ? answer : walk_step_by_unwinding(walk);
  const uintptr_t pointer = walk_register(&walk->context, STACKPACK_FRAME_POINTER);
  return go_behind_pointer(walk, pointer, pointer + (uintptr_t)WALK_BEHIND);
}

/* A managed frame for which the table has only LLVM's size. An unwinder may have its facts. On
 * x86-64 a call has left the return address above the frame; on the other machines the function
 * saves it, in a place that is fixed only beside the frame pointer. A frame pointer that isn't in
 * the frame is another one's: the function keeps none, or its frame is larger than LLVM says, as
 * with scalable vectors. */
enum stackpack_walk_answer walk_step_without_facts(struct stackpack_walk *walk) {
  const struct stackpack_context *context = &walk->context;
  const uint64_t size = walk->record.frame_size;
  assert(context->stack_pointer <= walk->private_.stack.end);
  const uintptr_t left = walk->private_.stack.end - context->stack_pointer;
  if (walk->private_.walker->unwind != NULL) {
    const enum stackpack_walk_answer answer = walk_step_by_unwinding(walk);
    if (answer != STACKPACK_WALK_NOT_UNWOUND)
      return answer;
  }
  if (size == STACKPACK_FRAME_SIZE_UNKNOWN)
    return by_frame_pointer(walk, STACKPACK_WALK_SIZE_UNKNOWN);
  if (size > left || (size == left && WALK_PUSHED > 0))
    return STACKPACK_WALK_OUT_OF_STACK;
  const uintptr_t end = context->stack_pointer + (uintptr_t)size;
  if (WALK_PUSHED > 0) {
    walk->private_.is_unsure = true;
    return go_behind(walk, end, end + WALK_PUSHED);
  }
  if (!walk_knows(context, STACKPACK_FRAME_POINTER))
    return STACKPACK_WALK_NO_FRAME_POINTER;
  const uintptr_t pointer = walk_register(context, STACKPACK_FRAME_POINTER);
  const uintptr_t into = pointer + (uintptr_t)WALK_SAVED_POINTER - context->stack_pointer;
  if (size < 2 * WORD || into > size - 2 * WORD)
    return STACKPACK_WALK_SIZE_UNKNOWN;
  return go_behind_pointer(walk, pointer, end);
}

/* ---- Steps ---- */

/* A native function that was interrupted may not have set up its frame pointer yet. */
enum stackpack_walk_answer walk_step_native(struct stackpack_walk *walk) {
  const struct stackpack_context *context = &walk->context;
  if (walk->private_.walker->native == STACKPACK_BY_UNWINDING)
    return walk_step_by_unwinding(walk);
  if (context->is_exact)
    return walk->private_.walker->unwind == NULL ? STACKPACK_WALK_NO_FRAME_POINTER
                                                 : walk_step_by_unwinding(walk);
  if (walk_knows(context, STACKPACK_FRAME_POINTER) &&
      walk_register(context, STACKPACK_FRAME_POINTER) == 0)
    return STACKPACK_WALK_END; /* psABI, 3.4.1: a process starts so; threads do, too */
  return by_frame_pointer(walk, STACKPACK_WALK_NO_FRAME_POINTER);
}
