#!/bin/bash
# The measurement of linked frames: with its roots in linked frames the workload prints the plain C build's output, and walks
# as many frames as the build with stack maps. The script that compares the two measures its claims.
. "$TOP/tests/samples/common.sh"

for options in "" "--heap 200" "--stress --size 1" "--stress --size 4"; do
  read -ra words <<<"$options"
  "$programs/semispace-plain" "${words[@]}" >expected
  expect_as_plain '^collections: 0$|moved: 0 |walked: 0 |updated: 0$' shadow-stack "${words[@]}"
done

# With a collection at every allocation both builds meet the same stacks. (A function without references across calls has a
# stack map, but lacks a frame to link: so there may be a few less.)
"$programs/semispace" --stress --size 4 --statistics >out 2>by-tables
frames=$(awk '/^frames walked/ { print $3 }' shadow-stack.statistics)
by_tables=$(awk '/^frames walked/ { print $3 }' by-tables)
((frames <= by_tables && frames * 10 > by_tables * 9)) ||
  fail "$frames linked frames were walked, where stack maps have $by_tables"

# Without roots the workload is right until the heap is full, and then it says so.
"$programs/semispace-plain" >expected
expect_status 0 "$programs/shadow-stack-unrooted" --heap 100000
expect_same expected out
status=0
{ "$programs/shadow-stack-unrooted"; } >out 2>err || status=$?
((status == 134)) || fail "without roots a collection ends with status $status"
grep -q "can't collect" err || fail "without roots the end is: $(<err)"

# One reference missing in its root is noticed.
"$programs/semispace-plain" --size 1 >expected
expect_mutant shadow-stack-forgetful --stress --size 1

expect_valgrind shadow-stack callgrind_annotate
objcopy --strip-debug "$programs/shadow-stack" stripped # not every valgrind understands all debug info
valgrind --quiet --error-exitcode=1 ./stripped --size 1 --heap 40 >output || fail "valgrind found an error"
diff expected output || fail "another output under valgrind"

# The table: code with roots takes more instructions than code without, with linked frames more than with stack maps;
# the tables of linked frames are small, and packed stack maps smaller than raw ones.
SIZE=4 HEAP=64 RUNS=1 "$TOP/tests/bench/shadow-stack/compare.sh" "$BUILD" >table
awk -F ' *[|] *' '
  function fail(what) { print "shadow-stack.sh: " what ":\n  " $0 >"/dev/stderr"; failed = 1 }
  NF != 8 { fail("not a row of five programs") }
  /^[|] no collection/ { rows++; if (!($3 < $5 && $5 < $4 && $5 == $6)) fail("unexpected") }
  /^[|] to find/ { rows++; if (!($4 > 0 && $4 < $5 && $6 > 0)) fail("unexpected") }
  /^[|] of tables/ { rows++; if (!($3 == 0 && $4 > 0 && $4 < $6 && $6 < $5)) fail("unexpected") }
  /^[|] of the file/ { rows++; if (!($3 > 0 && $4 > $3)) fail("unexpected") }
  END { if (rows != 4) fail("rows are missing"); exit failed }' table || {
  cat table >&2
  exit 1
}
