#!/bin/bash
# samples/demo.sh BUILD - shows what packing does to a real program, and a moving collector at work. Run by `make demo`.
#
# The program is Lua, built from the distribution's source package with a statepoint for each call (tests/corpus). Without
# source packages, it is the sample semispace, too small for its file to shrink by much.
set -euo pipefail
build=$1
stackpack=$build/stackpack
samples=$build/samples
raw=$build/corpus/lua-O2
entries=(--gc-entry=luaC_step --gc-entry=luaC_fullgc)
function=luaH_resize
options=(--reader=elsewhere) # Lua has its own collector, and nothing to read packed stack maps
script='local t = {} for i = 1, 1e5 do t[i] = {i} end collectgarbage() print(#t, t[#t][1])'

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() {
  printf '$ %s\n' "$*"
  "$@"
}

say "Building Lua with stack maps (the first time: its source package, and about half a minute)"
if ! STACKPACK_CORPUS=$build/corpus tests/corpus/build lua-O2; then
  echo "Without Lua: the sample semispace takes its place."
  raw=$samples/semispace-raw entries=(--policy=samples/semispace/gc.policy) function=list_copy script= options=(--always)
fi
app=$samples/demo
cp "$raw" "$app"

say "How large are the stack maps that LLVM left in it?"
show "$stackpack" stats --top=5 "$app"

say "Packing it. What was written is read again and compared before the file is replaced."
show "$stackpack" pack "${options[@]}" "${entries[@]}" "$app"
show "$stackpack" verify "${entries[@]}" "$raw" "$app"

say "How large are they now?"
show ls -l "$raw" "$app"
show "$stackpack" stats --top=0 "$app"

say "What does a collector learn of one function? (* a reference, <+8 one derived from that in the slot at +8)"
show "$stackpack" dump --function="$function" "$app"

if [[ -n $script ]]; then
  say "It runs as before:"
  show "$app" -e "$script"
fi

say "A program with a moving collector, which finds its roots by packed stack maps, with a collection at every allocation:"
show "$samples/semispace" --stress --size 4 --statistics
"$samples/semispace-plain" --size 4 >"$samples/demo.plain"
"$samples/semispace" --stress --size 4 >"$samples/demo.packed"
cmp "$samples/demo.plain" "$samples/demo.packed"
echo "It prints what the same program prints without a collector."

say "What takes the space, as a page for a browser:"
show "$stackpack" report "${entries[@]}" -o "$build/demo.html" "$raw"
