#!/bin/bash
# `stats` prints sizes and counts, of raw and of packed files.
. "$TOP/tests/cli/common.sh"

make_program lld app list
expect_status 0 "$stackpack" stats app
expect_output "\\b$(section_size app .llvm_stackmaps)\\b"
expect_output '\b8\b' # records
expect_output '\b5\b' # functions
expect_status 0 "$stackpack" pack --quiet app
expect_status 0 "$stackpack" stats app
expect_output "\\b$(section_size app .stackpack)\\b"
expect_output '\b8\b'
expect_output '\b5\b'
expect_refusal 'missing: ' "$stackpack" stats missing
