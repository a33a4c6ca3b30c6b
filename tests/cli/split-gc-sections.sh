#!/bin/bash
# Objects that were split keep a function's stack maps if and only if the function is linked: with --gc-sections, the code
# equals a build's without stack maps, and the remaining maps equal the whole link's for these functions.
. "$TOP/tests/cli/common.sh"

compile_main main.o -ffunction-sections
many_functions 12 | sed 's/@f12(i64 %n)$/@f7(i64 %n)/; s/call i64 @f12(/call i64 @f7(/' >many.ll
sed 's/@run(/@unused_run(/; s/@f\([0-9]*\)(/@unused\1(/' many.ll >unused.ll
compile ./many.ll many.o -function-sections -relocation-model=pic
compile ./unused.ll unused.o -function-sections -relocation-model=pic
sed 's/@run(/@deopt_run(/' "$samples/deopt.ll" >deopt.ll # with constants
compile ./deopt.ll deopt.o -function-sections -relocation-model=pic
objects=(many.o unused.o deopt.o)
mkdir split bare
expect_status 0 "$stackpack" split --output-directory=split "${objects[@]}"
for object in "${objects[@]}"; do
  objcopy -R .llvm_stackmaps -R .rela.llvm_stackmaps $object bare/$object
done


for linker in lld bfd gold mold; do
  link_with $linker full main.o "${objects[@]}"
  link_with $linker bare.gc main.o bare/*.o -Wl,--gc-sections
  link_with $linker split.gc main.o split/*.o -Wl,--gc-sections
  [[ $(section_size split.gc .text) == "$(section_size bare.gc .text)" ]] || fail "$linker: more code than without stack maps"
  (($(section_size split.gc .text) < $(section_size full .text))) || fail "$linker: no function is left out"
  dump_json full >full.json
  dump_json split.gc >split.json
  nm split.gc | awk '$2 ~ /[tT]/ { print $3 }' >symbols
  count=$(python3 "$TOP/tests/cli/split_compare.py" full.json split.json symbols) || fail "$linker: other records"
  ((count == 11)) || fail "$linker: $count records, not 11"
done
pack_and_compare split.gc packed

# By default everything is unchanged.
link_with lld split.full main.o split/*.o
dump_json split.full >split.json
nm split.full | awk '$2 ~ /[tT]/ { print $3 }' >symbols
count=$(python3 "$TOP/tests/cli/split_compare.py" full.json split.json symbols)
[[ $count == "$(wc -l <full.json)" ]] || fail "$count records in the whole program"

# lld lists the maps that it leaves out: as many as functions that have some.
link_with lld split.gc main.o split/*.o -Wl,--gc-sections,--print-gc-sections >removed
[[ $(grep -c 'unused.o:(.llvm_stackmaps)' removed) == $(grep -cE 'unused.o:\(.text\.unused' removed) ]] || { cat removed; fail "other maps are left out than functions"; }

# A split object stays unchanged, also when another tool has written it.
for object in many.o deopt.o; do
  cp split/$object again.o
  expect_status 0 "$stackpack" split again.o
  expect_output 'nothing to split'
  expect_same split/$object again.o
  objcopy split/$object again.o
  expect_status 0 "$stackpack" split again.o
  expect_output 'nothing to split'
  "$LLVM/bin/llvm-objcopy" split/$object again.o
  expect_status 0 "$stackpack" split again.o
  expect_output 'nothing to split'
done

# `ld -r` puts the maps together again; they can be split again, and the link between them is gone.
for linker in ld.bfd "$LLVM/bin/ld.lld"; do
  $linker -r -o joined.o split/*.o
  expect_status 0 "$stackpack" split joined.o
  expect_output 'split into'
  link_with lld split.gc main.o joined.o -Wl,--gc-sections
  [[ $(section_size split.gc .text) == "$(section_size bare.gc .text)" ]] || fail "$linker -r: more code"
  dump_json split.gc >split.json
  nm split.gc | awk '$2 ~ /[tT]/ { print $3 }' >symbols
  count=$(python3 "$TOP/tests/cli/split_compare.py" full.json split.json symbols) || fail "$linker -r: other records"
  ((count == 11)) || fail "$linker -r: $count records, not 11"
done

# --emit-relocs leaves the relocations that hold the maps: they don't read them.
for linker in lld bfd; do
  link_with $linker kept main.o split/*.o -Wl,--emit-relocs
  pack_and_compare kept packed
done
