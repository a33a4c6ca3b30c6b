#!/bin/bash
# A program that is linked with the archive gets only the parts that it uses: at most 64 KB of text for look-ups in packed
# tables; at most 80 KB by modules, if the program leaves the reader of raw sections out; and at most 144 KB with that reader.
# Left out, the result is a specific error, rather than "no stack maps".
. "$TOP/tests/cli/common.sh"

! grep -q __asan_init <(nm "$BUILD/libstackpack.a" 2>/dev/null) || skip "sanitizers add text"

cat >opens.c <<'C'
#include "stackpack.h"
int main(int argc, char **argv) {
  struct stackpack_table table;
  struct stackpack_record record;
  struct stackpack_location base, derived;
  if (stackpack_table_open(&table, argv[0], (size_t)argc, 0) != STACKPACK_OK ||
      stackpack_table_find(&table, (uint64_t)argc, &record) != STACKPACK_FOUND)
    return 1;
  struct stackpack_pairs pairs = stackpack_pairs(&record);
  return stackpack_pairs_next(&pairs, &base, &derived);
}
C
cat >finds.c <<'C'
#include "stackpack.h"
#include <stdio.h>
#ifdef WITHOUT_RAW_READER
enum stackpack_error stackpack_raw_open(struct stackpack_table *table, const void *module, void **memory) {
  (void)table, (void)module, (void)memory;
  return STACKPACK_NO_RAW_READER;
}
#endif
void managed(void);
int main(void) {
  static struct stackpack_module modules[8];
  static struct stackpack_process process;
  struct stackpack_record record;
  const enum stackpack_error error = stackpack_process_open(&process, modules, 8);
  printf("%d", error == STACKPACK_NO_RAW_READER ? 1 : error == STACKPACK_OK ? 0 : 2);
  printf(" %d\n", stackpack_find(&process, (uintptr_t)managed + 1, &record) == STACKPACK_CORRUPT);
  return 0;
}
C
cat >managed.ll <<'LL'
target triple = "x86_64-unknown-linux-gnu"
declare void @llvm.experimental.stackmap(i64, i32, ...)
define void @managed() {
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 1, i32 0)
  ret void
}
LL
echo 'int main(void) { return 0; }' >empty.c
"$LLVM/bin/llc" -filetype=obj -relocation-model=pic managed.ll -o managed.o

# The text that the library adds, in bytes.
text() { size "$1" | awk 'NR == 2 { print $1 }'; }
added() { # MAXIMUM PROGRAM COMPILER-ARGUMENT...
  "$CC" -O2 -I"$TOP/runtime" -Wl,-z,notext "${@:3}" "$BUILD/libstackpack.a" -o "$2" 2>link.log || { cat link.log; fail "can't link"; }
  local bytes=$(($(text "$2") - $(text empty)))
  echo "$2: $bytes bytes of text"
  ((bytes <= $1)) || fail "$2: $bytes bytes, and not at most $1"
}
"$CC" -O2 empty.c -o empty
added 65536 packed opens.c
added 81920 packed-modules -DWITHOUT_RAW_READER finds.c managed.o
added 147456 raw-modules finds.c managed.o
[[ $(./raw-modules) == "0 0" ]] || fail "a raw module isn't read"
[[ $(./packed-modules) == "1 1" ]] || fail "a raw module is passed over without its reader"
