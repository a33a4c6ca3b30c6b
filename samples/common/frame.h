/* frame.h - the managed frame that waits for a call of C, as ENTER (enter.inc) passes it. */
#ifndef COMMON_FRAME_H
#define COMMON_FRAME_H

#include "stackpack.h"

struct waiting_frame {
  uintptr_t return_address; /* 0: no frame */
  uintptr_t stack_pointer;  /* after that return */
  uintptr_t frame_pointer;  /* valid if managed code keeps one: see rules.mk */
};

/* The start of a walk of that frame and its callers. */
static inline struct stackpack_context waiting_context(struct waiting_frame frame) {
  struct stackpack_context context =
      stackpack_context_at_call(frame.return_address, frame.stack_pointer, NULL);
  stackpack_context_set(&context, STACKPACK_FRAME_POINTER, frame.frame_pointer);
  return context;
}

#endif
