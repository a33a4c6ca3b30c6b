/* policy.h - the user's facts about functions: the GC entries, and the functions that never
 * collect.
 *
 * A policy is a list of patterns for the names of functions, as the shell's for files: from the
 * command line, and from policy files, whose lines give the kind of each pattern:
 *
 *     # a thread may be in these when a collection happens
 *     gc-entry  heap_allocate_slow
 *     gc-entry  safepoint_*
 *     no-gc     trace_*
 *     malloc    libc
 *     complete
 */
#ifndef STACKPACK_POLICY_H
#define STACKPACK_POLICY_H

#include "tool/calls/patterns.h"
#include "tool/image/problem.h"

#include <stddef.h>

enum policy_kind { POLICY_GC_ENTRY, POLICY_NO_GC };

struct policy_pattern {
  char *text;
  enum policy_kind kind;
  bool is_plain; /* a name, without wildcards */
};

struct policy {
  struct policy_pattern *patterns; /* owned */
  size_t count, capacity;
  bool drop_unreachable, strict;
  bool has_file;        /* one that may be empty */
  bool has_libc_malloc; /* malloc is the C library's, or as good */
  bool is_complete;     /* the patterns find all parts of GC entries, even in a stripped file */
};

void policy_close(struct policy *policy);

/* The options that make up a policy: rows of a command's table (tool/commands.h), and of its
 * help. */
#define POLICY_OPTIONS(policy)                                                                     \
  {"gc-entry", .take = policy_add_entry, .context = (policy)},                                     \
      {"no-gc", .take = policy_add_leaf, .context = (policy)},                                     \
      {"malloc", .take = policy_take_malloc, .context = (policy)},                                 \
      {"policy", .take = policy_read_file, .context = (policy)},                                   \
      {"drop-unreachable", .flag = &(policy)->drop_unreachable}, {                                 \
    "strict", .flag = &(policy)->strict                                                            \
  }
#define POLICY_HELP                                                                                \
  "      --gc-entry=PATTERN    functions in which a thread may be at a collection\n"               \
  "      --no-gc=PATTERN       functions that never call one that collects\n"                      \
  "      --malloc=libc         no other library's malloc collects\n"                               \
  "      --policy=FILE         lines `gc-entry PATTERN`, `no-gc PATTERN`, ...\n"                   \
  "      --drop-unreachable    drop records of functions that nothing can reach\n"                 \
  "      --strict              undecodable code and unused patterns are errors\n"

/* Take the value of an option into a struct policy: a pattern for GC entries, one for
 * functions that never collect, the library of malloc (`libc`), or the path of a file with
 * such lines. An unreadable file, or one of another kind, is the problem, and so is any other
 * library of malloc. */
bool policy_add_entry(void *policy, const char *pattern, struct problem *problem);
bool policy_add_leaf(void *policy, const char *pattern, struct problem *problem);
bool policy_take_malloc(void *policy, const char *library, struct problem *problem);
bool policy_read_file(void *policy, const char *path, struct problem *problem);

/* Whether there is anything to be dropped by. */
bool policy_is_empty(const struct policy *policy);
bool policy_has_entries(const struct policy *policy);
/* Warns of facts that drop nothing, as no GC entry is among them; a problem if the policy is
 * strict. */
bool policy_check(const struct policy *policy, const char *path, struct problem *problem);

/* Whether a pattern means a function of a name: of a GC entry, all that may be a part of one. */
bool policy_matches(const struct policy_pattern *pattern, const struct pattern_name *name);

#endif
