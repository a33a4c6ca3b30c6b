#!/bin/bash
# A function that several object files bring (linkonce_odr in a COMDAT group) is linked once, but every file's stack
# map names it: its records count once.
. "$TOP/tests/cli/common.sh"

cat >one.ll <<'IR'
$shared = comdat any
declare void @collect()

define linkonce_odr void @shared() noinline comdat gc "statepoint-example" {
  call void @collect()
  call void @collect()
  ret void
}

define i64 @run(i64 %n) gc "statepoint-example" {
  call void @shared()
  call void @collect()
  ret i64 %n
}
IR
sed 's/@run/@other/' one.ll >two.ll
compile_main main.o
compile ./one.ll one.o
compile ./two.ll two.o
for linker in lld bfd; do
  link_with $linker app main.o one.o two.o
  pack_and_compare app packed
  expect_records packed.json <<'PYTHON'
assert sorted(record["function"] for record in records) == ["other", "other", "run", "run", "shared", "shared"]
PYTHON
done
