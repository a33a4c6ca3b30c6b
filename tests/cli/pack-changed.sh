#!/bin/bash
# A program that is replaced or written to by others while it is packed, as by a build that goes on: their data stays.
. "$TOP/tests/cli/common.sh"

make_program lld app list
make_program bfd other list
expect_status 0 "$stackpack" pack --always --keep-raw=kept -o packed app

# The file is changed when COMMAND has written the new one, and gives it its mode.
changed_while() { # CHANGE COMMAND...
  local expected='exited with code 02'
  [[ $1 != pack_it ]] || expected='exited normally'
  ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 gdb --batch -nx -ex "catch syscall fchmod" -ex run -ex "shell bash $1.sh" -ex delete \
    -ex continue --args "${@:2}" >gdb.log 2>err || true
  grep -q "$expected" gdb.log || { cat gdb.log err >&2; fail "$1: it hasn't $expected"; }
  [[ $1 == pack_it ]] || grep -qE "^stackpack: app: it was changed in the meantime$" err || { cat err >&2; fail "that isn't said"; }
  expect_same app new
  [[ -z $(find . -name '.*stackpack*') ]] || fail "something is left"
}

echo "'$stackpack' pack --quiet --always app" >pack_it.sh
echo 'cp other next && mv next app' >replace.sh
echo 'cat other >app' >overwrite.sh
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

# Another one that did the same is harmless.
cp raw app
cp packed new
changed_while pack_it "$stackpack" pack --always app
