#!/bin/bash
# `--quiet` says nothing of success; errors are told all the same.
. "$TOP/tests/cli/common.sh"

make_program lld app list
expect_status 0 "$stackpack" pack --quiet app
[[ ! -s out && ! -s err ]] || fail "not quiet: $(cat out err)"
expect_status 0 "$stackpack" pack --quiet app
[[ ! -s out && ! -s err ]] || fail "not quiet about a packed file: $(cat out err)"
expect_refusal 'missing: ' "$stackpack" pack --quiet missing
