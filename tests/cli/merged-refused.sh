#!/bin/bash
# Stack maps among other data, unsafe to pack, are read, or refused in one line: with data between them,
# with a map that has lost its symbol, with a symbol outside of maps.
. "$TOP/tests/cli/common.sh"

compile_main main.o
compile list list.o
many_functions 20 | sed 's/@run(/@other_run(/' >many.ll
compile ./many.ll many.o
link_with lld whole main.o list.o many.o
dump_json whole | sed -E 's/,"(address|function_address)":[0-9]+//g; s/^\{"address":[0-9]+,//' | sort >whole.json

link_script() { # OUTPUT SCRIPT LINK ARGUMENT...
  echo "SECTIONS { $2 } INSERT BEFORE .eh_frame;" >merge.lds
  link_with bfd "$1" -Wl,-T,merge.lds "${@:3}" 2>link.log || { cat link.log; fail "can't link"; }
}

expect_all_records() { # FILE
  dump_json "$1" | sed -E 's/,"(address|function_address)":[0-9]+//g; s/^\{"address":[0-9]+,//' | sort >all.json
  expect_same whole.json all.json
}

refused() { # PATTERN FILE
  cp "$2" before
  expect_refusal "$2: $1" "$stackpack" pack "$2"
  expect_same "$2" before
}

# Data between, in one section; and several sections.
link_script app '.rodata : { *(.rodata) list.o(.llvm_stackmaps) LONG(5) LONG(6) many.o(.llvm_stackmaps) }' main.o list.o many.o
expect_all_records app
refused 'the stack maps are in 2 places, with other data between$' app
link_script app '.one : { list.o(.llvm_stackmaps) } .two : { many.o(.llvm_stackmaps) }' main.o list.o many.o
expect_all_records app
refused 'the stack maps are in 2 places, with other data between$' app
link_script app '.rodata : { *(.rodata) list.o(.llvm_stackmaps) }' main.o list.o many.o
has_section app .llvm_stackmaps || fail "no orphan section"
expect_all_records app
refused 'the stack maps are in 2 places, with other data between$' app

# Two sections of the same name.
link_script app '.one : { list.o(.llvm_stackmaps) } .two : { many.o(.llvm_stackmaps) }' main.o list.o many.o
objcopy --rename-section .one=.llvm_stackmaps --rename-section .two=.llvm_stackmaps app same
expect_all_records same
refused 'the stack maps are in 2 places, with other data between$' same
expect_status 0 "$stackpack" stats same
expect_output 'in 2 maps'

# A map without its symbol: one is global, the other one's is stripped off.
objcopy --globalize-symbol=__LLVM_StackMaps list.o list.global.o
link_script app '.rodata : { *(.rodata) list.global.o(.llvm_stackmaps) many.o(.llvm_stackmaps) LONG(9) }' main.o list.global.o many.o
expect_all_records app
strip -x app
refused 'a stack map without a symbol, after the one in \.rodata at 0x[0-9a-f]+$' app
expect_refusal 'app: a stack map without a symbol' "$stackpack" dump app

# A file that lacks all symbols hides its maps.
link_script app '.rodata : { *(.rodata) *(.llvm_stackmaps) LONG(9) }' main.o list.o many.o
strip app
refused 'no stack maps: no section \.llvm_stackmaps$' app

# An empty map's bytes after the last one may be data: they stay.
link_script app '.rodata : { *(.rodata) *(.llvm_stackmaps) LONG(3) LONG(0) LONG(0) LONG(0) }' main.o list.o many.o
expect_status 0 "$stackpack" pack -o packed app
expect_same_run app packed
expect_status 0 "$stackpack" verify app packed
objcopy -O binary --only-section=.rodata packed rodata
tail -c 16 rodata | od -An -v -t d4 -w16 | grep -qE '^ +3 +0 +0 +0$' || fail "the bytes after it are lost"

# A symbol outside of maps.
cat >wrong.c <<'C'
const int maps[] __asm__("__LLVM_StackMaps") __attribute__((section(".rodata"), used)) = {4, 2, 1, 0, 0, 0};
C
"$LLVM/bin/clang" -c wrong.c
link_with bfd app main.o list.o many.o wrong.o
refused 'stack maps are read in LLVM.s version 3 only \(version 4, or another format\), at __LLVM_StackMaps in \.rodata at 0x[0-9a-f]+$' app

# Relocations that the linker left are for a section as a whole.
link_script app '.rodata : { *(.rodata) *(.llvm_stackmaps) }' main.o list.o many.o -Wl,-q
refused '\.rela\.rodata has relocations of stack maps and of other data$' app
