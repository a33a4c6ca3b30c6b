#!/bin/bash
# The raw maps are found by section headers alone: refused. A packed file has a program header, and is still read.
. "$TOP/tests/cli/common.sh"

make_program lld app list
expect_status 0 "$stackpack" pack --always -o packed app
dump_without_names packed >packed.json
"$LLVM/bin/llvm-objcopy" --strip-sections app app.stripped
"$LLVM/bin/llvm-objcopy" --strip-sections packed packed.stripped
cp app.stripped before
expect_refusal 'app.stripped: .*(section|stack map)' "$stackpack" pack --always app.stripped
expect_same app.stripped before
expect_status 0 "$stackpack" pack --always --if-present --quiet app.stripped
only_line_matches '^stackpack: app.stripped: warning: no packed table, and no section headers' err || fail "passed in silence: $(<err)"
expect_same app.stripped before

expect_same_run app packed.stripped
dump_without_names packed.stripped >stripped.json
expect_same packed.json stripped.json
expect_status 0 "$stackpack" verify app packed.stripped
