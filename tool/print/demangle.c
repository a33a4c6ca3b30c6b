/* demangle.c - see demangle.h. By libiberty, which is C's own, and knows each of these languages. */
#include "tool/print/demangle.h"

#include "tool/calls/policy.h"

#include <fnmatch.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* To be freed; NULL: the name has no other form. */
static char *demangle(const char *name, int options) {
  /* Only these, as a short name of C could be one of another language. */
  if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
    return NULL;
  return cplus_demangle(name, DMGL_AUTO | DMGL_ANSI | options);
}

void demangle_print(const char *name) {
  char *text = demangle(name, DMGL_PARAMS);
  fputs(text != NULL ? text : name, stdout);
  free(text);
}

static bool matches(const char *pattern, char *name) {
  const bool result =
      name != NULL && (strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0);
  free(name);
  return result;
}

bool demangle_matches(const char *pattern, const char *name) {
  const struct policy_pattern plain = {.text = (char *)(uintptr_t)pattern,
                                       .is_plain = strpbrk(pattern, "*?[\\") == NULL};
  return policy_matches(&plain, name) || matches(pattern, demangle(name, DMGL_PARAMS)) ||
         matches(pattern, demangle(name, DMGL_NO_OPTS));
}
