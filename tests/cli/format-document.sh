#!/bin/bash
# format/FORMAT.md says all that a reader must know: a decoder that was written from it reads `pack`'s tables as `dump` does,
# gives the right answers, and reads the document's own example.
. "$TOP/tests/cli/common.sh"

decode() { # ARGUMENT...
  python3 "$TOP/tests/oracle/packed_decoder.py" "$@"
}

# Packs a program; the decoder must find the records of a dump, and the answers that follow from them.
expect_decoded() { # RAW
  expect_status 0 "$stackpack" pack --always --conflicts=omit -o packed "$1"
  expect_status 0 decode --compare="$stackpack" --check-look-ups=100 packed
  cat out
  cp packed "packed.$((++packed_count))"
}
packed_count=0

# ---- Random programs -----------------------------------------------------------------------------------
while read -r seed records; do
  sampled 2 || continue
  "$BUILD/tests/oracle/random_program" "$seed" "$records" random
  expect_decoded random
done <<'END'
7 5000
31 5
36 700
16 700
29 300
1 60
END

# ---- Functions of few locations, and of very many -------------------------------------------------------
PYTHONPATH=$TOP/tests/oracle python3 - wide <<'END'
import random, sys
from elf_writer import ALLOC, EXECUTABLE, Function, Record, Section, Symbol, constant, encode_submap, spill_slot, write_executable

TEXT = 0x401000
source = random.Random(1)

def record(number, slots, step):
    """One slot in ten is derived, and has another slot as its base."""
    pairs = []
    for slot in source.sample(range(slots), max(1, slots - 9)):
        base = source.randrange(slots) if slot % 10 == 0 else slot
        pairs += [spill_slot(step * base), spill_slot(step * slot)]
    return Record(number, 16 * number + 5, [constant(0)] * 3 + pairs)

wide = (4096, 8), (4097, 8), (6000, 16)
functions = [Function(TEXT, 8, [Record(0, 0, [constant(0)] * 3)])]  # its record is at its first byte: in no run
functions += [
    Function(TEXT + 64 * place, 16 * place + 8, [record(number, slots, step) for number in range(3)])
    for place, (slots, step) in enumerate(wide + 60 * ((2, 8),), 1)
]
symbols = [Symbol(f"f{place}", function.address, 64) for place, function in enumerate(functions)]
text = Section(".text", b"\x90" * 64 * (len(functions) + 1), flags=ALLOC | EXECUTABLE, address=TEXT)
maps = Section(".llvm_stackmaps", encode_submap(functions), flags=ALLOC, address=TEXT + 0x10000)
with open(sys.argv[1], "wb") as program:
    program.write(write_executable([text, maps], symbols, TEXT))
END
expect_decoded wide

# ---- Real ones -----------------------------------------------------------------------------------------
for sample in list deopt pairs frames patchpoints; do
  make_program lld $sample $sample
  expect_decoded $sample
done
many_functions 600 >many.ll
make_program bfd many ./many.ll
expect_decoded many

# Frames with more facts after a call than before it: that a register is saved, or lost; and fewer, by an unsupported rule.
# Arguments are pushed for a call.
cat >shapes.ll <<'END'
declare void @collect()

define void @saved() gc "statepoint-example" {
  call void @collect()
  call void asm sideeffect ".cfi_rel_offset 3, 0", ""() "gc-leaf-function"
  call void @collect()
  ret void
}

define void @lost() gc "statepoint-example" {
  call void asm sideeffect ".cfi_undefined 3", ""() "gc-leaf-function"
  call void @collect()
  ret void
}

define void @unknown() gc "statepoint-example" {
  call void @collect()
  call void asm sideeffect ".cfi_escape 0x0f, 3, 0x77, 8, 6", ""() "gc-leaf-function"
  call void @collect()
  ret void
}

define void @pushes(i64 %a, i64, i64, i64, i64, i64, i64, i64) gc "statepoint-example" {
  call void @pushes(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 %a, i64 8)
  call void @collect()
  ret void
}

