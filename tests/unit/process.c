/* process.c - tests the running process: this program has a raw stack map of its own, made in
 * assembly (process_stackmap.S), and finds it through the section headers of its file.
 */
#include "../../runtime/stackpack.h"
#include "suite.h"

#include <stdint.h>
#include <string.h>

/* Of process_stackmap.S: a function with two safepoints, and where it and its neighbour end. */
extern const uint8_t managed_function[], managed_first[], managed_second[], managed_end[];

enum { CAPACITY = 4 };

static struct stackpack_module modules[CAPACITY];
static struct stackpack_process process;

static uintptr_t address_of(const uint8_t *label) { return (uintptr_t)label; }

static enum stackpack_answer find(uintptr_t address, struct stackpack_record *record) {
  return stackpack_find(&process, address, record);
}

START_TEST(a_raw_module_is_found) {
  struct stackpack_record record;
  struct stackpack_location base, derived;
  ck_assert_int_eq(stackpack_process_open(&process, modules, CAPACITY), STACKPACK_OK);
  ck_assert_uint_eq(stackpack_process_modules(&process), 1);
  ck_assert_int_eq(find(address_of(managed_first), &record), STACKPACK_FOUND);
  ck_assert_uint_eq(record.function_address, address_of(managed_function));
  ck_assert_uint_eq(record.frame_size, 40);
  ck_assert_int_eq(record.kind, STACKPACK_STATEPOINT);
  struct stackpack_pairs pairs = stackpack_pairs(&record);
  ck_assert(stackpack_pairs_next(&pairs, &base, &derived));
  ck_assert_int_eq(base.kind, STACKPACK_INDIRECT);
  ck_assert_int_eq(base.value, 8);
  ck_assert_int_eq(derived.value, 16);
  ck_assert(!stackpack_pairs_next(&pairs, &base, &derived));
  ck_assert(!stackpack_pairs_corrupt(&pairs));
  ck_assert_int_eq(find(address_of(managed_second), &record), STACKPACK_FOUND);
  pairs = stackpack_pairs(&record);
  ck_assert(!stackpack_pairs_next(&pairs, &base, &derived));
  stackpack_process_close(&process);
}
END_TEST

START_TEST(three_answers) {
  struct stackpack_record record;
  ck_assert_int_eq(stackpack_process_open(&process, modules, CAPACITY), STACKPACK_OK);
  ck_assert_int_eq(find(address_of(managed_function), &record), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(find(address_of(managed_first) + 1, &record), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(find(address_of(managed_end) - 1, &record), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(find(address_of(managed_end), &record), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(find(address_of(managed_function) - 1, &record), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(find((uintptr_t)&memcpy, &record), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(find(0, &record), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(find(UINTPTR_MAX, &record), STACKPACK_NOT_MANAGED);
  stackpack_process_close(&process);
}
END_TEST

START_TEST(an_array_that_is_too_small) {
  struct stackpack_record record;
  ck_assert_int_eq(stackpack_process_open(&process, NULL, 0), STACKPACK_TOO_MANY_MODULES);
  ck_assert_uint_eq(stackpack_process_modules(&process), 1);
  ck_assert_int_eq(find(address_of(managed_first), &record), STACKPACK_NOT_MANAGED);
}
END_TEST

START_TEST(modules_are_forgotten_and_found_again) {
  struct stackpack_record record;
  ck_assert_int_eq(stackpack_process_open(&process, modules, CAPACITY), STACKPACK_OK);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_uint_eq(stackpack_process_modules(&process), 1);
  const unsigned outer = stackpack_enter(&process), inner = stackpack_enter(&process);
  ck_assert_int_eq(find(address_of(managed_first), &record), STACKPACK_FOUND);
  stackpack_leave(&process, inner);
  stackpack_leave(&process, outer);
  ck_assert(stackpack_process_forget(&process, address_of(managed_first)));
  ck_assert_int_eq(find(address_of(managed_first), &record), STACKPACK_NOT_MANAGED);
  ck_assert(!stackpack_process_forget(&process, address_of(managed_first)));
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_int_eq(find(address_of(managed_first), &record), STACKPACK_FOUND);
  stackpack_process_close(&process);
}
END_TEST

SUITE("process", a_raw_module_is_found, three_answers, an_array_that_is_too_small,
      modules_are_forgotten_and_found_again)
