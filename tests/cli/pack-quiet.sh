#!/bin/bash
# `--quiet` omits success; errors are printed all the same, and the message that a file would grow and stays unpacked.
. "$TOP/tests/cli/common.sh"

make_program lld app list
cp app before
expect_status 0 "$stackpack" pack --reader=elsewhere --quiet app
[[ ! -s out ]] && only_line_matches '^stackpack: app: warning: not packed, as the file would grow from [0-9]+ to [0-9]+ bytes; --always packs' err ||
  fail "nothing of the growth: $(cat out err)"
expect_same app before
expect_status 0 "$stackpack" pack --reader=elsewhere --quiet --always app
[[ ! -s out && ! -s err ]] || fail "not quiet: $(cat out err)"
expect_status 0 "$stackpack" pack --reader=elsewhere --quiet app
[[ ! -s out && ! -s err ]] || fail "not quiet about a packed file: $(cat out err)"
expect_refusal 'missing: ' "$stackpack" pack --reader=elsewhere --quiet missing
