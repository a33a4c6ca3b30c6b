/* check.c - two walks over one stack, side by side.
 *
 * A walker that is wrong by one word finds something all the same: a return address, a pointer. So
 * its result is little evidence of its correctness; but two walkers that step by different sources
 * (the stack map's frame size, the chain of frame pointers, unwind tables) fail in different ways.
 * Here each moves to its next managed frame, the two frames are compared, then their roots: the
 * places that hold base and derived reference, and the values.
 *
 * The roots are compared as sets. Nearly always both walks have them in the same order, and then
 * that is one pass; else each is looked for among the other's. (The walkers may use different
 * tables.)
 */
#include "runtime/stackpack_check.h"
#include "runtime/walk.h"

_Static_assert(sizeof(struct stackpack_check) < 4 << 10, "stackpack_check.h promises it");

/* ---- Frames ---- */

/* Moves to the next managed frame, or past the last one. *meets: whether the native frame at which
 * the other walk has ended was on the way, or at the end. */
static void advance(struct stackpack_checked *side, const struct stackpack_checked *other,
                    bool *meets) {
  const struct stackpack_context *context = &side->walk.context;
  do {
    side->answer = stackpack_walk_next(&side->walk);
    if (other->answer == STACKPACK_WALK_AT_NATIVE && other->walk.context.pc == context->pc &&
        other->walk.context.stack_pointer == context->stack_pointer)
      *meets = true;
  } while (side->answer == STACKPACK_WALK_NATIVE);
}

static bool is_end(const struct stackpack_checked *side) {
  return !stackpack_walk_is_frame(side->answer) && !walk_is_stop(side->answer);
}

static bool is_same_frame(const struct stackpack_checked *a, const struct stackpack_checked *b) {
  return a->walk.context.pc == b->walk.context.pc &&
         a->walk.context.stack_pointer == b->walk.context.stack_pointer;
}

/* ---- Roots ---- */

/* A constant or a stack object, as a root, has only a value. */
static bool is_same_root(const struct stackpack_root *a, const struct stackpack_root *b) {
  return a->base == b->base && a->derived == b->derived && a->base_value == b->base_value &&
         a->derived_value == b->derived_value;
}

/* The next root of a copy of the walk. *stop: the reason for a missing root; set only on error. */
static bool next_root(struct stackpack_walk *copy, struct stackpack_root *root,
                      enum stackpack_walk_answer *stop) {
  if (stackpack_walk_root(copy, root))
    return true;
  *stop = copy->private_.state == WALK_DONE ? copy->private_.answer : STACKPACK_WALK_MANAGED;
  return false;
}

/* Looks for the first root of one walk that the other doesn't have: `missing` is set if there is
 * one. */
static void find_missing(struct stackpack_check *check, struct stackpack_checked *side,
                         const struct stackpack_checked *other) {
  enum stackpack_walk_answer stop;
  struct stackpack_root root;
  check->private_[0] = side->walk;
  while (!side->has_root && next_root(&check->private_[0], &side->root, &stop)) {
    side->has_root = true;
    check->private_[1] = other->walk;
    while (side->has_root && next_root(&check->private_[1], &root, &stop))
      side->has_root = !is_same_root(&side->root, &root);
  }
}

static enum stackpack_check_answer compare_sets(struct stackpack_check *check) {
  find_missing(check, &check->first, &check->second);
  find_missing(check, &check->second, &check->first);
  return check->first.has_root || check->second.has_root ? STACKPACK_CHECK_ROOT
                                                         : STACKPACK_CHECK_SAME;
}

static enum stackpack_check_answer compare_roots(struct stackpack_check *check) {
  struct stackpack_checked *a = &check->first, *b = &check->second;
  bool more, other_more, in_order = true;
  check->private_[0] = a->walk;
  check->private_[1] = b->walk;
  do {
    more = next_root(&check->private_[0], &a->root, &a->answer);
    other_more = next_root(&check->private_[1], &b->root, &b->answer);
    in_order = in_order && more == other_more && (!more || is_same_root(&a->root, &b->root));
  } while (more || other_more);
  if (walk_is_stop(a->answer) || walk_is_stop(b->answer))
    return a->answer == b->answer ? STACKPACK_CHECK_STOPPED : STACKPACK_CHECK_ANSWER;
  return in_order ? STACKPACK_CHECK_SAME : compare_sets(check);
}

/* ---- The check ---- */

/* Both walks have moved, and at least one has no managed frame any more. */
static enum stackpack_check_answer compare_ends(const struct stackpack_check *check, bool meets) {
  const struct stackpack_checked *a = &check->first, *b = &check->second;
  if (walk_is_stop(a->answer) || walk_is_stop(b->answer))
    return a->answer == b->answer && is_same_frame(a, b) ? STACKPACK_CHECK_STOPPED
                                                         : STACKPACK_CHECK_ANSWER;
  const bool at_native =
      a->answer == STACKPACK_WALK_AT_NATIVE || b->answer == STACKPACK_WALK_AT_NATIVE;
  if (at_native ? !meets : !(is_end(a) && is_end(b)))
    return STACKPACK_CHECK_ANSWER;
  return check->frames == 0 ? STACKPACK_CHECK_NO_MANAGED : STACKPACK_CHECK_SAME;
}

