#!/bin/bash
# Several `pack` of one file at the same time, as a careless parallel build does: it ends up packed and whole.
. "$TOP/tests/cli/common.sh"

many_functions 100 >many.ll
make_program lld raw ./many.ll
expect_status 0 "$stackpack" pack -o packed raw
mkdir folder
for round in 1 2 3; do
  cp raw folder/app
  pids=()
  for n in 1 2 3 4; do
    "$stackpack" pack --quiet folder/app 2>err.$n &
    pids+=($!)
  done
  good=0
  for pid in "${pids[@]}"; do
    if wait "$pid"; then good=$((good + 1)); fi
  done
  ((good > 0)) || fail "all four failed: $(cat err.*)"
  expect_same folder/app packed
  [[ $(ls -A folder) == app ]] || fail "round $round left files: $(ls -A folder)"
done
