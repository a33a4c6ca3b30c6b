#!/bin/bash
# Interrupted or terminated, `pack` leaves the program whole, and removes its other files.
. "$TOP/tests/cli/common.sh"

many_functions 300 >many.ll
make_program lld raw ./many.ll
start=$EPOCHREALTIME
expect_status 0 "$stackpack" pack -o packed raw
length=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
mkdir folder
for signal in INT TERM HUP; do
  for ((round = 0; round < 10; round++)); do
    cp raw folder/app
    delay=$(awk -v l="$length" -v r=$round 'BEGIN { printf "%.6f", l * 1.1 * (r + 1) / 10 }')
    timeout --foreground -s $signal "$delay" "$stackpack" pack --quiet folder/app >out 2>&1 || true
    cmp -s folder/app raw || expect_same folder/app packed
    [[ $(ls -A folder) == app ]] || fail "SIG$signal after $delay s left files: $(ls -A folder)"
  done
done
