#!/bin/bash
# `--section NAME` is for stack maps that a linker script or objcopy has put under another name. (merged.sh: as long as a
# file has its symbols, they are found all the same.)
. "$TOP/tests/cli/common.sh"

compile_main main.o
compile list list.o
objcopy --rename-section .llvm_stackmaps=.my_maps list.o
link_with lld app main.o list.o -s
has_section app .my_maps || fail "the sample has no section .my_maps"
cp app raw

expect_refusal 'app: .*stack map' "$stackpack" pack --always app
expect_refusal 'app: .*\.no_such' "$stackpack" pack --always --section .no_such app
expect_same app raw
expect_status 0 "$stackpack" pack --always --section .my_maps app
has_section app .stackpack || fail "no section .stackpack"
! has_section app .my_maps || fail "there still is a section .my_maps"
expect_same_run raw app

dump_json raw --section .my_maps >raw.json
dump_json app >packed.json
expect_same raw.json packed.json
[[ $(wc -l <raw.json) == 8 ]] || fail "$(wc -l <raw.json) records, not 8"
