#!/bin/bash
# Lua with luaC_step and luaC_fullgc as GC entries: at least 30 % of its records are dropped. Soundness by experiment: Lua runs a
# long script that uses each library, with the collector at nearly every allocation, and with memory short so that it
# collects inside of allocations, too; all return addresses that were on the stack then keep their records. ROUNDS: how often
# the script does its work; LINKERS: Lua's linkers.
. "$TOP/tests/callgraph/common.sh"
expect_corpus lua-objects.tar.zst

make_recorder
make_answers
mkdir objects
tar --zstd -xf "$CORPUS/lua-objects.tar.zst" -C objects
mapfile -t objects < <(find objects -name '*.o' | sort)
entries=(luaC_step luaC_fullgc)
for linker in ${LINKERS:-lld}; do
  rm -f seen
  mkdir "$linker"
  link_with "$linker" "$linker/lua" "${objects[@]}" -lm -ldl
  expect_status 0 "$stackpack" pack --always "${entries[@]/#/--gc-entry=}" --report -o "$linker/packed" "$linker/lua"
  where=$(places "$linker/lua" "${entries[@]}")
  rounds=${ROUNDS:-1}
  # A limit for memory, so that a string of two gigabytes is refused.
  (
    ulimit -v 1500000
    for mode in incremental generational; do
      record "$where" seen "$linker/lua" "$TOP/tests/callgraph/lua/workload.lua" $mode "$rounds"
      grep -q '^closed with the state' record.out || fail "the script didn't get to its end"
    done
    for interval in 3 5 37; do
      sampled 3 || continue
      export RECORD_FAIL=$interval
      record "$where" seen "$linker/lua" "$TOP/tests/callgraph/lua/workload.lua" short "$rounds"
    done
    unset RECORD_FAIL
    record "$where" seen "$linker/lua" "$samples/exercise.lua"
  )
  expect_whole_walks "$linker/lua" seen
  expect_sound "$linker/lua" "$linker/packed" seen
  raw=$(wc -l <raw.addresses) packed=$(wc -l <packed.addresses)
  ((packed * 10 <= raw * 7)) || fail "only $((raw - packed)) of $raw records were dropped"
  # The packed file's own stack maps serve the same run.
  expect_same_run "$linker/lua" "$linker/packed" "$samples/exercise.lua"
done
