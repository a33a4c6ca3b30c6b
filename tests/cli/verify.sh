#!/bin/bash
# `verify RAW PACKED`: 0 where both say the same, 1 with the difference on stdout, 2 where one is unusable.
. "$TOP/tests/cli/common.sh"

make_program lld app deopt
expect_status 0 "$stackpack" pack --always -o packed app
expect_status 0 "$stackpack" verify app packed

# Another ID in one record, another deopt value, a derived reference with another base.
difference() { # NAME SED-COMMAND SAMPLE
  sed "$2" "$samples/$3.ll" >"$1.ll"
  make_program lld "$1" "./$1.ll"
  make_program lld same "$samples/$3.ll"
  expect_status 0 "$stackpack" pack --always -o same.packed same
  expect_status 1 "$stackpack" verify "$1" same.packed
  [[ -s out && ! -s err ]] || fail "the difference isn't told on stdout: $(cat out err)"
}
difference id 's/i64 1003, /i64 1033, /' deopt
expect_output '\bvalues\b|0x[0-9a-f]+'
difference deopt 's/"deopt"(i32 0, i64 %n)/"deopt"(i32 2, i64 %n)/' deopt
difference base 's/%point, i32 0, i32 1/%point, i32 1, i32 1/' pairs

echo garbage >garbage
expect_refusal 'missing: ' "$stackpack" verify missing packed
expect_refusal 'missing: ' "$stackpack" verify app missing
expect_refusal 'garbage: ' "$stackpack" verify garbage packed
expect_refusal 'garbage: ' "$stackpack" verify app garbage
expect_refusal 'app: isn.t packed' "$stackpack" verify packed app
expect_refusal 'app: isn.t packed' "$stackpack" verify app app # a build that forgot to pack
expect_status 0 "$stackpack" verify packed packed
expect_status 2 "$stackpack" verify app
expect_status 2 "$stackpack" verify app packed packed

expect_status 0 "$stackpack" verify --format=json app packed
python3 -c 'import json; one = json.load(open("out")); assert one["agree"] and one["records"] > 0 and one["first"] is None' || fail "$(<out)"
expect_status 0 "$stackpack" verify --quiet --format=json app packed
[[ ! -s out ]] || fail "with --quiet: $(<out)"
expect_status 1 "$stackpack" verify --quiet --format=json base same.packed
python3 -c 'import json; one = json.load(open("out")); assert not one["agree"] and one["differences"] > 0 and one["first"]' || fail "$(<out)"
