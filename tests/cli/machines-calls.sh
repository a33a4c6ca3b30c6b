#!/bin/bash
# Whether a call may end at an address, for all instructions of a static program of each machine, compared with
# llvm-objdump: every call is found, and on machines whose code can be read backwards, calls alone.
. "$TOP/tests/matrix/cells.sh"

"$CC" -std=c17 -O1 -I"$TOP" -o ends_calls "$TOP"/tests/cli/machines/ends_calls.c "$TOP"/elf/machine*.c
calls='^(bl|blr|blra[ab]z?|call|callq)$|^jalr? ra,|^c\.jalr'
while read -r machine number most; do
  [[ $machine == x86_64 ]] || can_run "$machine" || skip "no cross compiler or emulator for $machine"
  choose_machine "$machine"
  compile_main main.o "${clang_options[@]}"
  compile list list.o "${llc_options[@]}"
  "$LLVM/bin/clang" "${clang_options[@]}" -Wno-unused-command-line-argument -fuse-ld=lld -static -o app main.o list.o
  [[ $machine == x86_64 ]] && aliases=() || aliases=(-M no-aliases)
  "$LLVM/bin/llvm-objdump" -d "${aliases[@]}" app |
    awk -F '\t' -v calls="$calls" '$1 ~ /^ *[0-9a-f]+:/ && $2 != "" {
      sub(/^ *[0-9a-f]+: /, "", $1)
      print $1, $2 ~ calls || ($2 " " $3) ~ calls ? "call" : "other"
    }' >instructions
  ./ends_calls "$number" <instructions >found || { cat found; fail "$machine: calls are missed"; }
  echo "$machine: $(cat found)"
  awk -v most="$most" '{ exit !($1 > 50000 && $6 <= $1 * most / 1000) }' found || fail "$machine: too few instructions, or too much is taken for a call"
  [[ $(grep -c ' call$' instructions) -gt 2000 ]] || fail "$machine: too few calls"
done <<'MACHINES'
x86_64 62 50
aarch64 183 0
riscv64 243 5
MACHINES
