#!/bin/bash
# A stripped program, with names for exported functions only: functions come from its unwind tables, and the same
# records are dropped as before it was stripped, if the user says that all parts of a GC entry kept their names.
. "$TOP/tests/cli/common.sh"

make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie" lld -Wl,--export-dynamic-symbol=collect
expect_status 0 "$stackpack" pack --always --gc-entry=collect -o packed app
strip -o stripped app
! nm stripped 2>&1 | grep managed || fail "not stripped"
expect_status 0 "$stackpack" pack --always --gc-entry=collect -o stripped-packed stripped
grep -q 'warning: local symbols are missing, so a part of a GC entry may have no name: [0-9]* records are kept' err || fail "not told"
[[ $(dump_json stripped-packed | wc -l) -gt $(dump_json packed | wc -l) ]] || fail "functions without names are no parts of a GC entry"
expect_refusal 'stripped: local symbols are missing' "$stackpack" pack --always --strict --gc-entry=collect -o other stripped
echo complete >policy
expect_status 0 "$stackpack" pack --always --gc-entry=collect --policy=policy -o stripped-packed stripped
dump_without_names packed >before
dump_without_names stripped-packed >after
expect_same before after
expect_different app packed
[[ $(wc -l <before) -lt $(dump_json app | wc -l) ]] || fail "nothing was dropped"
expect_same_run stripped stripped-packed

# Without names, a GC entry can't be named.
make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie" lld
strip app
expect_refusal "app: no function is called 'collect'" "$stackpack" pack --always --strict --gc-entry=collect app
expect_status 0 "$stackpack" pack --always -o packed --report --gc-entry=collect app
expect_output "dropped 0 of"
