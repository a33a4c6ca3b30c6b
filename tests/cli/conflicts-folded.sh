#!/bin/bash
# Functions of the same code and different live sets, folded to one (--icf=all): the right record is undecidable, so `pack`
# refuses; with --conflicts=omit these addresses lose their safepoints, as in a raw program at run time, and all else is
# unchanged. Objects that were split are free of such conflicts.
. "$TOP/tests/cli/common.sh"

# Both put their argument into a slot, and take it from there after the call: the one as a reference to an object that may have
# moved, the other as a number.
cat >twins.ll <<'IR'
declare void @collect()

define ptr addrspace(1) @one(ptr addrspace(1) %p) noinline gc "statepoint-example" {
  call void @collect()
  ret ptr addrspace(1) %p
}

define i64 @two(i64 %p) noinline gc "statepoint-example" {
  %slot = alloca i64
  store volatile i64 %p, ptr %slot
  call void @collect()
  %q = load volatile i64, ptr %slot
  ret i64 %q
}

define void @alike() noinline gc "statepoint-example" {
  call void @collect()
  call void @collect()
  ret void
}

define void @alike_too() noinline gc "statepoint-example" {
  call void @collect()
  call void @collect()
  ret void
}

define i64 @run(i64 %n) gc "statepoint-example" {
  %p = call ptr addrspace(1) @one(ptr addrspace(1) null)
  %q = call i64 @two(i64 0)
  call void @alike()
  call void @alike_too()
  ret i64 %n
}
IR
cat >main.c <<'C'
#include "stackpack.h"
#include <stdio.h>
#include <stdlib.h>
long run(long n);
void one(void);
void collect(void) {}
int main(int count, char **offsets) {
  static const char *const answers[] = {
      [STACKPACK_FOUND] = "found", [STACKPACK_NOT_SAFEPOINT] = "not a safepoint", [STACKPACK_NOT_MANAGED] = "not managed"};
  static struct stackpack_module modules[8];
  static struct stackpack_process process;
  struct stackpack_record record;
  if (run(5) != 5 || stackpack_process_open(&process, modules, 8) != STACKPACK_OK) return 1;
  for (int i = 1; i < count; i++)
    puts(answers[stackpack_find(&process, (uintptr_t)one + strtoul(offsets[i], NULL, 0), &record)]);
  stackpack_process_close(&process);
}
C
compile ./twins.ll twins.o -function-sections -relocation-model=pic
# shellcheck disable=SC2046 # a list of words
"$LLVM/bin/clang" -O1 -fPIE -I"$TOP/runtime" $(library_flags) -c main.c
mkdir split
expect_status 0 "$stackpack" split --output-directory=split twins.o

link() { # LINKER OUTPUT OBJECT
  # shellcheck disable=SC2046 # a list of words
  link_with "$1" "$2" main.o "$3" "$BUILD/libstackpack.a" $(library_flags) -Wl,--icf=all 2>log || { cat log; fail "can't link"; }
}

for linker in lld gold mold; do
  link $linker app twins.o
  [[ $(nm app | awk '$3 == "one" || $3 == "two" { print $1 }' | sort -u | wc -l) == 1 ]] || fail "$linker: not folded"
  cp app before
  expect_refusal "app: conflicting stack maps at 1 address, as at 0x[0-9a-f]+ of (one|two|one, two|two, one): the copies' records differ; .*stackpack split.*--conflicts=omit" \
    "$stackpack" pack --always app
  expect_same app before
  expect_status 0 "$stackpack" pack --always --conflicts=omit --report -o packed app
  expect_output '^app: 1 address with conflicting records is no safepoint$'
  expect_output '^  conflict at 0x[0-9a-f]+ (one|two): 0x[0-9a-f]+: '
  expect_status 0 "$stackpack" verify app packed
  dump_json packed >packed.json
  [[ $(wc -l <packed.json) == 6 ]] || fail "$linker: $(wc -l <packed.json) records, not two of alike, four of run"
  link $linker other split/twins.o
  expect_status 0 "$stackpack" pack --always other # no conflict
  [[ $(dump_json other | grep -cE '"function":"(one|two)"') == 2 ]] || fail "$linker: the records of split objects"
  offset=$(dump_json other | sed -n '/"function":"one"/p' |
    python3 -c 'import json, sys; record = json.loads(sys.stdin.readline()); print(record["address"] - record["function_address"])')
  for program in app packed; do
    expect_status 0 ./$program "$offset" 1 -64
    printf '%s\n' "not a safepoint" "not a safepoint" >expected
    head -n 2 out | diff expected - || fail "$linker $program: another answer"
  done
  expect_status 0 ./other "$offset"
  grep -qx found out || fail "$linker: no record of split objects"
done
