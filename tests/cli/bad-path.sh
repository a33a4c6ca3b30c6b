#!/bin/bash
# Every subcommand refuses missing files, folders and devices at once.
. "$TOP/tests/cli/common.sh"

make_program lld app list
mkdir folder
mkfifo pipe
for command in "pack" "pack -o out" "dump" "stats" "verify app"; do
  for file in missing folder no/such/folder app/file pipe /dev/null; do
    # shellcheck disable=SC2086 # a list of words
    expect_refusal "$file: " within 10 "$stackpack" $command $file
  done
done
[[ ! -e missing && -p pipe && -d folder && -c /dev/null ]] || fail "something was replaced"

# A named pipe that nobody reads yet: the command can be ended while it waits.
status=0
timeout -k 20 1 "$stackpack" pack --reader=elsewhere -o pipe app || status=$?
((status == 124)) || fail "exit status $status: a waiting command can't be ended"