define void @run(i64 %a) gc "statepoint-example" {
  call void @pushes(i64 %a, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  call void @saved()
  call void @lost()
  call void @unknown()
  ret void
}
END
make_program lld shapes ./shapes.ll
expect_decoded shapes
# The same for AArch64, with return addresses that are signed.
sed '/asm sideeffect/d; s/ gc "statepoint/ "sign-return-address"="all"&/' shapes.ll >signed.ll
compile ./signed.ll signed.o -mtriple=aarch64-linux-gnu -relocation-model=pic
"$LLVM/bin/ld.lld" -shared -z notext -o signed signed.o
expect_decoded signed

# All of these files had the rare forms: leaves without records, with full buckets, without a function's start; numbers of
# several bytes where one is enough elsewhere; gaps, functions of no length, exceptions; layouts that serve several
# functions, of one, some and many groups, with long heads, of scattered locations, with one and with several assignments of
# bases; lists; several blocks of details; frames of other shapes than the first three, with
# registers that are lost, with return addresses that are signed; frames that are unknown, larger than their function's, or of
# another shape.
PYTHONPATH=$TOP/tests/oracle python3 - packed.* <<'END'
import collections, sys
import packed_table

seen = collections.Counter()
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        table = packed_table.Table(*packed_table.find_table(file.read()))
    decoded, header = packed_table.Decoded(table), table.header
    seen["blocks of details"] += packed_table.read_details_header(table).block_count > 1
    seen["lows of one byte" if table.low_bytes == 1 else "larger lows"] += 1
    seen["starts of one byte" if table.start_bytes == 1 else "larger starts"] += 1
    seen["exceptions"] += len(table.exceptions)
    starts = [stretch.start for stretch in decoded.stretches] + [header.text_size]
    seen["no length"] += sum(start == end for start, end in zip(starts, starts[1:]))
    for leaf in (packed_table.Leaf(table, number) for number in range(table.leaf_count)):
        seen["empty"] += leaf.count == 0
        seen["full"] += leaf.full
        seen["no function starts"] += leaf.stretch_count == 0
    uses = collections.Counter(stretch.layout for stretch in decoded.stretches)
    seen["gaps"] += uses[None]
    for start, layout in decoded.layouts.items():
        seen["shared" if uses[start] > 1 else "own"] += 1
        seen["one group" if len(layout.groups) == 1 else "some groups" if len(layout.groups) < 9 else "many groups"] += 1
        for group in layout.groups:
            seen["long heads"] += group.is_long
            seen["scattered"] += group.is_scattered
            seen["plain slots only"] += group.derived == 0
            seen["one assignment" if group.assignments == 1 else "some assignments"] += group.derived > 0
    seen["lists"] += len(table.list_starts)
    if table.frames is not None:
        seen["other shapes"] += table.frames.header.others
        seen["lost registers"] += sum(shape is not None and shape.lost != 0 for shape in table.frames.shapes)
        seen["signed return addresses"] += sum(shape is not None and shape.is_signed for shape in table.frames.shapes)
        seen["unknown frames"] += sum(record.frame.shape is None for record in decoded.records)
        for shape, extra in map(table.frames.exception, range(header.records)):
            seen["records' own shapes"] += shape is not None
            seen["larger frames"] += extra > 0
print(dict(seen))
assert len(+seen) == 28, "not everything that is rare"
END

# ---- The decoder sees differences, and refuses broken tables ----------------------------------------
# Its reference: a dump with one difference, of a frame, and look-ups with one, of a record's address.
cat >other-stackpack <<END
#!/bin/bash
if [[ \$1 == dump ]]; then
  "$stackpack" "\$@" | sed '7s/"cfa_offset":[0-9]*,/"cfa_offset":1,/'
else
  "$stackpack" "\$@" | sed '7s/"offset":[0-9]*,"frame_size"/"offset":1,"frame_size"/'
fi
END
chmod +x other-stackpack
expect_status 1 decode --compare=./other-stackpack packed
expect_output '^2 differences$'
expect_output '^dump, line 7:$'
expect_output '^lookup, line 7:$'

offset=$(section_offset packed .stackpack)
header_size=$(od -An -tu1 -j $((offset + 6)) -N 1 packed)
# magic number, versions, sizes of the header, checksum, records, directory
for change in "0 0" "4 9" "4 11" "6 40" "6 $((header_size + 8))" "6 255" "8 1" "56 255" "$header_size 255"; do
  read -r byte value <<<"$change"
  cp packed damaged
  set_byte damaged $((offset + byte)) "$value"
  expect_status 2 decode damaged
  [[ ! -s out ]] || fail "records from a damaged table"
done
# For all bytes the answer is an error or a table, and the decoder itself stays whole. It is `dump`'s answer: `dump` refuses the
# same tables, and reads the same from the others.
PYTHONPATH=$TOP/tests/oracle python3 - "$stackpack" packed.* <<'END'
import collections, os, random, struct, subprocess, sys
import packed_decoder, packed_table
from packed_table import Unusable

source, seen = random.Random(1), collections.Counter()

def flip_a_bit(table, header):
    """In the header or in one of the parts. Both checksums are right afterwards."""
    damaged, start = bytearray(table), header.header_size
    ranges = [(32, start)]
    for _, size in struct.iter_unpack("<II", table[packed_table.HEADER.size : start]):
        ranges.append((start, start + size))
        start += size
    damaged[source.randrange(*source.choice(ranges))] ^= 1 << source.randrange(8)
    damaged[24:32] = struct.pack("<Q", packed_table.xxhash(bytes(damaged[header.header_size :]), 64))
    damaged[8:12] = struct.pack("<I", packed_table.header_checksum(bytes(damaged[: header.header_size])))
    return bytes(damaged)

def answer(read):
    """The lines that are read; None: the table is refused."""
    try:
        return {packed_decoder.as_line(line) for line in read()}
    except Unusable:
        return None

def look_up(table, place):
    look_up = packed_table.LookUp(packed_table.Table(table, *place))
    look_up.answer(look_up.table.text_address(source.randrange(look_up.table.header.text_size + 1)))
    return []

def decode(table, place):
    return packed_decoder.dump(packed_table.Decoded(packed_table.Table(table, *place)))

def dump():
    command = sys.argv[1], "dump", "--format=json", "damaged"
    return packed_decoder.run_stackpack(*command, stderr=subprocess.DEVNULL)

files = []
for path in sys.argv[2:]:
    with open(path, "rb") as file:
        data = file.read()
    table, *place = packed_table.find_table(data)
    header = packed_table.read_header(table)
    if header.size < 10000:
        files.append((data, table[: header.size], place, header))

for number in range(150 if os.environ["SAMPLING"] == "few" else 500):
    data, sound, place, header = files[number % len(files)]
    damaged = flip_a_bit(sound, header)
    with open("damaged", "wb") as file:
        file.write(data.replace(sound, damaged))
    own = answer(lambda: decode(damaged, place))
    assert own == answer(dump), f"round {number}"
    seen["refused" if own is None else "read"] += 1
    seen["look-ups refused" if answer(lambda: look_up(damaged, place)) is None else "look-ups"] += 1
print(dict(seen))
assert len(seen) == 4, "damage that is never seen, or always"
END
expect_status 2 decode many
grep -q 'no packed table' err || { cat err >&2; fail "no word about the missing table"; }

# ---- The document's example ----------------------------------------------------------------------------
python3 - "$TOP/format/FORMAT.md" example <<'END'
import re, sys
with open(sys.argv[1], encoding="utf-8") as document, open(sys.argv[2], "wb") as example:
    example.write(bytes.fromhex("".join(re.findall(r"^ {4}[0-9a-f]{3}  ([0-9a-f ]+)$", document.read(), re.MULTILINE))))
END
# The writer makes it of these functions and records.
cat >example.c <<'END'
#include "format/packed_write.h"
#include <stdio.h>

#define PAIR(base, derived) ((uint64_t)(base) << 32 | (derived))

int main(void) {
  struct safepoints table = {.code_end = 0x401069};
  intern_add(&table.lists, NULL, 0);
  const uint64_t first = safepoints_add_location(&table, (struct stackpack_location){3, 8, 7, 8});
  const uint64_t second = safepoints_add_location(&table, (struct stackpack_location){3, 8, 7, 16});
  const uint64_t constant = safepoints_add_location(&table, (struct stackpack_location){4, 8, 0, 42});
  const uint32_t deopt = intern_add(&table.lists, &constant, 1);
  uint64_t ordinary[] = {PAIR(first, first), PAIR(second, second)};
  uint64_t derived[] = {PAIR(first, first), PAIR(first, second)};
  const uint32_t one = safepoints_add_live(&table, ordinary, 1, 0);
  const uint32_t two = safepoints_add_live(&table, ordinary, 2, 0);
  const uint32_t other = safepoints_add_live(&table, derived, 2, 0);
  const struct safepoint_function functions[] = {{0x401000, 0x401020, 24}, {0x401020, 0x401050, 40},
                                                 {0x401050, 0x401069, 24}};
  const struct safepoint records[] = {{0x401010, 1, 0, 0, 0, one, 0, 0}, {0x401032, 2, 0, 0, 1, two, 0, 0},
                                      {0x401041, 3, 0, 0, 1, other, deopt, 0}, {0x401050, 4, 8, 0, 1, two, 0, 0},
                                      {0x401060, 5, 0, 0, 2, one, 0, 0}};
  for (uint32_t i = 0, next = 0; i < 3; i++) {
    safepoints_add_function(&table, functions[i]);
    for (; next < 5 && records[next].function == i; next++)
      safepoints_add_record(&table, records[next]);
  }
  safepoints_finish(&table);
  uint8_t *bytes;
  size_t size;
  if (packed_write(&table, 0x400218, NULL, &bytes, &size) != NULL)
    return 1;
  return fwrite(bytes, 1, size, stdout) != size;
}
END
"$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -fno-strict-aliasing -I"$TOP" -I"$TOP/format" \
  example.c "$TOP"/format/*.c "$TOP"/elf/*.c -lzstd -o write-example
./write-example >written
expect_same written example
decode --bare=0x400218 --check-look-ups=500 example
decode --bare=0x400218 example >example.json
expect_records example.json <<'END'
def slot(offset):
    return {"kind": "indirect", "register": 7, "offset": offset, "size": 8}

def pairs(*slots):
    return [{"base": slot(base), "derived": slot(derived)} for base, derived in slots]

assert [record["address"] for record in records] == [0x401010, 0x401032, 0x401041, 0x401050, 0x401060]
assert [record["function_address"] for record in records] == [0x401000] + 3 * [0x401020] + [0x401050]
assert [record["frame_size"] for record in records] == [24, 40, 40, 40, 24]
assert [record["id"] for record in records] == [1, 2, 3, 4, 5]
assert [record["gc"] for record in records] == [
    pairs((8, 8)), pairs((8, 8), (16, 16)), pairs((8, 8), (8, 16)), pairs((8, 8), (16, 16)), pairs((8, 8))]
assert [record["deopt"] for record in records] == [[], [], [{"kind": "constant", "value": 42, "size": 8}], [], []]
END
while read -r address answer; do
  expect_status 0 decode --bare=0x400218 --look-up="$address" example
  expect_output "^$address: $answer\$"
done <<'END'
0x401041 found
0x401050 found
0x401049 not a safepoint
0x40101c not a safepoint
0x400fff not managed
0x401069 not managed
END
