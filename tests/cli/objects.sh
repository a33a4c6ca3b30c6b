#!/bin/bash
# Objects and archives of them in dump, lookup, stats and report: for three machines, split or not, with relocations of each form.
# Their records are those of the linked program; addresses are relative to their sections.
. "$TOP/tests/cli/common.sh"
PATH=$LLVM/bin:$PATH

many_functions 6 | sed 's/gc "statepoint-example"/uwtable &/' >many.ll
echo 'define void @_start() { call i64 @run(i64 0) ret void }
define void @collect() noinline { ret void }
define ptr addrspace(1) @allocate(i64 %n) noinline { ret ptr addrspace(1) null }' >rest.ll
sed -i '/^declare/d' many.ll
cat rest.ll >>many.ll
opt -passes=rewrite-statepoints-for-gc many.ll -o many.bc

compare() { # OBJECT [OPTION]
  expect_status 0 "$stackpack" dump --format=json "$1"
  cp out "${1%.o}.json"
  ld.lld -o linked "$1"
  dump_json linked >linked.json
  [[ $(python3 "$TOP/tests/cli/objects_compare.py" "${@:2}" linked.json llvm-readobj "${1%.o}.json") == $(grep -c . linked.json) ]] || fail "$1: other records than the program's"
}
for machine in x86_64 "${other_machines[@]}"; do
  for form in "" -function-sections; do
    options=()
    [[ $machine != riscv* ]] || options=(-mattr=+m,+a,+c,+relax)
    llc -mtriple=$machine-linux-gnu "${options[@]}" $form -filetype=obj many.bc -o whole.o
    moved=()
    [[ $machine != riscv* ]] || moved=(--moved)
    compare whole.o "${moved[@]}"
    [[ -n $form ]] || continue
    "$stackpack" split -q -o split.o whole.o
    expect_status 0 "$stackpack" dump --format=json split.o
    expect_same out whole.json
  done
  cp whole.o $machine.o
  cp split.o $machine.split.o
done

# ---- Other forms of relocations ----

cat >rel.py <<'P'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
table = struct.unpack_from("<Q", data, 40)[0]
headers = [list(struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * n)) for n in range(struct.unpack_from("<H", data, 60)[0])]
for number, header in enumerate(headers):
    target = headers[header[7]] if header[1] == 4 else [0] * 10
    if header[1] != 4 or data[target[4] : target[4] + 1] == b"" or target[2] & 4:
        continue
    entries = [struct.unpack_from("<QQq", data, header[4] + at) for at in range(0, header[5], 24)]
    for at, (offset, info, addend) in enumerate(entries):
        size = 8 if info & 0xFFFFFFFF in (1, 24) else 4
        struct.pack_into("<q" if size == 8 else "<i", data, target[4] + offset, addend)
        struct.pack_into("<QQ", data, header[4] + 16 * at, offset, info)
    header[1], header[5], header[9] = 9, 16 * len(entries), 16
    struct.pack_into("<IIQQQQIIQQ", data, table + 64 * number, *header)
open(sys.argv[2], "wb").write(data)
P
python3 rel.py x86_64.o rel.o
llvm-readelf -S rel.o >shown
grep -q ' REL .*10 ' shown || fail "no relocations without addends"
expect_status 0 "$stackpack" dump --format=json x86_64.o
cp out x86_64.json
expect_status 0 "$stackpack" dump --format=json rel.o
expect_same out x86_64.json
if clang -O1 -w -ffunction-sections -Wa,--crel,--allow-experimental-crel -c -x ir many.bc -o crel.o 2>log; then
  compare crel.o
fi

# ---- Addresses ----

place=$(sed -n '/"function":"f3"/{s/.*"function_address":0,"offset":\([0-9]*\).*/\1/p;q}' x86_64.json)
printf -v place '%x' "$place"
for word in .text.f3 f3; do
  expect_status 0 "$stackpack" lookup x86_64.o $word+0x$place
  expect_output "^\.text\.f3\+0x$place: found, in f3\+0x$place,"
done
expect_status 1 "$stackpack" lookup --format=json x86_64.o f3+0x1
expect_output '^\{"address":1,"section":".text.f3","answer":"not a safepoint","function":"f3","function_address":0\}$'
expect_status 0 "$stackpack" dump --address=f3+0x$place x86_64.o
expect_output '^\.text\.f3\+0x0 f3, a frame of .*, 1 record$'
expect_refusal "x86_64.o: no section or function has the place 'f3\+0x10000'" "$stackpack" lookup x86_64.o f3+0x10000
expect_refusal "x86_64.o: '0x12' is no place in an object: SECTION\+0x12 or FUNCTION\+0x12 is$" "$stackpack" lookup x86_64.o 0x12
expect_refusal "x86_64.o: '0x12' is no place in an object" "$stackpack" dump --address=0x12 x86_64.o
expect_refusal "linked: 'f3\+0x1' is a place in an object, and this is a program$" "$stackpack" dump --address=f3+0x1 linked
expect_refusal 'x86_64.o: --base is for programs' "$stackpack" lookup --base=0 x86_64.o f3+0x1

# Functions that are elsewhere.
cp x86_64.o without.o
set_byte without.o $(($(section_offset without.o .rela.llvm_stackmaps) + 8)) 0
expect_status 0 "$stackpack" dump without.o
only_line_matches '^stackpack: without.o: warning: 1 function .* records' err || fail "nothing is said of a function without an address"

