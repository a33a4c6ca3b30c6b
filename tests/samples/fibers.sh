#!/bin/bash
# The fibers sample: with fibers suspended while their objects move, raw and packed, its output equals the plain C build's.
# A stack that is left out must show.
. "$TOP/tests/samples/common.sh"

# The raw and the packed stack maps of one program must give the collector the same frames.
expect_different "$programs/fibers" "$programs/fibers-raw"
for options in "" "--fibers 1000 --size 3" "--fibers 5 --size 100" "--stress --fibers 3 --size 20" \
  "--stress --fibers 10 --size 8 --seed "{1,2,3}; do
  read -ra words <<<"$options"
  "$programs/fibers-plain" "${words[@]}" >expected
  for program in fibers-raw fibers; do
    expect_as_plain '^collections: 0$|moved: 0 |walked: 0 | 0 suspended|\(0 of' "$program" "${words[@]}"
  done
  diff fibers-raw.statistics fibers.statistics || fail "$options: other statistics than unpacked"
done

# Another seed is another order.
"$programs/fibers" --seed 1 >first
"$programs/fibers" --seed 2 >second
expect_different first second

# Some fibers are suspended with derived references: at a call of fiber_yield, there is a pair with another base.
"$stackpack" dump "$programs/fibers" >dump
objdump -d --no-show-raw-insn "$programs/fibers" |
  awk '/^ / { if (after) print substr($1, 1, length($1) - 1); after = /call.*<fiber_yield>/ }' >suspended-at
awk 'NR == FNR { suspended["0x" $1] = 1; next } $1 in suspended && /<[-+]/ { found = 1 } END { exit !found }' \
  suspended-at dump || fail "no fiber is suspended with a derived reference"

# A stack that is left out makes a difference.
options=(--stress --fibers 10 --size 8)
"$programs/fibers-plain" "${options[@]}" >expected
for mutant in without-one without-running without-values; do expect_mutant fibers-$mutant "${options[@]}"; done

# Failures get a message.
for options in "--fibers 0" "--size 101" "--seed x" "--heap" "more"; do
  # shellcheck disable=SC2086 # a list of words
  expect_status 2 "$programs/fibers" $options
  grep -q '^usage: fibers' err || fail "$options: no usage"
done
status=0
unset ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS # so that warnings come on stderr, too
{ "$programs/fibers" --heap 20; } >out 2>err || status=$?
((status == 134)) || fail "a heap that is too small ends with status $status"
grep -qx 'fibers: the heap of 20480 bytes is full' err || fail "a full heap ends so: $(<err)"
! grep ASan err || fail "AddressSanitizer doesn't know which stack runs"

expect_clean fibers --fibers 4 --size 4
