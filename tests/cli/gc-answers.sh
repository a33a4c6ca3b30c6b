#!/bin/bash
# The runtime answers for a record that was dropped: not a safepoint. So the collector, absent from the promises, stops.
# Also where all records of a function are gone, and where the function's length is unknown.
. "$TOP/tests/cli/common.sh"

cat >ask.c <<'C'
#include "stackpack.h"
#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv) {
  static const char *const texts[] = {[STACKPACK_FOUND] = "found", [STACKPACK_NOT_MANAGED] = "not managed",
                                      [STACKPACK_NOT_SAFEPOINT] = "not a safepoint", [STACKPACK_CORRUPT] = "corrupt"};
  struct stackpack_file file;
  struct stackpack_record record;
  uint64_t address;
  if (argc != 2 || stackpack_file_open(&file, argv[1]) != STACKPACK_OK)
    return 1;
  while (scanf("%" SCNu64, &address) == 1)
    printf("%" PRIu64 " %s\n", address, texts[stackpack_table_find(&file.table, address, &record)]);
  stackpack_file_close(&file);
  return 0;
}
C
flags=() # the library may need the sanitizers
! nm "$BUILD/libstackpack.a" 2>/dev/null | grep __asan_init >/dev/null || flags=(-fsanitize=address,undefined)
"$CC" "${flags[@]}" -I"$TOP/runtime" ask.c "$BUILD/libstackpack.a" -o ask

addresses() { # FILE
  dump_json "$1" | sed -E 's/^\{"address":([0-9]+),.*/\1/'
}
make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie" lld
objcopy --remove-section=.eh_frame --remove-section=.eh_frame_hdr --wildcard --strip-symbol='managed_*' --strip-symbol=run app bare
for program in app bare; do
  expect_status 0 "$stackpack" pack --always --gc-entry=collect -o packed $program
  addresses $program | sort >all
  addresses packed | sort >left
  comm -23 all left >gone
  [[ -s gone && -s left ]] || fail "$program: some should be dropped, and some kept"
  ./ask packed <gone >answers
  [[ $(grep -c 'not a safepoint$' answers) == $(wc -l <gone) ]] || { cat answers >&2; fail "$program: other answers"; }
  ./ask packed <left >answers
  [[ $(grep -c ' found$' answers) == $(wc -l <left) ]] || { cat answers >&2; fail "$program: other answers"; }
done
