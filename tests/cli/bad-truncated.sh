#!/bin/bash
# The tool survives a file that is cut off anywhere, and leaves a refused one untouched.
. "$TOP/tests/cli/common.sh"

make_program lld app deopt
size=$(stat -c %s app)
for ((length = 65; length < size; length += size / 60)); do
  head -c $length app >part
  cp part before
  status=0
  "$stackpack" pack part >out 2>err || status=$?
  if ((status == 2)); then
    only_line_matches '^stackpack: part: ' err || fail "not one line at $length of $size bytes: $(<err)"
    expect_same part before
  else
    # Nothing is missing that matters.
    ((status == 0)) || fail "exit status $status at $length of $size bytes: $(<err)"
  fi
done
