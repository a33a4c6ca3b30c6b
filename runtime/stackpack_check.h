/* stackpack_check.h - checks one walker by another.
 *
 * For authors who port a frontend: a slow, correct walker (by unwinding) and a fast one, over the
 * same stack, must meet the same managed frames and the same roots. Native frames may be passed in
 * different ways. The rules of stackpack.h hold here, too.
 */
#ifndef STACKPACK_CHECK_H
#define STACKPACK_CHECK_H

#include "stackpack.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum stackpack_check_answer {
  STACKPACK_CHECK_SAME, /* up to the end, or up to a native frame at which one of the walks ends */
  STACKPACK_CHECK_NO_MANAGED, /* they agree, but neither met a managed frame: nothing was checked */
  STACKPACK_CHECK_STOPPED,    /* both stopped at the same frame with the same answer */
  /* Differences. */
  STACKPACK_CHECK_ANSWER, /* one goes on where the other ends or stops */
  STACKPACK_CHECK_FRAME,  /* they come to different frames */
  STACKPACK_CHECK_ROOT,   /* the frame is the same, but one has a root that the other lacks */
};

/* One of the two walks. */
struct stackpack_checked {
  enum stackpack_walk_answer answer; /* at walk.context: a frame, an end or a stop */
  struct stackpack_walk walk;
  bool has_root; /* with STACKPACK_CHECK_ROOT: whether the other lacks `root` */
  struct stackpack_root root;
};

struct stackpack_check {
  enum stackpack_check_answer answer;
  uint64_t frames; /* managed ones that are the same in both walks */
  /* The last of these, after which the walks part: most often its size, frame pointer or unwind
   * table is wrong. Both 0 before the first one. */
  uintptr_t last_pc, last_stack_pointer;
  uint64_t last_frame_size; /* by the first walker's stack map */
  struct stackpack_checked first, second;
  struct stackpack_walk private_[2];
};

/* Walks by both and compares: false for a difference. The stack stays unchanged. *check is all the
 * memory needed, less than 4 KB; it may be static. */
bool stackpack_check_walks(struct stackpack_check *check, const struct stackpack_walker *first,
                           const struct stackpack_walker *second, struct stackpack_stack stack,
                           const struct stackpack_context *context);

/* The answer in a line of English, with both frames: at most STACKPACK_CHECK_TEXT bytes, the 0 at
 * the end included. Returns text. */
#define STACKPACK_CHECK_TEXT 640
char *stackpack_check_text(const struct stackpack_check *check, char text[STACKPACK_CHECK_TEXT]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
