#!/bin/bash
# --drop-unreachable drops the records of unreachable functions, with and without GC entries; by default they are judged as any
# other.
. "$TOP/tests/cli/common.sh"

make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie" lld
expect_verdict dropped app managed_by_tail_call --drop-unreachable # run doesn't call it
expect_output 'nothing can reach the function'
expect_verdict kept app managed_by_chain --drop-unreachable
expect_output 'no GC entry is named'
expect_verdict dropped app managed_by_tail_call --drop-unreachable --gc-entry=collect
expect_verdict kept app managed_by_tail_call --gc-entry=collect
expect_verdict dropped app managed_no_switch --drop-unreachable --gc-entry=collect

expect_status 0 "$stackpack" pack --always --drop-unreachable --report -o packed app
expect_output 'dropped +[0-9]+  nothing can reach the function'
expect_same_run app packed
dump_json packed >packed.json
expect_records packed.json <<'PYTHON'
functions = {record["function"] for record in records}
assert functions == {"run", "managed_by_chain", "managed_by_pointer", "managed_no_switch", "managed_no_outside", "managed_collect"}, functions
PYTHON

# Whoever finds functions by their names can reach them.
link_with lld exports managed.o native.o main.o -rdynamic
expect_status 0 "$stackpack" pack --always --drop-unreachable -o packed exports
dump_json exports >raw.json
dump_json packed >packed.json
expect_same raw.json packed.json
