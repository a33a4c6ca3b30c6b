#!/bin/bash
# Programs for the other machines that read their raw stack maps themselves are refused, however their code names them;
# the others are packed. An option unsupported on these machines gets one line.
. "$TOP/tests/matrix/cells.sh"

cat >common.h <<'C'
#include <stdio.h>
#include <stdlib.h>
long run(long n);
void *allocate(long size) { return calloc(1, size); }
void collect(void) {}
C
for use in address byte field late none; do cp common.h $use.c; done
cat >>address.c <<'C'
extern const char __LLVM_StackMaps[] __attribute__((visibility("hidden")));
int main(void) { return printf("%ld %d\n", run(5), (int)((unsigned long)__LLVM_StackMaps % 8)) < 0; }
C
cat >>byte.c <<'C'
extern const char __LLVM_StackMaps[] __attribute__((visibility("hidden")));
int main(void) { return printf("%ld %d\n", run(5), __LLVM_StackMaps[0]) < 0; }
C
cat >>field.c <<'C'
extern const int __LLVM_StackMaps[] __attribute__((visibility("hidden")));
int main(void) { return printf("%ld %d\n", run(5), __LLVM_StackMaps[1]) < 0; }
C
cat >>late.c <<'C'
extern const char __LLVM_StackMaps[] __attribute__((visibility("hidden")));
int main(int count, char **words) {
  long sum = run(5);
  for (int i = 0; i < count; i++)
    sum += words[i][0] == 'x' ? __LLVM_StackMaps[8 + i] : run(i);
  return printf("%ld\n", sum) < 0;
}
C
cat >>none.c <<'C'
int main(void) { return printf("%ld\n", run(5)) < 0; }
C

check() { # MACHINE PROGRAM LEVEL LINK-OPTION...
  local clang=("$LLVM/bin/clang" "${clang_options[@]}" -Wno-unused-command-line-argument "$3") file=$1.$2
  "${clang[@]}" -fPIE -c -o main.o "$2.c"
  "${clang[@]}" -fuse-ld=lld "${@:4}" -o "$file" main.o "$1.o"
  if [[ $2 == none ]]; then
    expect_status 0 "$stackpack" pack --always -o packed "$file"
  else
    expect_refusal "$file: reads its raw stack maps itself \(__LLVM_StackMaps\), it seems: an instruction in .text" \
      "$stackpack" pack --always "$file"
  fi
}

for machine in "${other_machines[@]}"; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  choose_machine "$machine"
  compile list "$machine.o" "${llc_options[@]}" -relocation-model=pic
  "$LLVM/bin/llvm-objcopy" --globalize-symbol=__LLVM_StackMaps "$machine.o"
  for program in address byte field late none; do
    check "$machine" $program -O0 -no-pie
    check "$machine" $program -O2 -pie -Wl,-z,notext
    check "$machine" $program -O2 -no-pie -static
  done
  expect_status 0 "$stackpack" dump packed
  expect_output '\[sp\+'
  # Where they are writable, GCC's start-up code names their start, as the end of an empty table. (lld makes one instruction, and a
  # nop, of the two that have an address on AArch64.)
  "$LLVM/bin/llvm-objcopy" --set-section-flags .llvm_stackmaps=alloc,load,data "$machine.o"
  check "$machine" none -O2 -pie
  check "$machine" none -O2 -no-pie
done
