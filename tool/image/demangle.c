/* demangle.c - see demangle.h. By libiberty: it is written in C, and supports all of these
 * languages. */
#include "tool/image/demangle.h"

#include "tool/image/clean.h"

#include <assert.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names in programs are shorter. A mangled name can refer to its own parts, so that a few hundred
 * bytes become gigabytes. */
enum { LENGTH_MAX = 1 << 16 };

struct plain_name {
  size_t length;
  jmp_buf too_long;
  char text[LENGTH_MAX + 1];
};

static void append(const char *text, size_t size, void *opaque) {
  struct plain_name *name = opaque;
  assert(name->length <= LENGTH_MAX);
  if (size > LENGTH_MAX - name->length)
    longjmp(name->too_long, 1); /* the only way to end libiberty; its memory is on the stack */
  memcpy(name->text + name->length, text, size);
  name->length += size;
}

static bool expand(const char *mangled, int options, struct plain_name *name) {
  if (setjmp(name->too_long) != 0)
    return false;
  return rust_demangle_callback(mangled, options, append, name) != 0 ||
         cplus_demangle_v3_callback(mangled, options, append, name) != 0;
}

char *demangle(const char *name, bool with_parameters) {
  const int options = DMGL_ANSI | (with_parameters ? DMGL_PARAMS : DMGL_NO_OPTS);
  /* Only these, as a short name of C could be one of another language. */
  if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
    return NULL;
  struct plain_name *plain = malloc(sizeof *plain);
  plain->length = 0;
  char *text = expand(name, options, plain) ? strndup(plain->text, plain->length) : NULL;
  free(plain);
  return text;
}

void demangle_print(const char *name) {
  char *text = demangle(name, true);
  clean_print(stdout, text != NULL ? text : name);
  free(text);
}
