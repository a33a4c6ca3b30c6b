/* suite.c - see suite.h. */
#include "suite.h"

enum { TIMEOUT = 500 }; /* seconds: large tables, sanitizers and a busy machine at once */

int suite_run(const char *name, const TTest *const *tests, size_t count) {
  Suite *suite = suite_create(name);
  TCase *tests_case = tcase_create(name);
  tcase_set_timeout(tests_case, TIMEOUT);
  for (size_t i = 0; i < count; i++)
    tcase_add_test(tests_case, tests[i]);
  suite_add_tcase(suite, tests_case);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed > 0;
}
