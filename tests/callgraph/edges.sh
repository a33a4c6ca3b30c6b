#!/bin/bash
# Each call and jump from one function to another that callgrind sees in a run is in the call graph: of a sample, and of Lua where the
# corpus is.
. "$TOP/tests/callgraph/common.sh"
command -v valgrind >/dev/null || skip "no valgrind"

check() { # FILE ARGUMENT...
  local file=$1
  shift
  valgrind --tool=callgrind --dump-instr=yes --compress-strings=no --compress-pos=no --callgrind-out-file=calls.out "./$file" "$@" \
    >run.out 2>run.err || { tail -n 5 run.err; fail "$file can't be run by valgrind"; }
  python3 "$TOP/tests/callgraph/edges.py" "$file" calls.out
}

if [[ -e $BUILD/samples/semispace-raw ]]; then # as in make check
  cp "$BUILD/samples/semispace-raw" sample
  check sample
fi
[[ -n ${CORPUS-} && -e $CORPUS/lua-objects.tar.zst ]] || exit 0
tar --zstd -xf "$CORPUS/lua-objects.tar.zst"
link_with lld lua lua-objs/*.o -lm -ldl -Wl,--strip-debug
check lua "$samples/exercise.lua"
