/* walk.c - from a frame to its caller's, and from a location to memory, on x86-64.
 *
 * A function of known frame size moves the stack pointer once, in its prologue, and at every call
 * it is that much below where it was at the function's entry, where the return address lies. So the
 * caller's return address is at stack_pointer + frame_size, and the caller's stack pointer is 8
 * above that. (LLVM's "frame size" counts pushed registers, but not the return address.)
 */
#include "stackpack.h"

enum { STACK_POINTER = 7 }; /* x86-64 psABI, Figure 3.36: DWARF register 7 is %rsp */

void *stackpack_location_address(const struct stackpack_location *location,
                                 const struct stackpack_frame *frame, const uintptr_t *registers) {
  if (location->kind != STACKPACK_INDIRECT && location->kind != STACKPACK_DIRECT)
    return NULL;
  if (location->reg == STACK_POINTER)
    return (void *)(frame->stack_pointer + (uintptr_t)location->value);
  if (registers == NULL || location->reg > 16)
    return NULL;
  return (void *)(registers[location->reg] + (uintptr_t)location->value);
}

bool stackpack_frame_caller(struct stackpack_frame *frame, const struct stackpack_record *record) {
  if (record->frame_size == STACKPACK_FRAME_SIZE_UNKNOWN)
    return false;
  const uintptr_t entry = frame->stack_pointer + (uintptr_t)record->frame_size;
  frame->return_address = *(const uintptr_t *)entry;
  frame->stack_pointer = entry + sizeof(uintptr_t);
  return true;
}
