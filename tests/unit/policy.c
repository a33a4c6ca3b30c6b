/* policy.c - tests how names match a policy's patterns, and its options. (Its files are tested by the
 * command's tests.)
 */
#include "tool/calls/policy.h"
#include "suite.h"

#include <string.h>

static bool match_as(enum policy_kind kind, const char *text, const char *name) {
  struct policy policy = {0};
  struct problem problem = {0};
  struct pattern_name forms;
  ck_assert(kind == POLICY_NO_GC ? policy_add_leaf(&policy, text, &problem)
                                 : policy_add_entry(&policy, text, &problem));
  pattern_name_open(&forms, name);
  const bool result = policy_matches(&policy.patterns[0], &forms);
  pattern_name_close(&forms);
  policy_close(&policy);
  return result;
}

static bool match(const char *text, const char *name) {
  return match_as(POLICY_GC_ENTRY, text, name);
}

static bool match_leaf(const char *text, const char *name) {
  return match_as(POLICY_NO_GC, text, name);
}

TEST(a_plain_name_is_the_whole_name) {
  ck_assert(match("collect", "collect"));
  ck_assert(!match("collect", "collect2"));
  ck_assert(!match("collect", "xcollect"));
  ck_assert(!match("collect", "collect_all"));
  ck_assert(!match("collect", ""));
  ck_assert(match_leaf("rt.collect", "rt.collect"));
  ck_assert(!match_leaf("rt", "rt.collect"));
}

TEST(copies_are_the_same_function) {
  static const char *const copies[] = {"collect.part.0",
                                       "collect.constprop.0.isra.1",
                                       "collect.llvm.1234",
                                       "collect.specialized.12",
                                       "collect.lto_priv.0.constprop.3",
                                       "collect.localalias",
                                       "collect@@VERSION_1",
                                       "collect@VERSION_1"};
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
    ck_assert(match("collect", copies[i]));
    ck_assert(match_leaf("collect", copies[i]));
    ck_assert(match_leaf("col*t", copies[i]));
    ck_assert(!match("collector", copies[i]));
  }
  ck_assert(match("collect.part.0", "collect.part.0"));
  ck_assert(!match("collect", "collector.part.0"));
  ck_assert(!match("collect", ".collect"));
  ck_assert(match("rt.collect", "rt.collect.constprop.0"));
  ck_assert(match_leaf("rt.collect", "rt.collect.constprop.0"));
}

TEST(other_suffixes_are_parts_of_gc_entries_and_other_functions_for_promises) {
  static const char *const others[] = {"log.append",
                                       "log.cold",
                                       "log.cfi",
                                       "log.avx2",
                                       "log.part",
                                       "log.part.x",
                                       "log.resolver",
                                       "log__anon_1234",
                                       "log:proc",
                                       "log-12",
                                       "log.1",
                                       "log.1.constprop.0",
                                       "log.constprop.0.append"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    ck_assert(match("log", others[i]));
    ck_assert(match("l?g", others[i]));
    ck_assert(!match_leaf("log", others[i]));
  }
}

