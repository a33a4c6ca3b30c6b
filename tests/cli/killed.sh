#!/bin/bash
# Killed at any moment, `pack` leaves the program either unchanged or completely packed, and a later run works.
. "$TOP/tests/cli/common.sh"

many_functions 300 >many.ll
make_program lld raw ./many.ll
start=$EPOCHREALTIME
expect_status 0 "$stackpack" pack -o packed raw
length=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }') # seconds for one whole run

mkdir folder
rounds=60 whole=0 done=0
for ((round = 0; round < rounds; round++)); do
  cp raw folder/app
  delay=$(awk -v l="$length" -v r=$round -v n=$rounds 'BEGIN { printf "%.6f", l * 1.2 * (r + 1) / n }')
  timeout -s KILL "$delay" "$stackpack" pack --quiet folder/app >out 2>&1 || true
  if cmp -s folder/app raw; then
    whole=$((whole + 1))
  elif cmp -s folder/app packed; then
    done=$((done + 1))
  else
    fail "neither the raw nor the packed program after $delay of $length s"
  fi
done
echo "$rounds runs: $whole times still raw, $done times packed; left over: $(find folder -mindepth 1 ! -name app | wc -l)"
((whole > 0)) || fail "no run was killed early enough to mean anything"

# Left-over files are harmless.
cp raw folder/app
expect_status 0 "$stackpack" pack folder/app
expect_same folder/app packed
