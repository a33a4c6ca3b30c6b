#!/bin/bash
# A dump whose reader goes away ends silently, and one whose output fails with one message; a full disk gets a message.
. "$TOP/tests/cli/common.sh"

many_functions 300 >many.ll
make_program lld app ./many.ll
set +e
"$stackpack" dump --format=json app 2>err | head -n 1 >out
status=${PIPESTATUS[0]}
set -e
((status == 141 || status == 2 || status == 0)) || fail "exit status $status"
[[ $(wc -l <err) -le 1 ]] || fail "more than one line on stderr: $(<err)"

status=0
"$stackpack" dump --format=json app >/dev/full 2>err || status=$?
((status == 2)) && only_line_matches '^stackpack: ' err || fail "exit status $status with a full disk: $(<err)"
