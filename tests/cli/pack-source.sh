#!/bin/bash
# `pack --source` puts the records' positions into the table: by debug information, without columns, and with paths that
# hide the folder of the build. All answers stay the same.
. "$TOP/tests/cli/common.sh"

mkdir -p project/src project/build
cp "$TOP"/tests/cli/source/* project/src
cd project/build
gcc -O2 -g -c ../src/main.c -o main.o
build_with() { # OUTPUT CLANG OPTION...
  compile_debug ../src/inlined.c inlined.o "${@:2}"
  compile_debug ../src/shapes.cc shapes.o "${@:2}"
  link_with lld "$1" inlined.o shapes.o main.o -Wl,--build-id
}
pack() { # OUTPUT OPTION...
  expect_status 0 "$stackpack" pack --always --reader=elsewhere -o "$1" "${@:2}" app
}
# A stripped program has the positions that llvm-symbolizer finds in the original.
expect_positions() { # FILE, PYTHON that gets frame[] as llvm-symbolizer has it, and changes it to the one that is expected
  strip -o stripped "$1"
  dump_json stripped --source >packed.json
  python3 - "$PWD" "$2" <<'PYTHON'
import json, os, sys
folder, change = sys.argv[1:]
expected, frames = [], []
for line in open("frames"):
    if line == "\n":
        expected.append(frames)
        frames = []
    elif len(frames) > 0 and isinstance(frames[-1], str):
        file, number, _ = line.rstrip("\n").rsplit(":", 2)
        frame = {"function": frames[-1], "file": os.path.normpath(file), "line": int(number) or None, "column": None}
        exec(change)
        frames[-1] = frame
    else:
        frames.append(line.rstrip("\n"))
found = [json.loads(line)["source"] for line in open("packed.json")]
assert len(found) >= 7 and any(len(frames) > 2 for frames in found)
for a, b in zip(found, expected, strict=True):
    assert a == b, f"{a}\nnot\n{b}"
PYTHON
}
relative='frame["file"] = os.path.relpath(frame["file"], folder)'

for options in -gdwarf-4 "-gdwarf-5 -gsplit-dwarf" -g1; do
  # shellcheck disable=SC2086 # a list of words
  build_with app $options
  expect_source_of_llvm app app
  pack packed --source=lines
  expect_positions packed "$relative"
  ! grep -aqF "$PWD" stripped || fail "the folder of the build is in the program"
  expect_status 0 "$stackpack" verify app packed
done

# The forms of positions, and prefixes of paths: the last one that fits counts.
pack functions --source=functions
expect_positions functions 'frame |= {"file": None, "line": None}'
expect_status 0 "$stackpack" verify app functions
parent=${PWD%/project/build}
maps=("--source-prefix-map=$parent=/x" "--source-prefix-map=$parent/project/=" --source-prefix-map=/elsewhere=y)
pack mapped --source=lines "${maps[@]}"
expect_positions mapped 'frame["file"] = os.path.relpath(frame["file"], folder + "/..")'
expect_status 0 "$stackpack" verify "${maps[@]}" app mapped
expect_status 1 "$stackpack" verify app mapped
expect_output 'differ: .* the position of the record at 0x[0-9a-f]+ differs$'
expect_status 2 "$stackpack" pack --source-prefix-map=x app
only_line_matches "^stackpack: --source-prefix-map is OLD=NEW, not 'x'" err || fail "$(<err)"

# Answers, and all else that is printed of records; the same bytes again; the raw stack maps come back.
pack plain
pack packed --source=lines --keep-raw=raw
dump_json plain >plain.json
dump_json packed >packed.json
expect_same plain.json packed.json
pack again --source=lines
expect_same packed again
"$stackpack" unpack --raw=raw -o unpacked packed
expect_same app unpacked
expect_same_run app packed

# A packed file keeps what it has.
expect_status 0 "$stackpack" pack --source=lines packed
expect_refusal "plain: is packed already, without positions: --source needs raw stack maps" "$stackpack" pack --source=lines plain

# A record that a policy drops takes its position with it.
pack dropped --source=lines --drop-unreachable --gc-entry=nothing_here --no-gc=collect
expect_status 0 "$stackpack" verify --drop-unreachable --gc-entry=nothing_here --no-gc=collect app dropped

# Other commands, without debug information.
strip -o stripped packed
address=$(dump_json packed | python3 -c 'import json, sys; print(hex(json.loads(sys.stdin.readline())["address"]))')
expect_status 0 "$stackpack" lookup --source stripped "$address"
expect_output '^    inlined in run at \.\./src/inlined\.c:[0-9]+$'
expect_status 0 "$stackpack" why stripped "$address"
expect_output '^  .* at \.\./src/inlined\.c:[0-9]+$'
expect_status 0 "$stackpack" stats stripped
expect_output 'shapes\.h|inlined\.c'
expect_output 'shapes6Square7measure'

# Without debug information: names, said once. Broken or incomplete debug information is no ground for a guess.
strip -g -o app.names app
mv app app.debug && mv app.names app
pack packed --source=lines
only_line_matches '^stackpack: app: warning: no debug information: positions are functions. names, by the symbol table$' err || fail "$(<err)"
strip -o stripped packed
expect_status 0 "$stackpack" dump --source stripped
expect_output '^      run at \?\?:\?$'
mv app.debug app
"$LLVM/bin/llvm-objcopy" --compress-debug-sections=zlib app broken
offset=$(section_offset broken .debug_info)
set_byte broken $((offset + 30)) 255
set_byte broken $((offset + 31)) 254
cp broken before
expect_refusal "broken: section .debug_info can't be decompressed" "$stackpack" pack --always --source=lines broken
expect_same before broken
build_with app -gdwarf-5 -gsplit-dwarf
rm inlined.dwo
pack packed --source=lines
only_line_matches "warning: split debug information can't be read, .*inlined.dwo$" err || fail "$(<err)"

# Two records at one address: the return address of a call, and a stack map behind it. Each has its own line.
cat >both.ll <<'END'
declare void @collect()
declare void @llvm.experimental.stackmap(i64, i32, ...)
define i64 @run(i64 %n) gc "statepoint-example" {
  call void @collect()
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 7, i32 0)
  ret i64 %n
}
END
rm main.o
make_program lld app ./both.ll
pack packed --source=lines
strip -o stripped packed
dump_json stripped --source >both.json
python3 - <<'PYTHON'
import json
call, stack_map = map(json.loads, open("both.json"))
assert call["address"] == stack_map["address"]
assert call["source"][0]["line"] < stack_map["source"][0]["line"]
PYTHON
expect_status 0 "$stackpack" verify app packed
