#!/bin/bash
# An object with more sections than an ELF header can count after it was split, and before.
. "$TOP/tests/cli/common.sh"

PATH=$LLVM/bin:$PATH
awk 'BEGIN {
  print "declare void @collect()"
  for (i = 0; i < 16500; i++)
    printf "define void @f%d() noinline gc \"statepoint-example\" {\n  call void @collect()\n  ret void\n}\n", i
  print "define i64 @run(i64 %n) gc \"statepoint-example\" {\n  call void @f77()\n  call void @f16499()\n  ret i64 %n\n}"
}' >many.ll
opt -passes=rewrite-statepoints-for-gc many.ll -o many.bc
llc -O0 -function-sections -filetype=obj many.bc -o many.o
expect_status 0 "$stackpack" split -o split.o many.o
expect_output '16501 functions split into 16501 sections'
readelf --file-header split.o | grep 'Number of section headers: *0 (6[5-9]' >/dev/null || fail "too few sections"

# One section of maps is to be kept by itself: it is split again, the others stay.
cp split.o again.o
python3 - <<'PYTHON'
import struct
data = bytearray(open("again.o", "rb").read())
at = struct.unpack_from("<Q", data, 40)[0]
count = struct.unpack_from("<Q", data, at + 32)[0]
last = max(n for n in range(count) if struct.unpack_from("<IIQ", data, at + 64 * n)[1:] == (1, 3))
struct.pack_into("<Q", data, at + 64 * last + 8, 3 | 1 << 21)  # SHF_WRITE | SHF_ALLOC | SHF_GNU_RETAIN
open("again.o", "wb").write(data)
PYTHON
expect_status 0 "$stackpack" split again.o
expect_output ' 1 function split into 1 section'

cat >start.s <<'END'
.globl _start, collect
_start: call run@plt
collect: ret
.section .note.GNU-stack
END
llvm-mc -filetype=obj -triple x86_64-linux-gnu start.s -o start.o
for object in split.o again.o; do
  for linker in "$LLVM/bin/ld.lld" ld.bfd ld.gold mold; do
    $linker --gc-sections -o app start.o $object
    dump_json app >app.json
    expect_records app.json <<'PYTHON'
assert sorted(record["function"] for record in records) == ["f16499", "f77", "run", "run"]
PYTHON
    rm statements.py
    [[ $linker == *lld || $object == split.o ]] || break
  done
done
