/* policy.c - tests how names match a policy's patterns, and its options. (Its files are tested by the
 * command's tests.)
 */
#include "tool/calls/policy.h"
#include "suite.h"

#include <string.h>

static bool match(const char *text, const char *name) {
  struct policy policy = {0};
  struct problem problem = {0};
  ck_assert(policy_add_entry(&policy, text, &problem));
  const bool result = policy_matches(&policy.patterns[0], name);
  policy_close(&policy);
  return result;
}

TEST(a_plain_name_is_the_whole_name) {
  ck_assert(match("collect", "collect"));
  ck_assert(!match("collect", "collect2"));
  ck_assert(!match("collect", "xcollect"));
  ck_assert(!match("collect", ""));
}

TEST(what_compilers_hang_on_is_the_same_function) {
  ck_assert(match("collect", "collect.part.0"));
  ck_assert(match("collect", "collect.cold"));
  ck_assert(match("collect", "collect.constprop.0.isra.1"));
  ck_assert(match("collect", "collect.llvm.1234"));
  ck_assert(match("collect", "collect@@VERSION_1"));
  ck_assert(match("collect.part.0", "collect.part.0"));
  ck_assert(!match("collect", "collector.part.0"));
  ck_assert(!match("collect", ".collect"));
}

TEST(patterns_are_globs) {
  ck_assert(match("gc_*", "gc_step"));
  ck_assert(match("gc_*", "gc_step.cold"));
  ck_assert(match("*Z*collect?", "_ZN2gc8collectEv") == false);
  ck_assert(match("_Z*collectEv", "_ZN2gc7collectEv"));
  ck_assert(match("gc_[ab]", "gc_b"));
  ck_assert(!match("gc_[ab]", "gc_c"));
}

TEST(options_say_what_is_asked_for) {
  struct policy policy = {0};
  struct problem problem = {0};
  ck_assert(policy_is_empty(&policy));
  ck_assert(policy_add_leaf(&policy, "log_*", &problem));
  ck_assert(policy_is_empty(&policy));
  ck_assert(!policy_has_entries(&policy));
  policy.drop_unreachable = true;
  ck_assert(!policy_is_empty(&policy));
  ck_assert(policy_add_entry(&policy, "collect", &problem));
  ck_assert(policy_has_entries(&policy));
  policy_close(&policy);
}
