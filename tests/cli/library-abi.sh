#!/bin/bash
# The shared library's binary interface is the one in tests/golden/libstackpack.abi, but for what was added. Where something was
# removed or changed on purpose, CHANGELOG says so, and `make abi` writes the file.
. "$TOP/tests/cli/common.sh"

[[ $(uname -m) == x86_64 ]] || { echo "the interface in the file is x86-64's"; exit 0; }
command -v abidiff >path || skip "no abidiff"
abi=$TOP/tests/golden/libstackpack.abi

compare() { # ABI
  abidiff --no-added-syms "$1" "$BUILD/libstackpack.so"
}
compare "$abi" || fail "the interface has changed: see above, and make abi"

# A function that is gone, and a structure of another size, are noticed.
sed 's/stackpack_table_find/stackpack_table_gone/' "$abi" >gone.abi
sed "/<class-decl name='stackpack_record'/s/size-in-bits='[0-9]*'/size-in-bits='128'/" "$abi" >size.abi
for broken in gone size; do
  expect_different "$abi" $broken.abi
  ! compare $broken.abi >log || fail "$broken: not noticed"
done
