/* walk.c - tests the steps from frame to frame, and from a location to memory, on a hand-made
 * stack.
 */
#include "runtime/stackpack.h"
#include "suite.h"

enum { RBX = 3, RBP = 6, RSP = 7 };

START_TEST(slots_from_the_stack_pointer) {
  uintptr_t stack[8] = {0};
  const struct stackpack_frame frame = {0x1234, (uintptr_t)&stack[2]};
  const struct stackpack_location up = {STACKPACK_INDIRECT, 8, RSP, 24};
  const struct stackpack_location down = {STACKPACK_INDIRECT, 8, RSP, -16};
  const struct stackpack_location object = {STACKPACK_DIRECT, 8, RSP, 8};
  ck_assert_ptr_eq(stackpack_location_address(&up, &frame, NULL), &stack[5]);
  ck_assert_ptr_eq(stackpack_location_address(&down, &frame, NULL), &stack[0]);
  ck_assert_ptr_eq(stackpack_location_address(&object, &frame, NULL), &stack[3]);
}
END_TEST

START_TEST(slots_from_other_registers) {
  uintptr_t stack[8] = {0}, registers[17] = {0};
  const struct stackpack_frame frame = {0x1234, (uintptr_t)&stack[0]};
  const struct stackpack_location slot = {STACKPACK_INDIRECT, 8, RBP, -8};
  const struct stackpack_location beyond = {STACKPACK_INDIRECT, 8, 17, 0};
  registers[RBP] = (uintptr_t)&stack[7];
  ck_assert_ptr_eq(stackpack_location_address(&slot, &frame, registers), &stack[6]);
  ck_assert_ptr_null(stackpack_location_address(&slot, &frame, NULL));
  ck_assert_ptr_null(stackpack_location_address(&beyond, &frame, registers));
}
END_TEST

START_TEST(every_register) {
  uintptr_t stack[20] = {0}, registers[STACKPACK_REGISTERS];
  const struct stackpack_frame frame = {0x1234, (uintptr_t)&stack[18]};
  for (unsigned i = 0; i < STACKPACK_REGISTERS; i++)
    registers[i] = (uintptr_t)&stack[i];
  for (uint16_t reg = 0; reg < STACKPACK_REGISTERS; reg++) {
    const struct stackpack_location object = {STACKPACK_DIRECT, 8, reg, 8};
    const uintptr_t *expected = reg == RSP ? &stack[19] : &stack[reg + 1];
    ck_assert_ptr_eq(stackpack_location_address(&object, &frame, registers), expected);
  }
}
END_TEST

START_TEST(values_that_are_not_in_memory) {
  const struct stackpack_frame frame = {0x1234, 0x5678};
  const uintptr_t registers[STACKPACK_REGISTERS] = {0};
  const struct stackpack_location none[] = {{STACKPACK_REGISTER, 8, RBX, 0},
                                            {STACKPACK_CONSTANT, 8, 0, 7},
                                            {STACKPACK_LARGE_CONSTANT, 8, 0, 7},
                                            {0, 0, 0, 0}};
  for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
    ck_assert_ptr_null(stackpack_location_address(&none[i], &frame, registers));
}
END_TEST

START_TEST(from_frame_to_frame) {
  uintptr_t stack[16] = {0};
  struct stackpack_frame frame = {0x1111, (uintptr_t)&stack[1]};
  struct stackpack_record record = {.frame_size = 24};
  stack[4] = 0x2222; /* behind 24 bytes of frame */
  stack[5] = 0x3333; /* behind a frame of no bytes */
  ck_assert(stackpack_frame_caller(&frame, &record));
  ck_assert_uint_eq(frame.return_address, 0x2222);
  ck_assert_uint_eq(frame.stack_pointer, (uintptr_t)&stack[5]);
  record.frame_size = 0;
  ck_assert(stackpack_frame_caller(&frame, &record));
  ck_assert_uint_eq(frame.return_address, 0x3333);
  ck_assert_uint_eq(frame.stack_pointer, (uintptr_t)&stack[6]);
}
END_TEST

START_TEST(a_frame_of_unknown_size_ends_the_walk) {
  struct stackpack_frame frame = {0x1111, 0x2222};
  const struct stackpack_record record = {.frame_size = STACKPACK_FRAME_SIZE_UNKNOWN};
  ck_assert(!stackpack_frame_caller(&frame, &record));
  ck_assert_uint_eq(frame.return_address, 0x1111);
  ck_assert_uint_eq(frame.stack_pointer, 0x2222);
}
END_TEST

SUITE("walk", slots_from_the_stack_pointer, slots_from_other_registers, every_register,
      values_that_are_not_in_memory, from_frame_to_frame, a_frame_of_unknown_size_ends_the_walk)
