#!/bin/bash
# Stack maps in a writable section, as some compilers ask for to please linkers: among the data, perhaps with .bss
# after them in the same segment.
. "$TOP/tests/cli/common.sh"

many_functions 60 >many.ll
compile_main main.o
compile ./many.ll many.o
objcopy --set-section-flags .llvm_stackmaps=alloc,load,data many.o
for linker in lld bfd; do
  for options in "" "-Wl,-z,norelro" "-Wl,-z,now" "-static"; do
    # shellcheck disable=SC2086 # a list of words
    link_with $linker app $options main.o many.o
    expect_status 0 readelf --section-headers --wide app
    expect_output '\.llvm_stackmaps .* WA '
    pack_and_compare app packed
  done
done
