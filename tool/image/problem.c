/* problem.c - see problem.h. */
#include "tool/image/problem.h"

#include "tool/image/clean.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

static void print_line(const char *file, const char *kind, const char *text) {
  fflush(stdout);
  fputs("stackpack: ", stderr);
  clean_print_path(stderr, file);
  fputs(kind, stderr);
  clean_print(stderr, text);
  putc('\n', stderr);
}

void problem_print(const struct problem *problem, const char *file) {
  assert(problem->text[0] != 0); /* whoever failed has described it */
  print_line(problem->file != NULL ? problem->file : file, "", problem->text);
}

void problem_warn(const char *file, const char *format, ...) {
  char *text;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&text, format, arguments) >= 0) {
    print_line(file, "warning: ", text);
    free(text);
  }
  va_end(arguments);
}
