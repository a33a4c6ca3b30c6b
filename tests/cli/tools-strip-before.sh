#!/bin/bash
# A program that is stripped before it is packed lacks names, but has the same records.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  make_program $linker app list
  expect_status 0 "$stackpack" pack -o packed app
  dump_without_names packed >packed.json
  for strip in strip eu-strip "$LLVM/bin/llvm-strip"; do
    cp app stripped
    "$strip" stripped
    expect_status 0 "$stackpack" pack stripped
    expect_same_run app stripped
    dump_json stripped >stripped.json
    expect_same packed.json stripped.json
  done
done

# strip -R renumbers sections, but not those of dynamic symbols: a variable seems to be in the stack maps behind it.
many_functions 6 >few.ll
compile ./few.ll few.o -relocation-model=pic
"$LLVM/bin/llvm-objcopy" --set-section-flags .llvm_stackmaps=alloc,load,data few.o
echo 'char before[3] = {1}; const int constant = 2; int zero; __thread int local = 3;' >variables.c
"$CC" -O1 -fPIC -c variables.c
for linker in lld bfd gold mold; do
  choose_driver $linker
  "${driver[@]}" -shared -Wl,--build-id variables.o few.o -o library.so
  strip -R .note.gnu.build-id library.so
  expect_status 0 "$stackpack" pack --always --reader=elsewhere -o packed.so library.so
  expect_same <(nm -D library.so) <(nm -D packed.so)
done
