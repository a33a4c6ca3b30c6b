/* trace.c - see trace.h. */
#include "tool/image/trace.h"

#include "tool/image/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double trace_seconds(const struct timespec *since) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - since->tv_sec) + (double)(now.tv_nsec - since->tv_nsec) / 1e9;
}

struct trace trace_begin(const char *group) {
  const char *groups = getenv("STACKPACK_TRACE");
  const bool is_wanted = groups != NULL && name_is_among(group, ',', groups);
  struct trace trace = {.group = is_wanted ? group : NULL};
  if (trace.group != NULL)
    clock_gettime(CLOCK_MONOTONIC, &trace.start);
  return trace;
}

void trace_pass(struct trace *trace, const char *pass, const char *counts, ...) {
  va_list arguments;
  if (trace->group == NULL)
    return;
  fprintf(stderr, "stackpack: %s: %s: %.2f ms, ", trace->group, pass,
          trace_seconds(&trace->start) * 1e3);
  va_start(arguments, counts);
  vfprintf(stderr, counts, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  clock_gettime(CLOCK_MONOTONIC, &trace->start);
}
