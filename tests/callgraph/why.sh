#!/bin/bash
# The reason that `why` gives for keeping a record holds in the machine code: every step is an instruction that objdump shows
# at that address, with that target. In the semispace sample, and in Lua and CPython where the corpus is.
. "$TOP/tests/callgraph/common.sh"

check() { # FILE COUNT ENTRY...
  local file=$1 count=$2
  shift 2
  python3 "$TOP/tests/callgraph/why.py" "$file" "$count" "${SEED:-1}" "$@" >why.log 2>&1 || { cat why.log; fail "$file"; }
  cat why.log
}

for sample in semispace-raw semispace-O0-raw; do
  check "$BUILD/samples/$sample" $((15 * ${ROUNDS:-1})) heap_allocate
done
[[ -n ${CORPUS-} && -e $CORPUS/lua-objects.tar.zst && -e $CORPUS/python3.11.zst ]] || exit 0
tar --zstd -xf "$CORPUS/lua-objects.tar.zst"
link_with lld lua lua-objs/*.o -lm -ldl
check lua $((40 * ${ROUNDS:-1})) luaC_step luaC_fullgc
[[ $SAMPLING == all ]] || exit 0
zstd -dq "$CORPUS/python3.11.zst" -o python3.11
check python3.11 $((10 * ${ROUNDS:-1})) gc_collect_main
