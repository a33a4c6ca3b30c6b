#!/bin/bash
# The fibers sample: with fibers suspended while their objects move, and packed or not, its output is that of the plain
# C build. A stack that is left out must show.
set -eu

samples=${BUILD:?}/samples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "fibers.sh: $*" >&2
  exit 1
}

# Runs the sample with the options, and compares what it prints with what the plain build prints. Its statistics are
# left in $work/PROGRAM.statistics.
compare_with_plain() { # PROGRAM OPTION...
  local program=$1
  shift
  "$samples/fibers-plain" "$@" >"$work/expected"
  "$samples/$program" --statistics "$@" >"$work/output" 2>"$work/$program.statistics" ||
    fail "$program $* failed: $(cat "$work/$program.statistics")"
  diff "$work/expected" "$work/output" || fail "$program $*: not the output of the plain build"
}

# Whether the last run collected, and moved objects under suspended fibers.
check_collected() { # PROGRAM
  ! grep -E '^collections: 0$|moved: 0 |walked: 0 | 0 suspended|\(0 of' "$work/$1.statistics" ||
    fail "$1: the run shows too little"
}

# The raw and the packed stack maps of one program must lead the collector to the same frames.
! cmp -s "$samples/fibers" "$samples/fibers-raw" || fail "fibers is not packed"
for options in "" "--fibers 1000 --size 3" "--fibers 5 --size 100" "--stress --fibers 3 --size 20" \
  "--stress --fibers 10 --size 8 --seed "{1,2,3}; do
  for program in fibers-raw fibers; do
    # shellcheck disable=SC2086 # a list of words
    compare_with_plain "$program" $options
    check_collected "$program"
  done
  diff "$work/fibers-raw.statistics" "$work/fibers.statistics" || fail "$options: other statistics than unpacked"
done

# Another seed is another order.
"$samples/fibers" --seed 1 >"$work/first"
"$samples/fibers" --seed 2 >"$work/second"
! cmp -s "$work/first" "$work/second" || fail "the seed makes no difference"

# Some fibers are suspended with derived references: at a call of fiber_yield, there is a pair with another base.
"$BUILD/stackpack" dump "$samples/fibers" >"$work/dump"
objdump -d --no-show-raw-insn "$samples/fibers" |
  awk '/^ / { if (after) print substr($1, 1, length($1) - 1); after = /call.*<fiber_yield>/ }' >"$work/suspended-at"
awk 'NR == FNR { suspended["0x" $1] = 1; next } $1 in suspended && /<[-+]/ { found = 1 } END { exit !found }' \
  "$work/suspended-at" "$work/dump" || fail "no fiber is suspended with a derived reference"

# A stack that is left out makes a difference.
options="--stress --fibers 10 --size 8"
# shellcheck disable=SC2086 # a list of words
"$samples/fibers-plain" $options >"$work/expected"
for mutant in without-one without-running without-values; do
  # shellcheck disable=SC2086 # a list of words
  if ASAN_OPTIONS=handle_segv=0 timeout 60 "$BUILD/tests/samples/fibers-$mutant" $options \
    >"$work/output" 2>/dev/null; then
    ! cmp -s "$work/expected" "$work/output" || fail "fibers-$mutant makes no difference"
  fi
done

# What can't be, is said.
for options in "--fibers 0" "--size 101" "--seed x" "--heap" "more"; do
  status=0
  # shellcheck disable=SC2086 # a list of words
  "$samples/fibers" $options >/dev/null 2>"$work/error" || status=$?
  ((status == 2)) || fail "$options: exit status $status"
  grep -q '^usage: fibers' "$work/error" || fail "$options: no usage"
done
status=0
unset ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS # so that warnings come on stderr, too
{ "$samples/fibers" --heap 20; } >/dev/null 2>"$work/error" || status=$?
((status == 134)) || fail "a heap that is too small ends with status $status"
grep -qx 'fibers: the heap of 20480 bytes is full' "$work/error" || fail "a full heap ends so: $(cat "$work/error")"
! grep ASan "$work/error" || fail "AddressSanitizer doesn't know which stack runs"

if nm "$samples/fibers" | grep __asan_init >/dev/null; then
  exit 0 # valgrind can't run this build, and the sanitizers in it have looked already
fi
if ! command -v valgrind >/dev/null; then
  echo "skip: valgrind is not installed"
  exit 77
fi
# Not every valgrind understands every compiler's debug info.
objcopy --strip-debug "$samples/fibers-raw" "$work/raw"
"$BUILD/stackpack" pack --always -o "$work/packed" "$work/raw" >/dev/null
"$samples/fibers-plain" --fibers 4 --size 4 >"$work/expected"
for program in raw packed; do
  valgrind --quiet --error-exitcode=1 --leak-check=full \
    "$work/$program" --fibers 4 --size 4 --stress >"$work/output" 2>"$work/valgrind" ||
    fail "$program: valgrind found an error: $(cat "$work/valgrind")"
  diff "$work/expected" "$work/output" || fail "$program: another output under valgrind"
done
