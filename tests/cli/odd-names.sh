#!/bin/bash
# File names with spaces, a leading dash, a newline or an empty first part are just names.
. "$TOP/tests/cli/common.sh"

make_program lld raw list
cp raw 'two words'
cp raw ./-o
cp raw $'new\nline'
cp raw "quote'"
expect_status 0 "$stackpack" pack --always 'two words' ./-o "$PWD/quote'" $'new\nline'
for name in 'two words' ./-o "quote'" $'new\nline'; do expect_packed "$name"; done
cp raw ./--quiet
expect_status 0 "$stackpack" pack --always -- --quiet
expect_packed ./--quiet
expect_refusal ': ' "$stackpack" pack --always ''