TEST(names_are_also_those_of_the_language) {
  static const char in_other_module[] =
      "_ZN2rt5inner45_$LT$impl$u20$rt..Gc$u20$for$u20$rt..Heap$GT$7collect17h0123456789abcdefE";
  static const char in_trait[] = "_RNvXs_C2rtNtB4_4HeapNtB4_2Gc7collect";
  for (enum policy_kind kind = POLICY_GC_ENTRY; kind <= POLICY_NO_GC; kind++) {
    ck_assert(match_as(kind, "rt::collect", "_ZN2rt7collectEv"));
    ck_assert(match_as(kind, "rt::collect()", "_ZN2rt7collectEv.constprop.0"));
    ck_assert(match_as(kind, "rt::collect", "_ZN2rt7collectIiEEvi"));
    ck_assert(match_as(kind, "rt::collect<int>", "_ZN2rt7collectIiEEvi"));
    ck_assert(match_as(kind, "rt::collect", "_ZN2rt7collect17h0123456789abcdefE.llvm.12"));
    ck_assert(match_as(kind, "rt::gc::collect", "_RINvNtC2rt2gc7collectmE"));
    ck_assert(match_as(kind, "<rt::Heap as rt::Gc>::collect", in_trait));
    ck_assert(match_as(kind, "rt::Gc::collect", in_trait));
    ck_assert(match_as(kind, "rt::Heap::collect", in_trait));
    ck_assert(match_as(kind, "rt::Gc::collect", in_other_module));
    ck_assert(match_as(kind, "rt::Heap::collect", in_other_module));
    ck_assert(match_as(kind, "rt::operator<", "_ZN2rtltEii"));
    ck_assert(match_as(kind, "rt::operator<<", "_ZN2rtlsIiEEvT_"));
    ck_assert(match_as(kind, "rt::operator>", "_ZN2rtgtIiEEvT_"));
    ck_assert(match_as(kind, "rt::operator->", "_ZN2rtptIiEEvT_"));
    ck_assert(!match_as(kind, "rt", "_ZN2rt7collectEv"));
    ck_assert(!match_as(kind, "collect", "_ZN2rt7collectEv"));
  }
  static const struct {
    const char *pattern, *name;
  } parts[] = {
      {"rt::collect", "_ZN2rt7collectEv.avx2"},
      {"rt::collect()", "_ZN2rt7collectEv.avx2"},
      {"rt::Heap::collect", "_ZThn16_N2rt4Heap7collectEv"},
      {"rt::Heap::collect", "_ZTch0_h16_N2rt4Heap7collectEv"},
      {"rt::Heap::collect", "_ZGTtN2rt4Heap7collectEv"},
      {"virtual thunk to rt::Heap::collect()", "_ZTv0_n24_N2rt4Heap7collectEv"},
      {"rt::Heap::collect()", "_ZTv0_n24_N2rt4Heap7collectEv"},
      {"_ZN2rt4Heap7collectEv", "_ZThn16_N2rt4Heap7collectEv"},
      {"_ZN2rt4Heap7collectEv", "_ZTv0_n24_N2rt4Heap7collectEv.avx2"},
      {"_ZN2rt4Heap7collectEv", "_ZTch0_v0_n32_N2rt4Heap7collectEv"},
      {"_ZN2rt4Heap7collectEv", "_ZGTnN2rt4Heap7collectEv"},
      {"_ZN2rt4*collect*", "_ZThn16_N2rt4Heap7collectEv.part.0"},
      {"collect", "_ZGVbN2v_collect"},
      {"collect", "_ZGVsMxvl8_collect.constprop.0"},
      {"rt::collect", "_ZGVdM4uv__ZN2rt7collectEv"},
      {"-[Heap collect]", "-[Heap collect].cold.1"},
      {"rt.collect[go.shape.int]", "rt.collect[go.shape.int].avx2"},
      {"$s2rt7collectyyF", "$s2rt7collectyyFTf4d_n"},
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    ck_assert_msg(match(parts[i].pattern, parts[i].name), "%s", parts[i].name);
    ck_assert_msg(!match_leaf(parts[i].pattern, parts[i].name), "%s", parts[i].name);
  }
}

TEST(other_starts_of_names_are_no_copies) {
  static const char *const others[] = {
      "_ZGVZ7collectvE1x", "_ZGV7collect", "_ZTV7collect", "_ZThx_7v", "_ZTh", "_ZTv0_",
      "_ZTch0_",           "_ZGVbN",       "_ZGVbN2v",     "_ZGVbN2v_"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    ck_assert_msg(!match("collect", others[i]) && !match("_Z7collectv", others[i]), "%s",
                  others[i]);
}

TEST(names_that_the_demangler_cannot_read_are_entries) {
  static const char constrained[] = "_ZN2rt7collectIiQgtstT_Li2EEEvS1_";
  static const char *const patterns[] = {"rt::collect",
                                         "rt::collect<int>",
                                         "rt::collect(int) const",
                                         "<rt::Heap as rt::Gc>::collect",
                                         "rt::c*t",
                                         "*",
                                         "collect",
                                         "rt::Gc::operator bool",
                                         "void rt::collect(T)"};
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    ck_assert_msg(match(patterns[i], constrained), "%s", patterns[i]);
    ck_assert_msg(strcmp(patterns[i], "*") == 0 || !match_leaf(patterns[i], constrained), "%s",
                  patterns[i]);
  }
  ck_assert(!match("rt::grow", constrained));
  ck_assert(!match("rt::collect", "rt_collect"));
  ck_assert(!match("rt::collect", "_ZN2rt4growI7collectEEvv"));
}

TEST(modules_of_names_are_left_out) {
  for (enum policy_kind kind = POLICY_GC_ENTRY; kind <= POLICY_NO_GC; kind++) {
    ck_assert(match_as(kind, "rt::collect", "_ZN2rtW2gc7collectEv"));
    ck_assert(match_as(kind, "collect", "_ZW2gcWP4heap7collectIiEvv"));
    ck_assert(match_as(kind, "collect@gc", "_ZW2gc7collectv"));
    ck_assert(!match_as(kind, "gc", "_ZW2gc7collectv"));
  }
}

TEST(patterns_are_globs) {
  ck_assert(match("gc_*", "gc_step"));
  ck_assert(match("gc_*", "gc_step.cold"));
  ck_assert(match("*Z*collect?", "_ZN2gc8collectsEv") == false);
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
