#!/bin/bash
# Calls between modules: an exported function of a shared library may be replaced by another module's, and one of
# another module may call back; neither if the user, or the linker, says so. A GC entry may be in another module.
. "$TOP/tests/cli/common.sh"

compile_managed "$gc/managed.c" managed.o -fPIC
"$LLVM/bin/clang" -O1 -fPIC -fno-semantic-interposition -I"$gc" -c "$gc/native.c" -o native.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o

# The runtime's functions are exported by the library that calls them.
link_with lld library.so -shared -Wl,-z,notext managed.o native.o
expect_verdict kept library.so managed_no_call --gc-entry=collect
expect_output 'no_call may call back any function'
expect_verdict dropped library.so managed_no_call --gc-entry=collect --no-gc=no_call
link_with lld bound.so -shared -Wl,-z,notext,-Bsymbolic managed.o native.o
expect_verdict dropped bound.so managed_no_call --gc-entry=collect
expect_verdict kept bound.so managed_by_chain --gc-entry=collect
expect_verdict kept bound.so managed_no_outside --gc-entry=collect # by the malloc of a program that loads it
expect_verdict dropped bound.so managed_no_outside --gc-entry=collect --malloc=libc

# The runtime in a library of its own: its code is unknown.
link_with lld runtime.so -shared native.o
for plt in "" -fno-plt; do
  # shellcheck disable=SC2086 # an option or none
  "$LLVM/bin/clang" -O1 -fPIE $plt -I"$gc" -c "$gc/native.c" -o unused.o
  link_with bfd app managed.o main.o ./runtime.so
  expect_verdict kept app managed_no_call --gc-entry=collect
  expect_verdict kept app managed_collect --gc-entry=collect
  expect_output 'managed_collect calls collect, a GC entry'
  expect_verdict dropped app managed_no_call --gc-entry=collect --no-gc='no_*'
  expect_verdict kept app managed_by_call --gc-entry=collect --no-gc='no_*'
  expect_status 0 "$stackpack" pack --gc-entry=collect --no-gc='no_*' --report -o packed app
  expect_same_run app packed
  expect_output '^ +[0-9]+  by_chain$'
done
