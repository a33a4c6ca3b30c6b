# shellcheck shell=bash
# Compiles managed.c together with conventions.ll, for the machine of the arrays `clang` and `llc`; `here` is this folder.

# At an optimisation level, with references in callee-saved registers or in slots alone.
compile_references() { # OBJECT LEVEL [LLC OPTION...]
  local object=$1 level=$2 passes
  shift 2
  "${clang[@]}" -O"$level" -Xclang -disable-llvm-passes -Xclang -disable-O0-optnone -DMANAGED -S -emit-llvm \
    -o - "$here/managed.c" | awk -v leaves=native_touch -f "$TOP/samples/common/statepoints.awk" >managed.ll
  sed -i '/^declare .*@managed_/d' managed.ll
  sed "${conventions-}" "$here/conventions.ll" >>managed.ll
  case $level in
  0) passes='always-inline,function(sroa),rewrite-statepoints-for-gc' ;;
  *) passes='default<O2>,rewrite-statepoints-for-gc,function(dce)' ;;
  esac
  "$LLVM/bin/opt" -spp-rematerialization-threshold=0 -passes="$passes" managed.ll -o managed.bc
  "${llc[@]}" -O"$level" "$@" managed.bc -o "$object"
}
