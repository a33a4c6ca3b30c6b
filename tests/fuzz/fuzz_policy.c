/* fuzz_policy.c - attacks the reader of policies.
 *
 * The input is a policy's file, in memory. Findings: a refusal without a reason; a pattern that is
 * empty, or has a line's end inside; a name that fails to match itself; and a pattern that takes
 * long.
 */
#include "fuzz.h"

#include "tool/calls/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const names[] = {"", "a", "heap_allocate_slow", "f.part.0",
                                    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

static bool means(const struct policy_pattern *pattern, const char *text) {
  struct pattern_name name;
  pattern_name_open(&name, text);
  const bool does = policy_matches(pattern, &name);
  pattern_name_close(&name);
  return does;
}

static void check_pattern(const struct policy_pattern *pattern) {
  if (pattern->text[0] == 0 || strchr(pattern->text, '\n') != NULL)
    finding("a pattern is a word, or words of one line", pattern->text);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    means(pattern, names[i]);
  if (!means(pattern, pattern->text) && pattern->is_plain)
    finding("a name matches itself", pattern->text);
}

static void take_file(const char *path, size_t size) {
  struct problem problem = {0};
  struct policy policy = {0};
  if (!policy_read_file(&policy, path, &problem) && problem.text[0] == 0)
    finding("a failure says what is wrong", NULL);
  if (policy.count > size)
    finding("each pattern has a line", NULL);
  for (size_t i = 0; i < policy.count; i++)
    check_pattern(&policy.patterns[i]);
  policy_close(&policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  const int file = memfd_create("policy", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != (ssize_t)size)
    abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  take_file(path, size);
  close(file);
  return 0;
}
