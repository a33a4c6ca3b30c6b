#!/bin/bash
# A program with a single record, less than a page of stack maps, is packed as well: the section is smaller than a page to cut
# out, and the packed section and the program headers must still find a place.
. "$TOP/tests/cli/common.sh"

cat >one.ll <<'IR'
declare void @collect()
define i64 @run(i64 %n) gc "statepoint-example" {
  call void @collect()
  ret i64 %n
}
IR
for linker in lld bfd; do
  make_program $linker app ./one.ll
  pack_and_compare app packed
  [[ $(wc -l <packed.json) == 1 ]] || fail "$(wc -l <packed.json) records, not 1"
  # A page for the program headers; section headers, and their names.
  (($(stat -c %s packed) < $(stat -c %s app) + 2 * 4096)) || fail "the file grew by two pages"
done
