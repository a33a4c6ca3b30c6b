#!/bin/bash
# Tools that change a file after it was packed. CHECK_TOOLS=all tries every cell of the matrix, and writes how
# many there were of each result to $BUILD/matrix-tools.md (see tests/MATRIX.md).
. "$TOP/tests/matrix/cells.sh"

rpath=/$(head -c 600 /dev/zero | tr '\0' a)
tools=("patchelf --set-rpath $rpath" "strip" "eu-strip" "objcopy --compress-debug-sections")
if [[ ${CHECK_TOOLS-} == all ]]; then
  for tool in "strip -g" "strip -x" "eu-strip -g" "eu-elfcompress -q" "$LLVM/bin/llvm-strip" "$LLVM/bin/llvm-strip -g" "$LLVM/bin/llvm-objcopy" \
    "objcopy --add-section .added=$TOP/LICENSE" "objcopy --localize-hidden --strip-unneeded" "$LLVM/bin/llvm-objcopy --add-section .added=$TOP/LICENSE" \
    "debugedit -b / -d /elsewhere -i" "dwz" "chrpath -r /a" "patchelf --add-needed libm.so.6" "patchelf --add-rpath /a --force-rpath" \
    "patchelf --shrink-rpath" "patchelf --clear-execstack" "patchelf --set-soname libmanaged.so"; do
    command -v "${tool%% *}" >which.log && tools+=("$tool")
  done
else
  kinds=(non-PIE PIE library)
  linkers=(lld bfd)
  variants=(plain)
  programs=(many)
fi

run_machine "$(uname -m)" >cells.md || { cat cells.md; exit 1; }
cat "$(uname -m)"/tools.* >results
while read -r tool; do
  awk -F'|' -v tool="$tool" '$1 == tool { count[substr($3, 1, 3) == "n/a" ? "n/a" : substr($3, 1, 4) == "FAIL" ? "FAIL" : $3]++; all++ }
    END { shown = tool; sub(/aaa+/, "aaa...", shown); sub(/^\/[^ ]*\//, "", shown); gsub(/FILE/, "app", shown); gsub(/=\/[^ ]*\//, "=", shown)
      printf "| `%s` | %d | %d | %d | %d |\n", shown, all, count["ok"], count["n/a"], count["FAIL"] }' results
done < <(printf '%s\n' "${tools[@]}") | tee table.md
grep '|FAIL' results && fail "a tool and a packed file don't get along"
if [[ ${CHECK_TOOLS-} == all ]]; then
  { printf '| tool | cells | as before | fails with the raw file, too | fails |\n|---|---|---|---|---|\n' && cat table.md; } >"$BUILD/matrix-tools.md"
  cp results "$BUILD/matrix-tools.txt"
fi
