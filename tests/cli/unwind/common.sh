# shellcheck shell=bash
# What the tests of the unwinding walker share, after tests/cli/common.sh.

[[ -e $BUILD/libstackpack-unwind.a ]] || skip "no libunwind"
here=$TOP/tests/cli/unwind
flags=(-O2 -g -D_GNU_SOURCE -Wall -Wextra -fomit-frame-pointer -I"$here" -I"$TOP/runtime" -I"$TOP/runtime/unwind")
! nm "$BUILD/libstackpack.a" 2>/dev/null | grep __asan_init >/dev/null || flags+=(-fsanitize=address,undefined)
cxx=$(sed 's/gcc/g++/; s/^cc/c++/; s/clang/clang++/' <<<"$CC")

# Managed code: at an optimisation level, with references in callee-saved registers or not.
compile_references() { # OBJECT LEVEL [LLC OPTION...]
  local object=$1 level=$2 passes
  shift 2
  "$LLVM/bin/clang" -std=c17 -O"$level" -Xclang -disable-llvm-passes -Xclang -disable-O0-optnone -DMANAGED -S -emit-llvm \
    -o - "$here/managed.c" | awk -v leaves=native_touch -f "$TOP/samples/common/statepoints.awk" >managed.ll
  case $level in
  0) passes='function(sroa),rewrite-statepoints-for-gc' ;;
  *) passes='default<O2>,rewrite-statepoints-for-gc,function(dce)' ;;
  esac
  "$LLVM/bin/opt" -spp-rematerialization-threshold=0 -passes="$passes" managed.ll -o managed.bc
  "$LLVM/bin/llc" -O"$level" -relocation-model=static -filetype=obj "$@" managed.bc -o "$object"
}

"$CC" -std=c17 "${flags[@]}" -c "$here/collector.c" -o collector.o
# Its frames have no red zones of the address sanitizer, in which a walk that went astray may look for a return address.
"$cxx" "${flags[@]}" -fno-sanitize=all -c "$here/native.cc" -o native.o

link_references() { # PROGRAM [OPTION...]: from native.o, managed.o and collector.o
  "$cxx" "${flags[@]}" -no-pie -B"$LLVM/bin/" -fuse-ld=lld native.o managed.o collector.o "$BUILD/libstackpack-unwind.a" \
    "$BUILD/libstackpack.a" -lunwind-generic -o "$@"
}
