/* process_without.c - tests the functions for the running process in a program that lacks stack
 * maps: it opens, misses, and can be updated later.
 */
#include "runtime/stackpack.h"
#include "suite.h"

static struct stackpack_process process;
static struct stackpack_module modules[2];

static void find_nothing(void) {
  struct stackpack_record record;
  ck_assert_uint_eq(stackpack_process_modules(&process), 0);
  ck_assert_int_eq(stackpack_find(&process, (uintptr_t)find_nothing, &record),
                   STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(stackpack_find(&process, 0, &record), STACKPACK_NOT_MANAGED);
}

TEST(no_stack_maps) {
  ck_assert_int_eq(stackpack_process_open(&process, modules, 2), STACKPACK_NO_STACK_MAPS);
  find_nothing();
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_NO_STACK_MAPS);
  find_nothing();
  ck_assert(!stackpack_process_forget(&process, (uintptr_t)find_nothing));
  const unsigned ticket = stackpack_enter(&process);
  find_nothing();
  stackpack_leave(&process, ticket);
  stackpack_process_close(&process);
}

TEST(no_room_is_needed) {
  ck_assert_int_eq(stackpack_process_open(&process, NULL, 0), STACKPACK_NO_STACK_MAPS);
  find_nothing();
  stackpack_process_close(&process);
}