static void keep_last(struct stackpack_check *check) {
  const struct stackpack_walk *walk = &check->first.walk;
  check->frames++;
  check->last_pc = walk->context.pc;
  check->last_stack_pointer = walk->context.stack_pointer;
  check->last_frame_size = walk->record.frame_size;
}

/* Compares the walks' next frames. True for the same managed frame in both, after which there may
 * be more; else check->answer is the result. */
static bool compare_next(struct stackpack_check *check) {
  struct stackpack_checked *a = &check->first, *b = &check->second;
  bool meets = false;
  /* A walk that ends at native frames goes first, so that it can be seen where the other meets
   * it. */
  if (b->walk.private_.walker->native == STACKPACK_BY_TABLE) {
    advance(b, a, &meets);
    advance(a, b, &meets);
  } else {
    advance(a, b, &meets);
    advance(b, a, &meets);
  }
  if (a->answer != STACKPACK_WALK_MANAGED || b->answer != STACKPACK_WALK_MANAGED) {
    check->answer = compare_ends(check, meets);
    return false;
  }
  check->answer = is_same_frame(a, b) ? compare_roots(check) : STACKPACK_CHECK_FRAME;
  if (check->answer != STACKPACK_CHECK_SAME)
    return false;
  keep_last(check);
  return true;
}

bool stackpack_check_walks(struct stackpack_check *check, const struct stackpack_walker *first,
                           const struct stackpack_walker *second, struct stackpack_stack stack,
                           const struct stackpack_context *context) {
  check->frames = 0;
  check->last_pc = check->last_stack_pointer = 0;
  check->last_frame_size = 0;
  check->first.has_root = check->second.has_root = false;
  check->first.answer = check->second.answer = STACKPACK_WALK_NATIVE;
  stackpack_walk_start(&check->first.walk, first, stack, context);
  stackpack_walk_start(&check->second.walk, second, stack, context);
  while (compare_next(check))
    continue;
  return check->answer < STACKPACK_CHECK_ANSWER;
}

/* ---- In words ---- */

/* A text under way. It is written without the C library's functions, for signal handlers, and cut
 * off at the end of its room. */
struct writer {
  char *at, *end; /* end: room for the 0 */
};

static void add(struct writer *writer, const char *text) {
  while (*text != 0 && writer->at < writer->end)
    *writer->at++ = *text++;
  *writer->at = 0;
}

static void add_number(struct writer *writer, uint64_t number, unsigned base) {
  char digits[20 + 1];
  char *at = &digits[sizeof digits - 1];
  *at = 0;
  do {
    *--at = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0);
  add(writer, base == 16 ? "0x" : "");
  add(writer, at);
}

static void add_place(struct writer *writer, const uintptr_t *place, uintptr_t value) {
  if (place != NULL) {
    add(writer, "at ");
    add_number(writer, (uintptr_t)place, 16);
  } else {
    add(writer, "the value ");
    add_number(writer, value, 16);
  }
}

static void add_side(struct writer *writer, const struct stackpack_checked *side,
                     enum stackpack_check_answer answer) {
  if (answer == STACKPACK_CHECK_ROOT && !side->has_root) {
    add(writer, "none that the other hasn't");
    return;
  }
  if (answer == STACKPACK_CHECK_ROOT) {
    add(writer, "a reference ");
    add_place(writer, side->root.derived, side->root.derived_value);
    add(writer, " with its base ");
    add_place(writer, side->root.base, side->root.base_value);
    return;
  }
  add(writer, stackpack_walk_text(side->answer));
  add(writer, " (pc ");
  add_number(writer, side->walk.context.pc, 16);
  add(writer, ", stack pointer ");
  add_number(writer, side->walk.context.stack_pointer, 16);
  add(writer, ")");
}

static void add_last(struct writer *writer, const struct stackpack_check *check) {
  add_number(writer, check->frames, 10);
  add(writer, " managed frames are the same");
  if (check->frames == 0)
    return;
  add(writer, ", the last with pc ");
  add_number(writer, check->last_pc, 16);
  add(writer, ", stack pointer ");
  add_number(writer, check->last_stack_pointer, 16);
  add(writer, ", frame size ");
  if (check->last_frame_size == STACKPACK_FRAME_SIZE_UNKNOWN)
    add(writer, "unknown");
  else
    add_number(writer, check->last_frame_size, 10);
}

char *stackpack_check_text(const struct stackpack_check *check, char text[STACKPACK_CHECK_TEXT]) {
  struct writer writer = {text, text + STACKPACK_CHECK_TEXT - 1};
  const enum stackpack_check_answer answer = check->answer;
  add_last(&writer, check);
  if (answer == STACKPACK_CHECK_SAME || answer == STACKPACK_CHECK_NO_MANAGED)
    return text;
  if (answer == STACKPACK_CHECK_ROOT) {
    add(&writer, "; then, of the frame with pc ");
    add_number(&writer, check->first.walk.context.pc, 16);
    add(&writer, ", stack pointer ");
    add_number(&writer, check->first.walk.context.stack_pointer, 16);
  } else {
    add(&writer, "; then");
  }
  add(&writer, answer == STACKPACK_CHECK_STOPPED ? ", by both: " : ", by the first: ");
  add_side(&writer, &check->first, answer);
  if (answer != STACKPACK_CHECK_STOPPED) {
    add(&writer, "; by the second: ");
    add_side(&writer, &check->second, answer);
  }
  return text;
}
