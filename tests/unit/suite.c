/* suite.c - the main function of every unit-test program: runs the tests, prints the failed ones
 * and a line of sums. */
#include "suite.h"

#include <errno.h>

/* The section of pointers to tests, by names that the linker gives. */
extern const TTest *const __start_unit_tests[], *const __stop_unit_tests[];

int main(void) {
  Suite *suite = suite_create(program_invocation_short_name);
  TCase *tests = tcase_create(program_invocation_short_name);
  tcase_set_timeout(tests, 0); /* tests/run limits CPU time: a busy machine fails no test */
  for (const TTest *const *test = __start_unit_tests; test < __stop_unit_tests; test++)
    tcase_add_test(tests, *test);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed > 0;
}
