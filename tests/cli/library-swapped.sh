#!/bin/bash
# A look-up of an address whose library stays finds it, though another library makes place for a smaller one meanwhile, in
# the same slot of the list of modules: at each instruction of the look-up.
. "$TOP/tests/cli/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "instructions are traced on x86-64"
read -ra flags <<<"$(library_flags)"
many_functions 60 >many.ll
compile ./many.ll many.o -relocation-model=pic
compile list list.o -relocation-model=pic
echo 'char room[1 << 24];' >room.c
"$LLVM/bin/clang" -fPIC -c room.c
link_with lld place.so -shared -Wl,-z,notext list.o
link_with lld kept.so -shared -Wl,-z,notext many.o
link_with lld small.so -shared -Wl,-z,notext many.o
link_with lld large.so -shared -Wl,-z,notext many.o room.o
for library in place kept small large; do expect_status 0 "$stackpack" pack --always $library.so; done
echo 'void *allocate(long size) { (void)size; return 0; } void collect(void) {}' >symbols.c
"$CC" -O1 -rdynamic "${flags[@]}" -D_GNU_SOURCE -I"$TOP/runtime" -o swapped "$TOP/tests/cli/swapped.c" symbols.c \
  "$BUILD/libstackpack.a" -ldl -lpthread
status=0
./swapped ./place.so ./kept.so ./large.so ./small.so >out 2>&1 || status=$?
((status != 77)) || skip "$(<out)"
((status == 0)) || fail "$(<out)"
