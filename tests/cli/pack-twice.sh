#!/bin/bash
# Packing a packed file leaves it unchanged, says so, and succeeds, unless its table is damaged.
. "$TOP/tests/cli/common.sh"

make_program lld app list
expect_status 0 "$stackpack" pack --always app
cp -p app once
inode=$(stat -c %i app)
expect_status 0 "$stackpack" pack --always app
expect_output 'app: .*already'
expect_same app once
[[ $(stat -c %i app) == "$inode" ]] || fail "the file was written again"
expect_status 0 "$stackpack" pack --always --if-present app
expect_same app once

many_functions 40 >many.ll
make_program lld app ./many.ll
expect_status 0 "$stackpack" pack app
set_byte app $(($(section_offset app .stackpack) + $(section_size app .stackpack) - 100)) 255
cp app damaged
expect_refusal 'app: a broken packed table: its checksum differs' "$stackpack" pack --always app
expect_same app damaged

# A table whose checksums are right, but whose contents break: a table unreadable to `dump` or to look-ups is refused, too.
cp once sound
python3 - "$TOP/tests/oracle" "$(section_offset sound .stackpack)" "$(section_size sound .stackpack)" <<'PYTHON'
import os, struct, sys
sys.path.insert(0, sys.argv[1])
from packed_table import xxhash, header_checksum

start, size = int(sys.argv[2]), int(sys.argv[3])
whole = open("sound", "rb").read()
table = start + whole[start:start + size].index(struct.pack("<I", 0x4B505453))
header_size, = struct.unpack_from("<H", whole, table + 6)
length, = struct.unpack_from("<Q", whole, table + 16)
os.mkdir("broken")
for number, place in enumerate(range(header_size, length, max(1, (length - header_size) // 40))):
    own = bytearray(whole[table:table + length])
    own[place] ^= 0xff
    struct.pack_into("<Q", own, 24, xxhash(bytes(own[header_size:]), 64))
    struct.pack_into("<I", own, 8, header_checksum(bytes(own[:header_size])))
    with open(f"broken/{number}", "wb") as file:
        file.write(whole[:table] + own + whole[table + length:])
PYTHON
refused=0
for file in broken/*; do
  cp "$file" before
  status=0
  "$stackpack" dump "$file" >out 2>dump.err || status=$?
  ! grep -q 'checksum' dump.err || fail "$file: another checksum: $(<dump.err)"
  packed=0
  "$stackpack" pack --always "$file" >out 2>err || packed=$?
  [[ $status == 0 || $packed == 2 ]] || fail "$file: dump says $(<dump.err); pack: $(<out)"
  [[ $(cat out err | wc -l) == 1 ]] || fail "$file: not one line: $(cat out err)"
  expect_same before "$file"
  refused=$((refused + (packed == 2)))
done
echo "$refused of $(ls broken | wc -l) are refused"
((refused > 10)) || fail "too few tables are refused"
