#!/bin/bash
# Link-time optimisation: stackpack-ld refuses to lose the stack maps of bitcode, in a file or in an archive; an object that
# the linker made of it is split like any other.
. "$TOP/tests/cli/common.sh"

export PATH=$LLVM/bin:$PATH STACKPACK_OPTIONS=--always
unset STACKPACK_LD
compile_main main.o -ffunction-sections
layout=$(clang -S -emit-llvm -x c -o - /dev/null | grep '^target ')
{ echo "$layout"; cat "$samples/list.ll"; } >list.ll
sed -E 's/@(cons|numbers|sum|reverse|run)\(/@unused_\1(/' list.ll >unused.ll
for name in list unused; do opt -passes=rewrite-statepoints-for-gc $name.ll -o $name.o; done
llvm-ar rcs liblist.a list.o unused.o
link() { # ARGUMENT...
  expect_status "$1" clang --ld-path="$BUILD/stackpack-ld" -no-pie -o app main.o "${@:2}"
}
link 2 list.o -Wl,-gc-sections # linkers take long options with one dash, too
for inputs in "list.o unused.o" "-L. -llist" liblist.a; do
  # shellcheck disable=SC2086 # a list of words
  link 2 $inputs -Wl,--gc-sections
  grep -qE '^stackpack-ld: .*(list.o|liblist.a): bitcode, ' err || { cat err >&2; fail "$inputs: not refused"; }
  # shellcheck disable=SC2086
  link 0 $inputs
  expect_packed app
  dump_json app >whole.json
done
link 0 list.o -Wl,--gc-sections,--no-gc-sections
link 0 list.o -Wl,--gc-sections,-no-gc-sections
# Objects that have bitcode, too: one option makes lld take that.
if clang -O1 -flto -ffat-lto-objects -x ir -c -o fat.o list.o 2>/dev/null && ld.lld --help | grep -- --fat-lto-objects >/dev/null; then
  "$stackpack" split -q -o fat-split.o fat.o
  for input in fat.o fat-split.o; do
    link 2 $input -Wl,--gc-sections,--fat-lto-objects
    grep -qE "^stackpack-ld: $input: bitcode, " err || { cat err >&2; fail "$input: not refused"; }
    link 0 $input -Wl,--gc-sections,--fat-lto-objects,--no-fat-lto-objects
    expect_packed app
    link 0 $input -Wl,--fat-lto-objects
    expect_packed app
  done
  echo 'INPUT(fat-split.o)' >fat.ld # also where a linker script names one
  link 2 fat.ld -Wl,--gc-sections,--fat-lto-objects
  grep -qE "^stackpack-ld: fat.ld: it names fat-split.o, whose stack maps " err || { cat err >&2; fail "fat.ld: not refused"; }
  link 0 fat.ld -Wl,--gc-sections
  expect_packed app
fi
ld.lld -r -o all.o list.o unused.o
link 0 all.o -Wl,--gc-sections
expect_packed app
dump_json app >few.json
expect_records few.json <<'PYTHON'
assert {record["function"] for record in records} == {"cons", "numbers", "reverse", "run", "sum"}
PYTHON
run ./app >printed
