/* frame.h - the managed frame that waits in a call of C: what ENTER (enter.inc) hands on. */
#ifndef COMMON_FRAME_H
#define COMMON_FRAME_H

#include "stackpack.h"

struct waiting_frame {
  uintptr_t return_address; /* 0: there is no frame */
  uintptr_t stack_pointer;  /* after that return */
  uintptr_t frame_pointer;  /* of use where managed code keeps one: see rules.mk */
};

/* Where a walk of that frame and its callers starts. */
static inline struct stackpack_context waiting_context(struct waiting_frame frame) {
  struct stackpack_context context =
      stackpack_context_at_call(frame.return_address, frame.stack_pointer, NULL);
  stackpack_context_set(&context, STACKPACK_FRAME_POINTER, frame.frame_pointer);
  return context;
}

#endif
