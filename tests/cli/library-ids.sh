#!/bin/bash
# The header's example of an array by ID finds the same records as `dump` prints, raw and packed: IDs of any size, one ID of
# several records, and IDs without a record. A list confirms the records nearest to an address.
. "$TOP/tests/cli/common.sh"

# The example's code: the indented lines after its function's first line, up to the last one, for a reader.
awk '/^\/\* Reads a record.s details\./ { inside = 1 }
  inside && /^ \*   \.\.\./ { exit }
  inside && sub(/^ \*   /, "")' "$TOP/runtime/stackpack.h" >by_id.inc
grep -q qsort by_id.inc || fail "the header has another example: $(<by_id.inc)"
mapfile -t flags < <(library_flags)
"$CC" -std=c17 -Wall -Wextra -Werror -g "${flags[@]}" -I. -I"$TOP/runtime" -o ids "$TOP/tests/cli/ids.c" "$BUILD/libstackpack.a" -lzstd

# Lines as ids prints them, of a dump.
list_ids() { # DUMP ID...
  python3 - "$@" <<'PYTHON'
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
for number in map(int, sys.argv[2:]):
    print(number, *(f"{a:x}" for a in sorted(r["address"] for r in records if r["id"] == number)))
PYTHON
}

expect_ids() { # FILE ID...
  dump_json "$1" >dump.json
  list_ids dump.json "${@:2}" >expected
  expect_status 0 ./ids "$@"
  expect_same expected out
}

make_program lld app patchpoints
sed 's/i64 4005,/i64 -1,/; s/i64 4006,/i64 4294967296,/; s/i64 4009,/i64 4008,/' "$samples/patchpoints.ll" >./wide.ll
make_program lld wide ./wide.ll
for program in app wide; do
  "$stackpack" pack --always -q -o $program.packed $program
  for file in $program $program.packed; do
    expect_ids "$file" 0 {4000..4010} 4294967296 2882400000 18446744073709551615
    grep -qE '^4003 [0-9a-f]+$' out || fail "$file has no record 4003"
  done
done
grep -qE '^18446744073709551615 [0-9a-f]+$' out || fail "no record with the largest ID"
grep -qE '^4008 [0-9a-f]+ [0-9a-f]+$' out || fail "no ID with two records"
