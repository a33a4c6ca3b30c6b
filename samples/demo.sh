#!/bin/bash
# samples/demo.sh - shows what packing does to a program with a moving collector. Run by `make demo`.
set -euo pipefail
build=$1
stackpack=$build/stackpack
raw=$build/samples/semispace-raw
packed=$build/samples/demo
policy=samples/semispace/gc.policy

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() {
  printf '$ %s\n' "$*"
  "$@"
}

say "A C program with a copying collector, as the linker left it: its stack maps are LLVM's."
show "$stackpack" stats "$raw"

say "Packing it. What was written is read again and compared before the file is replaced."
cp "$raw" "$packed"
show "$stackpack" pack "$packed"
show "$stackpack" verify "$raw" "$packed"
show "$stackpack" stats "$packed"

say "The same, with the function named in which collections happen: records of calls that can't get there are dropped."
cp "$raw" "$packed"
show "$stackpack" pack --policy="$policy" --report "$packed"

say "What is in the table, for the first function that has derived references (<: derived from which slot):"
"$stackpack" dump --source "$packed" | awk '
  /^0x/ { if (found) done = 1; else text = "" }
  done { next } # to the end, or dump would write to a closed pipe
  { text = text $0 "\n" }
  / </ { found = 1 }
  END { printf "%s", text }'

say "Running it, with a collection at every allocation: the packed program, the raw one, and plain C without collector."
show "$packed" --stress --size 4 --statistics
"$raw" --stress --size 4 >"$build/samples/demo.raw"
"$packed" --stress --size 4 >"$build/samples/demo.packed"
"$build/samples/semispace-plain" --size 4 >"$build/samples/demo.plain"
cmp "$build/samples/demo.raw" "$build/samples/demo.packed"
cmp "$build/samples/demo.plain" "$build/samples/demo.packed"
echo "All three print the same."
