# shellcheck shell=bash
# Shared functions of the unwinding walker's tests, after tests/cli/common.sh.

here=$TOP/tests/cli/unwind
flags=(-O2 -g -D_GNU_SOURCE -Wall -Wextra -fomit-frame-pointer -I"$here" -I"$TOP/runtime")
! nm "$BUILD/libstackpack.a" 2>/dev/null | grep __asan_init >/dev/null || flags+=(-fsanitize=address,undefined)
cxx=$(sed 's/gcc/g++/; s/^cc/c++/; s/clang/clang++/' <<<"$CC")

clang=("$LLVM/bin/clang" -std=c17)
llc=("$LLVM/bin/llc" -relocation-model=static -filetype=obj)
. "$here/references.sh"

"$CC" -std=c17 "${flags[@]}" -c "$here/collector.c" -o collector.o
# Its frames are free of the address sanitizer's red zones: a stray walk may look there for a return address.
"$cxx" "${flags[@]}" -fno-sanitize=all -c "$here/native.cc" -o native.o

link_references() { # PROGRAM [OPTION...]: from native.o, managed.o and collector.o
  "$cxx" "${flags[@]}" -no-pie -B"$LLVM/bin/" -fuse-ld=lld native.o managed.o collector.o \
    "$BUILD/libstackpack.a" -o "$@"
}
