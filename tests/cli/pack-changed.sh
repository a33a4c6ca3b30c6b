#!/bin/bash
# A program that is replaced or written to by others while it is packed, as by a build that goes on: what they wrote stays.
. "$TOP/tests/cli/common.sh"

make_program lld app list
make_program bfd other list
expect_status 0 "$stackpack" pack --always --keep-raw=kept -o packed app

# COMMAND says what it did before it replaces the file. Its output is a pipe that is full, so it waits there, and the
# file is changed; then the pipe is read.
changed_while() { # CHANGE COMMAND...
  local status=0 expected=2
  [[ $1 != pack_it ]] || expected=0
  mkfifo pipe
  { until [[ -e go ]]; do sleep 0.1; done; cat >/dev/null; } <pipe &
  {
    head -c 65536 /dev/zero
    exec "${@:2}" 2>err
  } >pipe &
  local command=$!
  until [[ $(readlink /proc/$command/exe) == */stackpack && $(cut -d ' ' -f 1 /proc/$command/syscall) == 1 ]]; do sleep 0.1; done
  $1
  : >go
  wait $command || status=$?
  wait
  rm pipe go
  [[ $status == $expected ]] || fail "exit status $status, not $expected"
  ((status == 0)) || grep -qE "^stackpack: app: it was changed in the meantime$" err || { cat err >&2; fail "that isn't said"; }
  expect_same app new
  [[ -z $(find . -name '.*stackpack*') ]] || fail "something is left"
}

pack_it() { "$stackpack" pack --quiet --always app; }
replace() { cp other next && mv next app; }
overwrite() { cat other >app; }
cp app raw
cp other new
for change in replace overwrite; do
  cp raw app
  changed_while $change "$stackpack" pack --always app
  cp raw app
  changed_while $change "$stackpack" pack --always --keep-raw=other.kept app
  [[ ! -e other.kept ]] || fail "raw stack maps were kept"
  cp packed app
  changed_while $change "$stackpack" unpack --raw=kept app
done

# Another one that did the same is no obstacle.
cp raw app
cp packed new
changed_while pack_it "$stackpack" pack --always app
