/* policy.h - what the user says of functions: which are GC entries, and which never collect.
 *
 * A policy is a list of patterns for the names of functions, as the shell's for files: from the
 * command line, from files with a pattern a line, and from policy files, whose lines say which kind
 * of pattern they have:
 *
 *     # a thread may be in these when a collection happens
 *     gc-entry  heap_allocate_slow
 *     gc-entry  safepoint_*
 *     no-gc     trace_*
 */
#ifndef STACKPACK_POLICY_H
#define STACKPACK_POLICY_H

#include "tool/image/problem.h"

#include <getopt.h>
#include <stddef.h>
#include <stdint.h>

enum policy_kind { POLICY_GC_ENTRY, POLICY_NO_GC };

struct policy_pattern {
  char *text;
  enum policy_kind kind;
  bool is_plain; /* a name, without characters that stand for others */
};

struct policy {
  struct policy_pattern *patterns; /* owned */
  size_t count, capacity;
  bool drop_unreachable, strict;
};

void policy_close(struct policy *policy);

/* The options that make up a policy, for getopt_long, and for the help. */
enum policy_option {
  POLICY_OPTION_GC_ENTRY = 512,
  POLICY_OPTION_NO_GC,
  POLICY_OPTION_POLICY,
  POLICY_OPTION_DROP_UNREACHABLE,
  POLICY_OPTION_STRICT,
};
#define POLICY_LONG_OPTIONS                                                                        \
  {"gc-entry", required_argument, NULL, POLICY_OPTION_GC_ENTRY},                                   \
      {"no-gc", required_argument, NULL, POLICY_OPTION_NO_GC},                                     \
      {"policy", required_argument, NULL, POLICY_OPTION_POLICY},                                   \
      {"drop-unreachable", no_argument, NULL, POLICY_OPTION_DROP_UNREACHABLE}, {                   \
    "strict", no_argument, NULL, POLICY_OPTION_STRICT                                              \
  }
#define POLICY_HELP                                                                                \
  "      --gc-entry=PATTERN    functions in which a thread may be at a collection\n"               \
  "      --no-gc=PATTERN       functions known to call nothing that collects\n"                    \
  "      --policy=FILE         lines `gc-entry PATTERN` and `no-gc PATTERN`\n"                     \
  "      --drop-unreachable    drop records of functions that nothing can reach\n"                 \
  "      --strict              undecodable code and unused patterns are errors\n"

/* Whether an option is one of these. */
bool policy_is_option(int option);
/* Takes one in. A file that can't be read, or isn't a policy, is the problem. */
bool policy_take_option(struct policy *policy, int option, const char *value,
                        struct problem *problem);

/* Whether there is anything to be dropped by. */
bool policy_is_empty(const struct policy *policy);
bool policy_has_entries(const struct policy *policy);

/* Whether a pattern is for a function of a name: for the whole name, or without what compilers and
 * linkers hang on to it: `f.part.0`, `f.cold`, `f@VERSION` are f's. */
bool policy_matches(const struct policy_pattern *pattern, const char *name);

#endif
