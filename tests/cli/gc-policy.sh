#!/bin/bash
# GC entries and functions that never collect, from options, files and a policy file, by name and by glob. A pattern that
# matches nothing gets a message. A missing GC entry could be any function: all records are kept, or it's an error.
. "$TOP/tests/cli/common.sh"

make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie" lld
pack() { # EXPECTED-STATUS OPTION...
  expect_status "$1" "$stackpack" pack --always -o packed "${@:2}" app
}
pack 0 --gc-entry=collect
cp packed by-option
dropped=$("$stackpack" verify app packed | grep -oE '[0-9]+ differences' || true)
[[ -n $dropped ]] || fail "verify without policy should find the records missing"
expect_status 1 "$stackpack" verify app packed
expect_status 0 "$stackpack" verify --gc-entry=collect app packed
expect_output 'records more, which packing dropped$'
expect_status 1 "$stackpack" verify --gc-entry=collect --gc-entry=no_call app packed

printf '# the collector\n\n  gc-entry collect  # here\n' >entries
printf 'no-gc by_chain\nno-gc no_such\n' >never
printf '# both\ngc-entry coll?ct\nno-gc\tby_chain\n' >policy
pack 0 --policy=entries
expect_same packed by-option
printf '\xef\xbb\xbfgc-entry collect\r\n' >marked # by an editor that begins texts with a mark
pack 0 --policy=marked
expect_same packed by-option
pack 0 --gc-entry='c[o]ll*'
expect_same packed by-option

# A function that never collects drops the records of calls to it alone.
expect_verdict kept app managed_by_chain --gc-entry=collect
expect_verdict dropped app managed_by_chain --policy=policy
expect_verdict dropped app managed_by_chain --gc-entry=collect --no-gc=by_chain
expect_verdict dropped app managed_by_chain --gc-entry=collect --no-gc='by_ch*'
expect_verdict kept app managed_by_call --policy=policy
expect_verdict dropped app managed_by_callback --gc-entry=collect --no-gc=qsort
pack 0 --gc-entry=collect --policy=never
grep -q "warning: no function is called 'no_such'" err || fail "a --no-gc that matches nothing should be said"
expect_refusal "app: no function is called 'no_such', which is never to collect" \
  "$stackpack" pack --always --strict --gc-entry=collect --policy=never -o other app

# Of both, a GC entry is the stronger.
expect_verdict kept app managed_collect --gc-entry=collect --no-gc='*'

cp app before
expect_refusal "app: no function is called 'colect', which is to be a GC entry" "$stackpack" pack --always --strict --gc-entry=colect app
expect_refusal "app: no function is called 'x\*'" "$stackpack" pack --always --strict --gc-entry=collect --gc-entry='x*' app
expect_same app before
for entry in colect 'x*'; do
  pack 0 --report --gc-entry=collect --gc-entry="$entry"
  grep -qF "warning: no function is called '$entry', which is to be a GC entry" err || fail "$entry isn't there"
  expect_output "dropped 0 of"
  expect_output "the file doesn't have one of the GC entries"
  [[ $(dump_json app | wc -l) == "$(dump_json packed | wc -l)" ]] || fail "something was dropped"
done

# Files of other content than a policy.
printf 'gc-entry collect\nnever by_chain\n' >broken
expect_refusal "broken: line 2: neither gc-entry, no-gc, malloc nor complete, but 'never'" "$stackpack" pack --always --policy=broken app
printf 'gc-entry\n' >broken
expect_refusal 'broken: line 1: no pattern' "$stackpack" pack --always --policy=broken app
printf 'gc-entry collect\n\0no-gc by_chain\n' >broken
expect_refusal 'broken: line 2: a zero byte' "$stackpack" pack --always --policy=broken app
printf 'gc-entry collect it\n' >broken
expect_refusal 'broken: line 1: more than one pattern' "$stackpack" pack --always --policy=broken app
expect_refusal 'missing: .*No such file' "$stackpack" pack --always --policy=missing app
expect_refusal '\.: .*directory' "$stackpack" verify --policy=. app app
expect_same app before

# No GC entry, no dropping, and other patterns say so.
pack 0
cp packed plain
pack 0 --no-gc=by_chain
expect_same packed plain
printf '# all to come\n' >empty
printf 'complete\n' >complete
for facts in --no-gc=by_chain --malloc=libc --policy=empty --policy=complete; do
  for command in "pack --always --reader=elsewhere -o other app" "pack plain" "verify app plain" "stats app" "why app managed_by_chain"; do
    # shellcheck disable=SC2086 # a list of words
    expect_status 0 "$stackpack" $command $facts
    only_line_matches "warning: no GC entry is named, so the policy's other facts drop nothing" err || fail "$command $facts: $(<err)"
    # shellcheck disable=SC2086 # a list of words
    expect_refusal '[a-z]*: no GC entry is named' "$stackpack" $command $facts --strict
  done
