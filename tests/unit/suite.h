/* suite.h - how a unit-test program declares its tests.
 *
 * A program is one suite, of the program's name. Each test, TEST(name) and a block, runs in a process
 * of its own unless CK_FORK=no is set, so each test must be independent.
 */
#ifndef STACKPACK_TEST_SUITE_H
#define STACKPACK_TEST_SUITE_H

#include <check.h>

/* Check notes the place of each assertion that holds, for a test that crashes: in a file, by a system
 * call. A failed one's place is known all the same, and a crash has a core. */
#define _mark_point(file, line) ((void)0)

/* Puts the test into a section of pointers to tests; suite.c goes through it. */
#define TEST(name)                                                                                 \
  static void name(int);                                                                           \
  __attribute__((section("unit_tests"), used)) static const TTest *const name##_entry =            \
      &(const TTest){#name, name, __FILE__, __LINE__};                                             \
  static void name(int loop_number __attribute__((unused)))

#endif
