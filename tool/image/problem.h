/* problem.h - the one way for the command to report errors.
 *
 * A step that fails describes why in a struct problem, and returns false; the command prints it as
 * one line, `stackpack: FILE: the fault, and its place`, and exits with status 2.
 */
#ifndef STACKPACK_PROBLEM_H
#define STACKPACK_PROBLEM_H

#include <stdbool.h>

struct problem {
  const char *file; /* the file that it is about; NULL: the one that the command works on */
  char text[256];
};

/* Describes the problem, unless an earlier one is there. Always returns false. */
bool problem_set(struct problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, of a subject and errno's text. */
bool problem_set_errno(struct problem *problem, const char *subject);

/* Prints the line, about `file` unless the problem names another one. */
void problem_print(const struct problem *problem, const char *file);

/* Prints a warning about `file`. */
void problem_warn(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
