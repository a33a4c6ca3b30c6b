#!/bin/bash
# With several files each is packed; a refused one leaves the others packed, but the exit status is 2.
. "$TOP/tests/cli/common.sh"

for name in first second third; do make_program lld $name list; done
cp first raw
echo garbage >garbage
expect_status 2 "$stackpack" pack --reader=elsewhere --always first garbage second missing third
for name in first second third; do
  expect_packed $name
  expect_same_run raw $name
  expect_output $name
done
grep -q '^stackpack: garbage: ' err && grep -q '^stackpack: missing: ' err || fail "not both are named: $(<err)"
[[ $(wc -l <err) == 2 ]] || fail "not one line for each: $(<err)"
[[ $(<garbage) == garbage ]] || fail "the bad file was touched"

expect_status 0 "$stackpack" pack --reader=elsewhere --always first second
