#!/bin/bash
# Tools that change a file after it was packed: for the build's machine, and in one cell for each of the others. `make check-tools`
# (CHECK_TOOLS=plain) tries more tools on the plain links of all machines, CHECK_TOOLS=all on every cell of the matrix; they write
# how many there were of each result to $BUILD/matrix-tools.md (see tests/MATRIX.md), and each result to $BUILD/matrix-tools.txt.
. "$TOP/tests/matrix/cells.sh"

rpath=/$(head -c 600 /dev/zero | tr '\0' a)
tools=("patchelf --set-rpath $rpath" "strip" "eu-strip" "objcopy --compress-debug-sections")
more_tools=("strip -g" "strip -x" "eu-strip -g" "eu-elfcompress -q" "$LLVM/bin/llvm-strip" "$LLVM/bin/llvm-strip -g" "$LLVM/bin/llvm-objcopy"
  "objcopy --add-section .added=$TOP/LICENSE" "objcopy --localize-hidden --strip-unneeded" "$LLVM/bin/llvm-objcopy --add-section .added=$TOP/LICENSE"
  "debugedit -b / -d /elsewhere -i" "dwz" "chrpath -r /a" "patchelf --add-needed libm.so.6" "patchelf --add-rpath /a --force-rpath"
  "patchelf --shrink-rpath" "patchelf --set-soname libmanaged.so" "$PWD/bolt")
cat >bolt <<BOLT
#!/bin/sh
"$LLVM/bin/llvm-bolt" "\$1" -o "\$1.bolt" --use-gnu-stack && mv "\$1.bolt" "\$1"
BOLT
chmod +x bolt

machines=("$(uname -m)")
variants=(plain)
programs=(many)
if [[ -n ${CHECK_TOOLS-} ]]; then
  for tool in "${more_tools[@]}"; do
    command -v "${tool%% *}" >which.log && tools+=("$tool")
  done
  [[ $CHECK_TOOLS != all ]] || variants=("${all_variants[@]}")
else
  kinds=(non-PIE PIE library)
  linkers=(lld bfd)
fi

: >results
for machine in "${machines[@]}" "${other_machines[@]}"; do
  if [[ $machine != "$(uname -m)" ]]; then
    can_run "$machine" || continue
    [[ -n ${CHECK_TOOLS-} ]] || { kinds=(PIE) linkers=(lld); }
  fi
  run_machine "$machine" >cells.md || { cat cells.md; exit 1; }
  sed "s/|/|$machine, /" "$machine"/tools.* >>results
done
while read -r tool; do
  awk -F'|' -v tool="$tool" '$1 == tool { count[substr($3, 1, 3) == "n/a" ? "n/a" : substr($3, 1, 4) == "FAIL" ? "FAIL" : $3]++; all++ }
    END { shown = tool; sub(/aaa+/, "aaa...", shown); sub(/^\/[^ ]*\//, "", shown); gsub(/FILE/, "app", shown); gsub(/=\/[^ ]*\//, "=", shown)
      printf "| `%s` | %d | %d | %d | %d | %d |\n", shown, all, count["ok"], count["told"], count["n/a"], count["FAIL"] }' results
done < <(printf '%s\n' "${tools[@]}") | tee table.md
if [[ -n ${CHECK_TOOLS-} ]]; then
  { printf '| tool | cells | as before | told | fails with the raw file, too | fails |\n|---|---|---|---|---|---|\n' && cat table.md; } >"$BUILD/matrix-tools.md"
  cp results "$BUILD/matrix-tools.txt"
fi
grep '|FAIL' results && fail "a tool and a packed file don't get along"
exit 0
