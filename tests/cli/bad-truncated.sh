#!/bin/bash
# A section that ends inside a record is refused with the place. A file that is cut off anywhere never crashes the
# tool, and a refused one isn't touched.
. "$TOP/tests/cli/common.sh"

make_program lld app deopt
mkdir sections
python3 - <<'PYTHON'
from set_field import changed, field_place, get

with open("app", "rb") as file:
    data = file.read()
size = "section .llvm_stackmaps size"
for length in range(1, get(data, 0, field_place(data, size)), 13):
    with open(f"sections/{length}", "wb") as file:
        file.write(changed(data, size, str(length)))
PYTHON
for file in sections/*; do
  cp "$file" before
  expect_refusal "$file: .*([0-9]|truncated|ends)" "$stackpack" pack "$file"
  expect_same "$file" before
  expect_refusal "$file: " "$stackpack" dump "$file"
done

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
