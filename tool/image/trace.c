/* trace.c - see trace.h. */
#include "tool/image/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a list of words, separated by commas, has a word. */
static bool has_word(const char *list, const char *word) {
  const size_t size = strlen(word);
  for (; list != NULL; list = strchr(list, ',')) {
    list += *list == ',';
    if (strncmp(list, word, size) == 0 && (list[size] == '\0' || list[size] == ','))
      return true;
  }
  return false;
}

double trace_seconds(const struct timespec *since) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - since->tv_sec) + (double)(now.tv_nsec - since->tv_nsec) / 1e9;
}

struct trace trace_begin(const char *group) {
  struct trace trace = {.group = has_word(getenv("STACKPACK_TRACE"), group) ? group : NULL};
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
