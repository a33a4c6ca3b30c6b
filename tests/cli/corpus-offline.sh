#!/bin/bash
# Where source packages are out of reach, the corpus is skipped: that is said in one line, with a status of its own. Unknown
# names are refused.
. "$TOP/tests/cli/common.sh"

export STACKPACK_CORPUS=$PWD/corpus
http_proxy=http://127.0.0.1:1 https_proxy=http://127.0.0.1:1 expect_status 77 "$TOP/tests/corpus/build" lua-O2
only_line_matches '^corpus: .*(source|apt)' err || { cat err >&2; fail "not one clear line"; }
[[ ! -s out ]] || fail "$(<out)"
[[ -z $(find corpus -maxdepth 1 -type f) ]] || fail "there is a program"

expect_status 1 "$TOP/tests/corpus/build" emacs
only_line_matches "^corpus: unknown program 'emacs'" err || fail "$(<err)"
expect_status 1 "$TOP/tests/corpus/build" lua-O7
only_line_matches "^corpus: unknown variant 'O7'" err || fail "$(<err)"
expect_status 1 "$TOP/tests/corpus/build"
