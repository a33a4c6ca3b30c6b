#!/bin/bash
# An unwritable OUT is refused, and named: in a missing folder, a folder itself, a device.
. "$TOP/tests/cli/common.sh"

make_program lld app list
cp app before
mkdir folder
expect_refusal 'no/such/out: ' "$stackpack" pack --always -o no/such/out app
expect_refusal 'folder: ' "$stackpack" pack --always -o folder app
expect_refusal 'app/out: ' "$stackpack" pack --always -o app/out app
expect_refusal '--output has an empty value; ' "$stackpack" pack --always -o '' app
long=$(printf '%0300d' 0)
expect_refusal "$long: " "$stackpack" pack --always -o "$long" app
if mknod full c 1 7 2>/dev/null && { true <full; } 2>/dev/null; then
  expect_refusal 'full: ' "$stackpack" pack --always -o full app
  [[ -c full ]] || fail "the device was replaced by a file"
  rm full
fi
expect_same app before
rmdir folder

# Files and sockets get no closed stream's number.
"$stackpack" report -o page app
mv page whole
"$stackpack" report -o page app <&- >&-
expect_same whole page
expect_status 2 bash -c '"$@" >&-' - "$stackpack" dump --source app
only_line_matches '^stackpack: standard output: ' err || { cat err; fail "another complaint"; }
rm page whole
[[ $(ls -A | sort | tr '\n' ' ') == "app app.o before err main.o out " ]] || fail "files were left: $(ls -A)"
