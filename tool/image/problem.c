/* problem.c - see problem.h. */
#include "tool/image/problem.h"

#include "tool/image/clean.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool problem_set(struct problem *problem, const char *format, ...) {
  if (problem->text[0] != 0)
    return false;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(problem->text, sizeof problem->text, format, arguments);
  va_end(arguments);
  return false;
}

bool problem_set_errno(struct problem *problem, const char *subject) {
  return problem_set(problem, "%s: %s", subject, strerror(errno));
}

void problem_print(const struct problem *problem, const char *file) {
  fflush(stdout);
  fputs("stackpack: ", stderr);
  clean_print(stderr, problem->file != NULL ? problem->file : file);
  fputs(": ", stderr);
  clean_print(stderr, problem->text);
  putc('\n', stderr);
}
