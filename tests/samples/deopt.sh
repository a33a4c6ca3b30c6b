#!/bin/bash
# The deopt sample: a compiled frame is left at each safepoint, and the interpreter's result is the same, raw and packed, with
# inlined frames and without.
. "$TOP/tests/samples/common.sh"

"$programs/deopt" >expected
for program in deopt-raw deopt deopt-O0-raw deopt-O0; do
  expect_status 0 "$programs/$program" --statistics
  diff expected out || fail "$program: another result"
  read -r left activations < <(sed 's/.*: //' err | paste -s)
  if [[ $program == *O0* ]]; then ((activations == left)); else ((activations > left)); fi || fail "$program: $left frames with $activations activations"
done
