/* suite.h - what every unit-test program has in common: its main function.
 *
 * A program is one suite. Each test, START_TEST(name) and a block, runs in a process of its own unless
 * CK_FORK=no is set, so no test may rely on another one. (Check's END_TEST is empty.)
 */
#ifndef STACKPACK_TEST_SUITE_H
#define STACKPACK_TEST_SUITE_H

#include <check.h>
#include <stddef.h>

/* Runs the tests, prints what failed and a line of sums; returns the program's exit status. */
int suite_run(const char *name, const TTest *const *tests, size_t count);

#define SUITE(name, ...)                                                                           \
  int main(void) {                                                                                 \
    const TTest *const tests[] = {__VA_ARGS__};                                                    \
    return suite_run(name, tests, sizeof tests / sizeof *tests);                                   \
  }

#endif