# ---- Archives ----

mkdir sub
cp x86_64.o sub/first.o
cp x86_64.split.o sub/second.o
echo text >sub/text
llvm-ar rcs fat.a sub/*
llvm-ar rcsT thin.a sub/*
for archive in fat.a thin.a; do
  folder=
  [[ $archive == fat.a ]] || folder=sub/
  expect_status 0 "$stackpack" dump --format=json $archive
  [[ $(grep -c . out) == 122 ]] || fail "$archive: other records"
  expect_status 0 "$stackpack" lookup $archive f3+0x$place
  [[ $(grep -c ': found' out) == 2 ]] || fail "$archive: other places"
  expect_status 0 "$stackpack" lookup $archive ${folder}second.o:f3+0x$place
  expect_output "^${folder}second.o:\.text\.f3\+0x$place: found"
  expect_status 0 "$stackpack" stats $archive
  expect_output '^  122 records of 14 functions'
done
expect_status 0 "$stackpack" report -o page.html fat.a
expect_refusal 'fat.a: neither an executable nor a shared library: link it first$' "$stackpack" stats --gc-entry=collect fat.a
for command in callgraph verify; do expect_status 2 "$stackpack" $command x86_64.o x86_64.o; done

# ---- Compressed debug sections ----

compile_debug "$TOP/tests/cli/source/inlined.c" debug.o -g
expect_status 0 "$stackpack" dump --source --format=json debug.o
grep -q '"line":' out || fail "no lines in debug.o"
mv out debug.json
for compression in zlib zstd; do
  llvm-objcopy --compress-debug-sections=$compression debug.o compressed.o
  grep -qE ' \.debug_info .* C ' <(readelf --section-headers --wide compressed.o) || fail "not compressed: $compression"
  expect_status 0 "$stackpack" dump --source --format=json compressed.o
  [[ ! -s err ]] || fail "compressed.o: $(<err)"
  expect_same debug.json out
  rm -f compressed.a
  llvm-ar rcs compressed.a compressed.o
  expect_status 0 "$stackpack" dump --source --format=json compressed.a
  sed 's/"member":"compressed.o",//' out >members.json
  expect_same debug.json members.json
done
set_byte compressed.o $(($(section_offset compressed.o .debug_info) + 24)) 0
expect_status 0 "$stackpack" dump compressed.o
only_line_matches "^stackpack: compressed.o: warning: section .debug_info can't be decompressed$" err || fail "broken: $(<err)"

# ---- Hostile objects: one line each ----

refused() { # PATTERN FILE
  local command
  for command in dump lookup; do expect_refusal "$2: $1" "$stackpack" $command "$2"; done
}
broken() { # PATTERN FIELD VALUE
  cp x86_64.o broken.o
  set_field broken.o "$2" "$3"
  refused "$1" broken.o
}
broken 'section .llvm_stackmaps has no bytes' 'section .llvm_stackmaps type' 8
broken 'section .llvm_stackmaps has no bytes, or compressed ones' 'section .llvm_stackmaps flags' 2050
broken 'section [0-9]+ is beyond the end of the file' 'section .llvm_stackmaps offset' 99999999
broken "section [0-9]+ isn't a right table of relocations" 'section .rela.llvm_stackmaps size' 25
broken "section [0-9]+ isn't a right table of relocations" 'section .rela.llvm_stackmaps info' 9999
broken 'section [0-9]+ has no name' 'section .text.f3 name' 99999
for at in 7 8; do # of the first relocation's place and type
  cp x86_64.o broken.o
  set_byte broken.o $(($(section_offset broken.o .rela.llvm_stackmaps) + at)) 200
  refused 'a relocation of type [0-9]+ in section .llvm_stackmaps, or out of bounds$' broken.o
done
broken 'stack maps of a processor' 'file machine' 3
llvm-objcopy --strip-all x86_64.o stripped.o
refused 'no symbol table$' stripped.o
expect_refusal 'stripped.o: no symbol table$' "$stackpack" split stripped.o
clang -c -o plain.o -x c - <<<"int plain(void) { return 1; }"
llvm-objcopy --strip-all plain.o
for command in "dump plain.o" "lookup plain.o f+0x1" "stats plain.o" "report -o page.html plain.o" "pack plain.o"; do
  # shellcheck disable=SC2086 # a list of words
  expect_refusal 'plain.o: no stack maps: no section .llvm_stackmaps$' "$stackpack" $command
done
head -c 3000 x86_64.o >broken.o
refused '' broken.o
llvm-ar rcs machines.a x86_64.o aarch64.o
refused 'aarch64.o: it is for another machine than the members before$' machines.a
llvm-ar rcs none.a sub/text
refused 'no member has a section .llvm_stackmaps$' none.a
expect_refusal 'none.a: no member has a section' "$stackpack" stats none.a
expect_refusal 'none.a: no member has a section' "$stackpack" report -o page.html none.a
printf '!<arch>\n' >empty.a
refused 'no member has a section .llvm_stackmaps$' empty.a
rm sub/second.o
refused 'the member sub/second.o can.t be opened' thin.a
llvm-ar rcsT many.a sub/first.o sub/first.o sub/first.o sub/first.o sub/first.o sub/first.o 2>log
llvm-ar qcT many.a sub/first.o sub/first.o sub/first.o sub/first.o sub/first.o sub/first.o
refused "members of the thin archive that lead to more than [0-9]+ times the file's bytes$" many.a
