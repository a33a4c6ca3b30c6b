/* trace.h - the names, times and counts of a command's passes, on stderr.
 *
 *   STACKPACK_TRACE=pack,calls stackpack pack app
 *   stackpack: calls: sweep: 4.12 ms, 5104 functions, 30117 calls
 */
#ifndef STACKPACK_TOOL_TRACE_H
#define STACKPACK_TOOL_TRACE_H

#include <time.h>

/* The seconds since then, of CLOCK_MONOTONIC. */
double trace_seconds(const struct timespec *since);

struct trace {
  const char *group; /* NULL: the environment omits this group */
  struct timespec start;
};

/* Starts the clock of a group's first pass. The group's name must outlive the trace. */
struct trace trace_begin(const char *group);

/* Prints the line of a pass that has ended, where the group is traced, and starts the next one's
 * clock. The counts are as for printf. */
void trace_pass(struct trace *trace, const char *pass, const char *counts, ...)
    __attribute__((format(printf, 3, 4)));

#endif
