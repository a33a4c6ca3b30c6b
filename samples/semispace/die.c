/* die.c - see die.h. */
#include "die.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

noreturn void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("semispace: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  abort();
}
