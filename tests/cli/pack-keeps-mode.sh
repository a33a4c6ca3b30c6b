#!/bin/bash
# Permissions stay, also setuid and setgid, and of a file that is read-only; so does the owner, where root packs.
. "$TOP/tests/cli/common.sh"

make_program lld program list
for mode in 755 555 700 775 4755 2755 6755 1755; do
  cp program app
  chmod $mode app
  expect_status 0 "$stackpack" pack --always app
  [[ $(stat -c %a app) == "$mode" ]] || fail "mode $(stat -c %a app), not $mode, after packing in place"
  expect_packed app
  cp program raw
  chmod $mode raw
  rm -f packed
  (umask 077 && expect_status 0 "$stackpack" pack --always -o packed raw)
  [[ $(stat -c %a packed) == "$mode" ]] || fail "mode $(stat -c %a packed), not $mode, with -o"
  rm -f app raw
done

if [[ $(id -u) == 0 ]]; then
  cp program app
  chown 12345:23456 app
  chmod 6755 app
  expect_status 0 "$stackpack" pack --always app
  [[ $(stat -c '%u:%g %a' app) == "12345:23456 6755" ]] || fail "owner and mode: $(stat -c '%u:%g %a' app)"
fi
