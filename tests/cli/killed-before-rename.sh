#!/bin/bash
# Killed at the very system calls that matter: when the new file is written, given its mode, made durable, and put in
# the old one's place.
. "$TOP/tests/cli/common.sh"

make_program lld raw list
expect_status 0 "$stackpack" pack -o packed raw
mkdir folder
killed=0
for calls in "write pwrite64 writev" "fchmod fchown" "fsync fdatasync" "rename renameat renameat2"; do
  cp raw folder/app
  ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 gdb --batch -nx -ex "catch syscall $calls" -ex run -ex kill \
    --args "$stackpack" pack --quiet folder/app >gdb.log 2>&1 || true
  if cmp -s folder/app raw; then
    killed=$((killed + 1))
  else
    expect_same folder/app packed # no such call was made
  fi
done
((killed > 0)) || { cat gdb.log; fail "none of the calls was caught"; }

# Left-over files are harmless.
cp raw folder/app
expect_status 0 "$stackpack" pack folder/app
expect_same folder/app packed
