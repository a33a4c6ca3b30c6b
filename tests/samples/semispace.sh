#!/bin/bash
# The semispace sample: with a moving collector, and packed or not, its output is that of the plain C build. A wrong,
# lost or invented root shows as another checksum, as a fault in the old space, or as the collector's own complaint.
set -eu

samples=${BUILD:?}/samples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "semispace.sh: $*" >&2
  exit 1
}

# Runs the sample with the options, and compares what it prints with what the plain build prints. Its statistics are
# left in $work/PROGRAM.statistics.
compare_with_plain() { # PROGRAM OPTION...
  local program=$1
  shift
  "$samples/semispace-plain" "$@" >"$work/expected"
  "$samples/$program" --statistics "$@" >"$work/output" 2>"$work/$program.statistics" ||
    fail "$program $* failed: $(cat "$work/$program.statistics")"
  diff "$work/expected" "$work/output" || fail "$program $*: not the output of the plain build"
}

# Whether the last run collected, moved objects, and met derived references.
check_collected() { # PROGRAM
  ! grep -E '^collections: 0$|moved: 0 |walked: 0 |\(0 of them' "$work/$1.statistics" ||
    fail "$1: the run shows too little"
}

# The records that no collection needs are dropped, and only these.
policy=$(dirname "$0")/../../samples/semispace/gc.policy
for variant in semispace semispace-O0; do
  "$BUILD/stackpack" verify --policy="$policy" "$samples/$variant-raw" "$samples/$variant" >"$work/verified" ||
    fail "$variant lacks other records than those that can't reach the collector"
  grep -qE ': [1-9][0-9]* records more, which packing dropped' "$work/verified" || fail "$variant: nothing was dropped"
done

# The raw and the packed stack maps of one program must lead the collector to the same frames and pairs.
for variant in semispace semispace-O0; do
  ! cmp -s "$samples/$variant" "$samples/$variant-raw" || fail "$variant is not packed"
  for options in "" "--heap 200" "--stress --size 1" "--stress --size 4"; do
    for program in "$variant-raw" "$variant"; do
      # shellcheck disable=SC2086 # a list of words
      compare_with_plain "$program" $options
      check_collected "$program"
    done
    diff "$work/$variant-raw.statistics" "$work/$variant.statistics" ||
      fail "$variant $options: other statistics than unpacked"
  done
done

if nm "$samples/semispace" | grep __asan_init >/dev/null; then
  exit 0 # valgrind can't run this build, and the sanitizers in it have looked already
fi
if ! command -v valgrind >/dev/null; then
  echo "skip: valgrind is not installed"
  exit 77
fi
# Not every valgrind understands every compiler's debug info.
objcopy --strip-debug "$samples/semispace-raw" "$work/raw"
"$BUILD/stackpack" pack --always -o "$work/packed" "$work/raw" >/dev/null
"$samples/semispace-plain" --size 1 >"$work/expected"
for program in raw packed; do
  valgrind --quiet --error-exitcode=1 --leak-check=full \
    "$work/$program" --size 1 --stress >"$work/output" || fail "$program: valgrind found an error"
  diff "$work/expected" "$work/output" || fail "$program: another output under valgrind"
done
