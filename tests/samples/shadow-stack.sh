#!/bin/bash
# What measures linked frames: with its roots in linked frames the workload prints what the plain C build prints, and walks
# as many frames as the build with stack maps. The script that compares the two measures what it says.
set -eu

samples=${BUILD:?}/samples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "shadow-stack.sh: $*" >&2
  exit 1
}

run() { # PROGRAM OPTION...
  local program=$1
  shift
  "$samples/$program" "$@" >"$work/output" || fail "$program $* failed"
  diff "$work/expected" "$work/output" || fail "$program $*: not the output of the plain build"
}

for options in "" "--heap 200" "--stress --size 1" "--stress --size 4"; do
  # shellcheck disable=SC2086 # a list of words
  {
    "$samples/semispace-plain" $options >"$work/expected"
    run shadow-stack --statistics $options 2>"$work/statistics"
  }
  ! grep -E '^collections: 0$|moved: 0 |walked: 0 |updated: 0$' "$work/statistics" ||
    fail "$options: the run shows too little"
done

# With a collection at every allocation both builds meet the same stacks. (A function that keeps no reference across a
# call has a stack map, but no frame to link: so there may be a few less.)
"$samples/semispace" --stress --size 4 --statistics >/dev/null 2>"$work/by-tables"
frames=$(awk '/^frames walked/ { print $3 }' "$work/statistics")
by_tables=$(awk '/^frames walked/ { print $3 }' "$work/by-tables")
((frames <= by_tables && frames * 10 > by_tables * 9)) ||
  fail "$frames linked frames were walked, where stack maps have $by_tables"

# Without roots the workload is right until the heap is full, and then it says so.
"$samples/semispace-plain" >"$work/expected"
run shadow-stack-unrooted --heap 100000
status=0
{ "$samples/shadow-stack-unrooted"; } >/dev/null 2>"$work/error" || status=$?
((status == 134)) || fail "without roots a collection ends with status $status"
grep -q "can't collect" "$work/error" || fail "without roots the end is: $(cat "$work/error")"

# One reference that isn't put into its root is noticed.
"$samples/semispace-plain" --size 1 >"$work/expected"
if ASAN_OPTIONS=handle_segv=0 timeout 60 "$BUILD/tests/samples/shadow-stack-forgetful" --stress --size 1 \
  >"$work/output" 2>/dev/null; then
  ! cmp -s "$work/expected" "$work/output" || fail "a forgotten root makes no difference"
fi

if nm "$samples/shadow-stack" | grep __asan_init >/dev/null; then
  exit 0 # valgrind can't run this build, and the sanitizers in it have looked already
fi
for tool in valgrind callgrind_annotate; do
  if ! command -v $tool >/dev/null; then
    echo "skip: $tool is not installed"
    exit 77
  fi
done
objcopy --strip-debug "$samples/shadow-stack" "$work/stripped" # not every valgrind understands all debug info
valgrind --quiet --error-exitcode=1 "$work/stripped" --size 1 --heap 40 >"$work/output" ||
  fail "valgrind found an error"
diff "$work/expected" "$work/output" || fail "another output under valgrind"

# The table: code with roots takes more instructions than code without, with linked frames more than with stack maps;
# the tables of linked frames are small, and packed stack maps smaller than raw ones.
SIZE=4 HEAP=64 RUNS=1 "$(dirname "$0")"/../bench/shadow-stack/compare.sh "$BUILD" >"$work/table"
awk -F ' *[|] *' '
  function fail(what) { print "shadow-stack.sh: " what ":\n  " $0 >"/dev/stderr"; failed = 1 }
  NF != 8 { fail("not a row of five programs") }
  /^[|] no collection/ { rows++; if (!($3 < $5 && $5 < $4 && $5 == $6)) fail("unexpected") }
  /^[|] to find/ { rows++; if (!($4 > 0 && $4 < $5 && $6 > 0)) fail("unexpected") }
  /^[|] of tables/ { rows++; if (!($3 == 0 && $4 > 0 && $4 < $6 && $6 < $5)) fail("unexpected") }
  /^[|] of the file/ { rows++; if (!($3 > 0 && $4 > $3)) fail("unexpected") }
  END { if (rows != 4) fail("rows are missing"); exit failed }' "$work/table" || {
  cat "$work/table" >&2
  exit 1
}
