#!/bin/bash
# `--gc-sections` throws the stack maps away, as nothing refers to them: refused. Kept by a linker script they are all
# there, with the functions that they name.
. "$TOP/tests/cli/common.sh"

cat >keep.lds <<'LDS'
SECTIONS { .kept_maps : { KEEP(*(.llvm_stackmaps)) } } INSERT AFTER .rodata;
LDS
compile_main main.o -ffunction-sections
compile list list.o -function-sections
sed 's/@run/@unused/' "$samples/deopt.ll" >unused.ll
compile ./unused.ll unused.o -function-sections
for linker in lld bfd; do
  link_with $linker app main.o list.o unused.o -Wl,--gc-sections
  expect_refusal 'app: .*stack map' "$stackpack" pack app
  expect_status 0 "$stackpack" pack --if-present app

  link_with $linker kept main.o list.o unused.o -Wl,--gc-sections,-T,keep.lds
  expect_status 0 "$stackpack" pack --section .kept_maps -o packed kept
  expect_same_run kept packed
  dump_json kept --section .kept_maps >raw.json
  dump_json packed >packed.json
  expect_same raw.json packed.json
  [[ $(wc -l <packed.json) == 13 ]] || fail "$(wc -l <packed.json) records, not 13"
done
