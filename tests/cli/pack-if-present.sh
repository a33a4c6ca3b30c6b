#!/bin/bash
# A file free of stack maps is refused, and left alone with --if-present: for build rules that pack everything.
. "$TOP/tests/cli/common.sh"

echo 'int main(void) { return 0; }' >plain.c
"$LLVM/bin/clang" -no-pie plain.c -o plain
cp plain before
expect_refusal 'plain: .*stack map' "$stackpack" pack --always plain
expect_same plain before
expect_status 0 "$stackpack" pack --always --if-present plain
expect_same plain before

# The option has this effect alone: a program is packed, garbage is refused.
make_program lld app list
expect_status 0 "$stackpack" pack --always --if-present app
expect_packed app
make_program lld other list
expect_refusal 'other: no stack maps: no section .typo$' "$stackpack" pack --always --if-present --quiet --section=.typo other
echo garbage >garbage
expect_refusal 'garbage: ' "$stackpack" pack --always --if-present garbage