done

# Commands that only ask warn of a policy, too. In a call graph, patterns mark functions without a GC entry.
for command in "why app managed_by_chain" "callgraph app"; do
  # shellcheck disable=SC2086 # a list of words
  expect_status 0 "$stackpack" $command --gc-entry=collect --no-gc=no_such
  only_line_matches "app: warning: no function is called 'no_such', which is never to collect" err || fail "$command: $(<err)"
done
expect_status 0 "$stackpack" callgraph --no-gc=by_chain app
expect_output 'by_chain .*\(no-gc=by_chain\)$'
echo 'int main(void) { return 0; }' >plain.c
"$LLVM/bin/clang" plain.c -o plain
expect_status 0 "$stackpack" callgraph --strict --gc-entry=main plain # no records, of which none leads to it
[[ ! -s err ]] || fail "without records: $(<err)"

# A plain name of several functions makes a promise for none of them; all of them are GC entries. An untyped label at a
# function's start is no name of it. A GC entry that is only a jump, or a call, has its target beside it.
echo 'static __attribute__((noinline)) void log_it(void) { sink++; } long log_first(long x) { log_it(); return x; }' >one.c
echo 'void collect(void); static __attribute__((noinline)) void log_it(void) { collect(); sink++; } long log_second(long x) { log_it(); return x; }' >two.c
sed -i '1i static volatile long sink;' one.c two.c
cat >third.S <<'S'
  .text
  .globl ends, log_third, poll, merged
  .type log_third, @function
  .type poll, @function
  .type merged, @function
log_end:
log_third: push %rax
  call collect
  pop %rcx
  ret
  .size log_third, . - log_third
poll: jmp collect
  .size poll, . - poll
merged: push %rax
  call collect
  pop %rcx
  ret
  .size merged, . - merged
  .section .note.GNU-stack, "", @progbits
S
printf 'long log_first(long), log_second(long), log_third(long);\n' >managed.c
for function in first second third; do
  echo "__attribute__((noinline)) long managed_$function(long x) { return log_$function(x) + 1; }" >>managed.c
done
compile_managed managed.c managed.o
cat >main.c <<'C'
static volatile long sink;
__attribute__((noinline)) void collect(void) { sink++; }
long managed_first(long), managed_second(long), managed_third(long);
int main(void) { return managed_first(1) + managed_second(1) + managed_third(1) == 0; }
C
"$LLVM/bin/clang" -O1 -c main.c one.c two.c third.S
link_with lld app main.o managed.o one.o two.o third.o
expect_verdict dropped app managed_first --gc-entry=collect
expect_verdict kept app managed_second --gc-entry=collect --no-gc=log_it
expect_verdict dropped app managed_second --gc-entry=collect --no-gc='log_i[t]'
expect_output ': by --no-gc=log_i\[t\]$'
pack 0 --gc-entry=collect --no-gc=log_it
grep -q "warning: several functions are called 'log_it', which is never to collect: this holds for none" err || fail "not told"
expect_refusal "app: several functions are called 'log_it'" "$stackpack" pack --always --strict --gc-entry=collect --no-gc=log_it -o other app
expect_verdict kept app managed_third --gc-entry=collect --no-gc='log_e*'
strip -x -o stripped app
expect_verdict kept stripped managed_third --gc-entry=collect --no-gc=log_end
expect_verdict dropped app managed_third --gc-entry=collect --no-gc=log_third
expect_verdict kept app managed_first --gc-entry=log_it
expect_output 'log_it, a GC entry$'
expect_verdict kept app managed_third --gc-entry=poll
expect_output 'calls collect, a GC entry by --gc-entry=poll$'
expect_verdict kept app managed_third --gc-entry=merged
expect_output 'calls collect, a GC entry by --gc-entry=merged$'
for entry in poll merged; do
  pack 0 --gc-entry=$entry
  grep -q "warning: '$entry', a GC entry, only goes on to collect.*: that counts as one, too" err || fail "the jump isn't told"
done
printf 'gc-entry "collect" # quoted\ncomplete\n' >policy
expect_verdict kept app managed_third --policy=policy
printf 'complete it\n' >broken
expect_refusal 'broken: line 1: more than the word complete' "$stackpack" pack --always --policy=broken app
printf 'no-gc ""\n' >broken
expect_refusal 'broken: an empty pattern' "$stackpack" pack --always --policy=broken app
