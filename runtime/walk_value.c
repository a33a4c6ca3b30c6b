/* walk_value.c - the values of locations in the frame that a walk is at: of deopt state, and of
 * stack maps. */
#include "runtime/walk.h"

#include <string.h>

/* The bytes from `start` on of a value in memory or in a register. */
static bool take_bytes(const void *from, size_t start, size_t size, uint64_t *value) {
  *value = 0;
  if (size == 0 || size > sizeof *value)
    return false;
  memcpy(value, (const char *)from + start, size);
  return true;
}

bool stackpack_walk_value(const struct stackpack_walk *walk,
                          const struct stackpack_location *location, uint64_t *value) {
  const struct stackpack_stack *stack = &walk->private_.stack;
  const size_t size = location->size;
  uintptr_t base;
  switch (location->kind) {
  case STACKPACK_CONSTANT:
  case STACKPACK_LARGE_CONSTANT:
    *value = (uint64_t)location->value;
    return true;
  case STACKPACK_DIRECT:
    if (!walk_find_register(&walk->context, location->reg, &base))
      return false;
    *value = base + (uint64_t)location->value;
    return true;
  case STACKPACK_REGISTER:
    return walk_find_register(&walk->context, location->reg, &base) && location->value >= 0 &&
           location->value < (int64_t)sizeof base &&
           size <= sizeof base - (size_t)location->value &&
           take_bytes(&base, (size_t)location->value, size, value);
  case STACKPACK_INDIRECT:
    if (!walk_find_register(&walk->context, location->reg, &base))
      return false;
    base += (uintptr_t)location->value;
    return base >= stack->low && base < stack->end && size <= stack->end - base &&
           take_bytes((const void *)base, 0, size, value);
  default:
    return false;
  }
}
