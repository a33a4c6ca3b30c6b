#!/bin/bash
# A shared library exports functions with statepoints, and the executable defines two of the same names. The library's
# relocations are symbolic, so its raw stack map then names the executable's functions; packed, it names its own.
. "$TOP/tests/cli/common.sh"

# The library calls the executable's sum and reverse. main gets the library's file, looks up each of its records in the process,
# and prints the answers as addresses in the file: RETURN_ADDRESS FUNCTION.
cat >other.c <<'C'
#include "stackpack.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

long run(long n);
long sum(void *list) { return list == NULL ? 0 : 7; }
void *reverse(void *list) { return list; }
void *allocate(long size) { static char heap[4096]; static long used; used += size; return heap + used - size; }
void collect(void) {}

int main(int argc, char **argv) {
  printf("run(3) = %ld\n", run(3));
  if (argc < 2)
    return 0;
  static struct stackpack_module modules[8];
  static struct stackpack_process process;
  struct stackpack_file file;
  Dl_info library;
  if (stackpack_process_open(&process, modules, 8) != STACKPACK_OK || stackpack_file_open(&file, argv[1]) != STACKPACK_OK)
    return 1;
  if (dladdr((void *)run, &library) == 0)
    return 2;
  const uintptr_t base = (uintptr_t)library.dli_fbase;
  struct stackpack_record record, found;
  for (unsigned i = 0; i < stackpack_table_records(&file.table); i++) {
    if (stackpack_table_record(&file.table, i, &record) != STACKPACK_FOUND ||
        stackpack_find(&process, base + record.address, &found) != STACKPACK_FOUND)
      return 3;
    printf("%#lx %#lx\n", (long)(found.address - base), (long)(stackpack_record_function(&found) - base));
  }
  return 0;
}
C

compile list list.o -relocation-model=pic
build_plain_library
"$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -I"$TOP" -O1 -fPIE -I"$TOP/runtime" -c other.c
for linker in lld bfd gold mold; do
  "$LLVM/bin/clang" -fuse-ld=$linker -Wl,--version >log 2>&1 || { echo "no linker $linker"; continue; }
  mkdir raw packed
  link_with $linker raw/liblist.so list.o -shared -Wl,-z,notext,-soname,liblist.so
  link_with $linker raw/app other.o plain/libstackpack.a raw/liblist.so -pie "-Wl,-rpath,\$ORIGIN" -ldl
  for name in sum reverse; do
    grep -qE " R_X86_64_64 .* $name \+ 0" <(readelf -rW raw/liblist.so) || fail "$linker: no symbolic relocation for $name"
    grep -q " T $name$" <(nm -D raw/app) || fail "$linker: $name isn't interposed"
  done
  cp raw/app packed
  expect_status 0 "$stackpack" pack --always -o packed/liblist.so raw/liblist.so
  expect_packed packed/liblist.so
  ! readelf -rW packed/liblist.so | grep ' R_X86_64_64 ' || fail "$linker: symbolic relocations are left"
  expect_same_run raw/app packed/app
  expect_status 0 "$stackpack" verify raw/liblist.so packed/liblist.so
  dump_json raw/liblist.so >raw.json
  dump_json packed/liblist.so >packed.json
  expect_same raw.json packed.json

  # Addresses belong to the library's own functions, in the file and in the process.
  nm --defined-only --print-size packed/liblist.so >symbols
  expect_records packed.json <<'PYTHON'
own = {line.split()[3]: line.split()[:2] for line in open("symbols") if len(line.split()) == 4}
assert {record["function"] for record in records} == {"cons", "numbers", "sum", "reverse", "run"}
for record in records:
    start, size = (int(number, 16) for number in own[record["function"]])
    assert record["function_address"] == start < record["address"] <= start + size
with open("expected", "w") as file:
    for record in records:
        print(hex(record["address"]), hex(record["function_address"]), file=file)
PYTHON
  for side in raw packed; do
    expect_status 0 $side/app $side/liblist.so
    tail -n +2 out >found
    expect_same expected found
  done
  rm -r raw packed
done
