#!/bin/bash
# Stack maps behind calls that look like statepoints keep their locations, in order; a line says that they are in doubt. A program, or
# the command line, lists the IDs of statepoints. The library answers alike for the raw and the packed program.
. "$TOP/tests/cli/common.sh"

cat >mixed.ll <<'LL'
declare void @collect()
declare void @llvm.experimental.stackmap(i64, i32, ...)
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
define i64 @maps(i64 %a, i64 %b) uwtable {
  call void @collect()
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 7, i32 0, i32 0, i32 0, i32 0, i64 %b, i64 %a, i64 %a, i64 %b, i64 %b, i64 %a)
  call void @collect()
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 8, i32 0, i32 0, i32 2, i32 0, i64 %a, i64 %b)
  %c = add i64 %a, %b
  ret i64 %c
}
define ptr addrspace(1) @managed(ptr addrspace(1) %a) uwtable gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 150, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0) ["gc-live"(ptr addrspace(1) %a)]
  %r = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %t, i32 0, i32 0)
  ret ptr addrspace(1) %r
}
define i64 @run(i64 %n) {
  %m = call i64 @maps(i64 %n, i64 %n)
  %p = call ptr addrspace(1) @managed(ptr addrspace(1) null)
  ret i64 %m
}
LL
cat >ids.c <<'C'
#include "stackpack.h"
STACKPACK_STATEPOINT_IDS(100, 199);
C
"$LLVM/bin/llc" -O2 -filetype=obj mixed.ll -o mixed.o
"$LLVM/bin/clang" -I"$TOP/runtime" -c ids.c
compile_main main.o
link_with lld app main.o mixed.o
"$LLVM/bin/llvm-objcopy" --globalize-symbol=__LLVM_StackMaps mixed.o kept.o
echo '{ local: __LLVM_StackMaps; };' >local.map
link_with bfd listed main.o kept.o ids.o -Wl,-s,--gc-sections,-u,__LLVM_StackMaps,--version-script=local.map

kinds() { # FILE [OPTION...]
  dump_json "$@" >dump.json
  python3 -c '
import json
for line in open("dump.json"):
    record = json.loads(line)
    print(record["id"], record["kind"], len(record.get("locations", record.get("gc", []))), end="; ")'
}
expect_kinds() { # KINDS FILE [OPTION...]
  local found
  found=$(kinds "${@:2}")
  [[ $found == "$1" ]] || fail "${*:2}: $found"
  expect_status 0 "$stackpack" pack --always --reader=elsewhere -o packed "${@:2}"
  found=$(kinds packed)
  [[ $found == "$1" ]] || fail "packed, ${*:2}: $found"
}

expect_kinds '7 stackmap 9; 8 stackmap 5; 150 statepoint 1; ' app
grep -q '^stackpack: app: warning: 2 records may be of a statepoint or of a stack map: ' err || fail "it says: $(<err)"
expect_kinds '7 stackmap 9; 8 stackmap 5; 150 statepoint 1; ' listed
[[ ! -s err ]] || fail "it is in doubt: $(<err)"
expect_kinds '7 statepoint 2; 8 stackmap 5; 150 stackmap 5; ' app --statepoints=7
expect_kinds '7 statepoint 2; 8 statepoint 1; 150 stackmap 5; ' listed --statepoints=0x8,5-7
for wrong in '7,' 9-8 -1 7-a 99999999999999999999; do
  expect_status 2 "$stackpack" pack --statepoints=$wrong app
done

# The library, with the raw program and the packed one.
[[ -n $(library_flags) ]] && exit
cat >ask.c <<'C'
#include <stdio.h>
#include <stackpack.h>
static void print(const struct stackpack_location *location) {
  printf(" %d %d %lld", location->kind, location->reg, (long long)location->value);
}
int main(int count, char **words) {
  struct stackpack_file file;
  struct stackpack_record record;
  struct stackpack_location location, derived;
  if (count < 2 || stackpack_file_open(&file, words[1]) != STACKPACK_OK)
    return 1;
  for (uint32_t i = 0; i < stackpack_table_records(&file.table); i++) {
    stackpack_table_record(&file.table, i, &record);
    printf("%d:", (int)record.kind);
    struct stackpack_pairs pairs = stackpack_pairs(&record);
    struct stackpack_locations locations = stackpack_locations(&record);
    while (stackpack_locations_next(&locations, &location))
      print(&location);
    while (stackpack_pairs_next(&pairs, &location, &derived)) {
      print(&location);
      print(&derived);
    }
    puts("");
  }
  return 0;
}
C
"$LLVM/bin/clang" -I"$TOP/runtime" -o ask ask.c "$BUILD/libstackpack.a"
for seed in {1..4}; do
  python3 "$TOP/tests/cli/random_mixed.py" "$seed" >random.ll
  "$LLVM/bin/llc" -O2 -filetype=obj random.ll -o random.o
  link_with lld "random$seed" main.o random.o
  link_with lld "listed$seed" main.o random.o ids.o
done
cat >check.py <<'PYTHON'
import json, sys

found = set()
for line in sys.stdin:
    record = json.loads(line)
    is_statepoint = record["kind"] == "statepoint"
    # Where the program lists the IDs, each record is as it was written. Else stack maps keep their order, and in frames
    # of a known size, statepoints are found.
    if record["id"] < 100:
        assert not is_statepoint or (sys.argv[1] == "random" and not record["gc"]), record
    elif sys.argv[1] == "listed" or record["frame_size"] is not None:
        assert is_statepoint, record
    found.add((is_statepoint, record["id"] < 100))
assert {(True, False), (False, True)} <= found
PYTHON
for kind in random listed; do
  for seed in {1..4}; do dump_json "$kind$seed"; done | python3 check.py $kind
done
for program in app listed {random,listed}{1..4}; do
  "$stackpack" pack --always --quiet --reader=elsewhere --conflicts=omit -o packed "$program"
  ./ask "$program" >raw.answers
  ./ask packed >packed.answers
  expect_same raw.answers packed.answers
  (($(wc -l <raw.answers) >= 3)) || fail "not all records"
done
