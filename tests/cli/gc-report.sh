#!/bin/bash
# `pack --report` counts every record once, and names the calls that keep most.
. "$TOP/tests/cli/common.sh"

make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie" lld
expect_status 0 "$stackpack" pack --always --gc-entry=collect --report -o packed app
cp out report
all=$(dump_json app | wc -l)
left=$(dump_json packed | wc -l)
sed -nE 's/^  (kept|dropped) +([0-9]+)  .*/\1 \2/p' report |
  awk '{ sum[$1] += $2 } END { print sum["kept"] + sum["dropped"], sum["kept"] }' >sums
[[ $(<sums) == "$all $left" ]] || { cat report >&2; fail "the report doesn't count $all records, $left of them kept"; }
grep -qE "^app: dropped $((all - left)) of $all records \([0-9.]+ %\)$" report || fail "no sum: $(<report)"
grep -qE '^ +[0-9]+  by_pointer$' report || fail "by_pointer keeps a record: $(<report)"
! grep -q qsort report || fail "qsort is given a function that is known: $(<report)"
! grep -q 'handles signals' report || fail "there is no signal handler"

expect_status 0 "$stackpack" pack --always --quiet --reader=elsewhere --gc-entry=collect -o packed app
[[ ! -s out && ! -s err ]] || fail "--quiet should say nothing"

# Equal input and options give equal bytes.
cp packed first
expect_status 0 "$stackpack" pack --always --gc-entry=collect --report -o packed app
expect_same packed first

# The report names a program's signal handlers.
cat >handler.c <<'C'
#include <signal.h>
__attribute__((constructor)) static void handle(void) { signal(SIGUSR1, SIG_IGN); }
C
"$LLVM/bin/clang" -c handler.c
link_with lld app managed.o native.o main.o handler.o
expect_status 0 "$stackpack" pack --always --gc-entry=collect --report -o packed app
expect_output 'note: the program handles signals'
