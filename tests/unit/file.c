/* file.c - tests opening the stack maps of a file: this program's own, which has a raw section
 * (process_stackmap.S), and files that are none. Packed files are tested by the command's tests.
 */
#include "../../runtime/stackpack.h"
#include "suite.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const uint8_t managed_function[], managed_first[], managed_second[];

/* Link-time addresses differ from those of this process by one distance. */
START_TEST(a_raw_file) {
  struct stackpack_file file;
  struct stackpack_record first, second, found;
  ck_assert_int_eq(stackpack_file_open(&file, "/proc/self/exe"), STACKPACK_OK);
  ck_assert_uint_eq(stackpack_table_records(&file.table), 2);
  ck_assert_uint_eq(stackpack_table_functions(&file.table), 1);
  ck_assert_int_eq(stackpack_table_record(&file.table, 0, &first), STACKPACK_FOUND);
  ck_assert_int_eq(stackpack_table_record(&file.table, 1, &second), STACKPACK_FOUND);
  ck_assert_int_eq(stackpack_table_record(&file.table, 2, &found), STACKPACK_CORRUPT);
  ck_assert_uint_eq(first.address - first.function_address,
                    (uintptr_t)managed_first - (uintptr_t)managed_function);
  ck_assert_uint_eq(second.address - first.address,
                    (uintptr_t)managed_second - (uintptr_t)managed_first);
  ck_assert_int_eq(stackpack_table_find(&file.table, second.address, &found), STACKPACK_FOUND);
  ck_assert_uint_eq(found.index, 1);
  ck_assert(!stackpack_record_next(&found));
  ck_assert(stackpack_table_check(&file.table));
  stackpack_file_close(&file);
}
END_TEST

static enum stackpack_error open_bytes(const char *bytes, size_t size) {
  char path[] = "stackpack-file-XXXXXX";
  struct stackpack_file file;
  const int descriptor = mkstemp(path);
  ck_assert_int_ge(descriptor, 0);
  ck_assert_int_eq(write(descriptor, bytes, size), size);
  close(descriptor);
  const enum stackpack_error error = stackpack_file_open(&file, path);
  unlink(path);
  return error;
}

START_TEST(files_that_are_none) {
  struct stackpack_file file;
  ck_assert_int_eq(open_bytes("", 0), STACKPACK_NOT_ELF);
  ck_assert_int_eq(open_bytes("\177ELF", 4), STACKPACK_NOT_ELF);
  ck_assert_int_eq(
      open_bytes("#!/bin/sh\nexit 0\n this is longer than an ELF header is, by far", 64),
      STACKPACK_NOT_ELF);
  ck_assert_int_eq(stackpack_file_open(&file, "no/such/file"), STACKPACK_SYSTEM_ERROR);
  ck_assert_int_eq(errno, ENOENT);
}
END_TEST

/* Every prefix of a real file is refused, or read: never a crash. */
START_TEST(truncated_files) {
  static char bytes[1 << 20];
  FILE *self = fopen("/proc/self/exe", "rb");
  ck_assert_ptr_nonnull(self);
  const size_t size = fread(bytes, 1, sizeof bytes, self);
  fclose(self);
  for (size_t part = 1; part < size; part += 4093) {
    const enum stackpack_error error = open_bytes(bytes, part);
    ck_assert(error == STACKPACK_NOT_ELF || error == STACKPACK_NO_STACK_MAPS);
  }
}
END_TEST

START_TEST(every_error_has_a_text) {
  for (int error = STACKPACK_OK; error <= STACKPACK_TOO_MANY_MODULES; error++)
    ck_assert_str_ne(stackpack_error_text((enum stackpack_error)error), "an unknown error");
  ck_assert_str_eq(stackpack_error_text((enum stackpack_error)1000), "an unknown error");
}
END_TEST

SUITE("file", a_raw_file, files_that_are_none, truncated_files, every_error_has_a_text)
