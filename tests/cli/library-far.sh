#!/bin/bash
# A position-dependent program may have segments far apart, and libraries between them: each look-up finds its
# module, and the library alone is forgotten.
. "$TOP/tests/cli/common.sh"

read -ra flags <<<"$(library_flags)"
many_functions 9 >many.ll
compile ./many.ll many.o -relocation-model=pic
link_with lld lib.so -shared -Wl,-z,notext many.o
sed -E 's/@(cons|numbers|sum|run)\b/@own_\1/g' "$samples/list.ll" >list.ll
compile ./list.ll list.o
"$CC" -no-pie -fno-pie -O1 -mcmodel=large -rdynamic "${flags[@]}" -I"$TOP/runtime" -Wl,--section-start=far_section=0x700000000000 \
  -o far "$TOP/tests/cli/far.c" list.o "$BUILD/libstackpack.a" -ldl -lpthread 2>log || skip "no code for far data: $(head -n 1 log)"
[[ $(./far ./lib.so | tail -n 4 | paste -sd ' ') == "8 91 8 0" ]] || fail "$(./far ./lib.so)"
# For an unlimited stack, Linux maps libraries from a third of the address space on.
(ulimit -s unlimited && ./far ./lib.so) >out 2>&1 || skip "$(<out)"
[[ $(head -n 1 out) == between ]] || skip "the library isn't between the program's segments"
[[ $(tail -n 4 out | paste -sd ' ') == "8 91 8 0" ]] || fail "$(<out)"
