#!/bin/bash
# `--gc-sections` throws the stack maps away, as they are unreferenced: refused. Kept by a linker script they are all
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

# A program with the library, but without stack maps: the line names the cause.
cat >asks.c <<'C'
#include <stackpack.h>
static struct stackpack_module modules[1];
static struct stackpack_process process;
int main(void) { return stackpack_process_open(&process, modules, 1) == STACKPACK_OK; }
C
mapfile -t flags < <(library_flags)
compile list asked.o -function-sections
for linker in lld bfd; do
  link_with $linker asking asks.c asked.o -Wl,--gc-sections -I"$TOP/runtime" "${flags[@]}" "$BUILD/libstackpack.a"
  expect_refusal 'asking: no stack maps: no section .llvm_stackmaps; its collector asks for some: --gc-sections discards them, unless stackpack-ld links$' \
    "$stackpack" pack asking
done
link_with lld asking asks.c asked.o -Wl,--unresolved-symbols=ignore-all -I"$TOP/runtime" "${flags[@]}" "$BUILD/libstackpack.a"
expect_refusal 'asking: no stack maps: no section .maps$' "$stackpack" pack --section=.maps asking

# Other signs: a list of IDs, LLVM's poll, a reference that may stay undefined.
lost() { # SOURCE WORDS
  echo "$1" >sign.c
  link_with lld lost main.o asked.o -I"$TOP/runtime" sign.c -Wl,--gc-sections
  expect_refusal "lost: no stack maps: no section .llvm_stackmaps; $2: --gc-sections discards them" "$stackpack" pack lost
}
lost '#include <stackpack.h>
STACKPACK_STATEPOINT_IDS(1, 9);' 'a note lists IDs of statepoints'
lost '__attribute__((used, retain)) void poll(void) __asm__("gc.safepoint_poll"); void poll(void) {}' 'gc.safepoint_poll is for statepoints'
lost 'extern char __LLVM_StackMaps[] __attribute__((weak)); __attribute__((used, retain)) char *place = __LLVM_StackMaps;' 'a symbol is __LLVM_StackMaps'
