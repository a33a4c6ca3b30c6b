#!/bin/bash
# Check mode reports the frame where two walkers part. One goes by unwind tables; the other by a stack map with a wrong place of
# one reference.
. "$TOP/tests/cli/common.sh"
. "$TOP/tests/cli/unwind/common.sh"

# Copies a file with one number of its raw stack maps changed: `size`, of a function, or `slot`, of its last record with a
# spill slot.
cat >doctor.py <<'PYTHON'
import struct
import sys

source, target, what, start, offset = sys.argv[1:]
start, offset = int(start, 16), int(offset)
data = bytearray(open(source, "rb").read())
functions, constants, records = struct.unpack_from("<III", data, offset + 4)
at = offset + 16
record_at = at + 24 * functions + 8 * constants
done = False
for function in range(functions):
    address, size, count = struct.unpack_from("<QQQ", data, at + 24 * function)
    if address == start and what == "size":
        struct.pack_into("<Q", data, at + 24 * function + 8, size - 8)
        done = True
    for record in range(count):
        locations, = struct.unpack_from("<H", data, record_at + 14)
        for location in range(locations):
            place = record_at + 16 + 12 * location
            kind, = struct.unpack_from("<B", data, place)
            if address == start and what == "slot" and kind == 3:
                value, = struct.unpack_from("<i", data, place + 8)
                last = place, value
        record_at = (record_at + 16 + 12 * locations + 7) // 8 * 8
        live_outs, = struct.unpack_from("<H", data, record_at + 2)
        record_at = (record_at + 4 + 4 * live_outs + 7) // 8 * 8
    if address == start and what == "slot":
        struct.pack_into("<i", data, last[0] + 8, last[1] + 8)
        done = True
assert done
open(target, "wb").write(data)
PYTHON

compile_references managed.o 2
link_references raw
expect_status 0 ./raw unwinding raw
offset=$(section_offset raw .llvm_stackmaps)

read -r start size < <(nm -S raw | awk '$4 == "managed_compare" { print $1, $2 }')
expect_in_function() { # PC: it is in managed_compare
  (($1 > 16#$start && $1 <= 16#$start + 16#$size)) || fail "$1 isn't in managed_compare"
}

# A frame size that is too small is made good by the unwind tables.
python3 doctor.py raw wrong size "$start" "$offset"
for walker in unwinding mixed; do
  expect_status 0 ./raw $walker wrong
done

# A frame with one reference elsewhere. The frames before and after it are the same.
python3 doctor.py raw wrong slot "$start" "$offset"
for walker in unwinding mixed; do
  expect_status 1 ./raw $walker wrong
  pattern="^[0-9]+ managed frames are the same.*; then, of the frame with pc (0x[0-9a-f]+), stack pointer 0x[0-9a-f]+, "
  pattern+="by the first: a reference at 0x[0-9a-f]+ with its base at 0x[0-9a-f]+; "
  pattern+="by the second: (none that the other hasn't|a reference at 0x[0-9a-f]+ with its base at 0x[0-9a-f]+)$"
  pc=$(sed -nE "s/$pattern/\1/p" err)
  [[ -n $pc ]] || { cat err; fail "the difference isn't told"; }
  expect_in_function "$pc"
done
