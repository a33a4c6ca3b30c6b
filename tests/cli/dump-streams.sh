#!/bin/bash
# A dump is written while it is made: a reader gets the first part before the rest is made, and a function's source lines come
# before the search for other functions' lines.
. "$TOP/tests/cli/common.sh"

# A large program; the reader takes one line, from a pipe that holds little more.
many_functions 1500 >many.ll
make_program lld app ./many.ll
cat >first_line.py <<'PYTHON'
import fcntl, os, subprocess, sys

read, write = os.pipe()
fcntl.fcntl(write, 1031, 4096)  # F_SETPIPE_SZ
process = subprocess.Popen(sys.argv[1:], stdout=write, stderr=subprocess.PIPE)
os.close(write)
first = b""
while b"\n" not in first:
    first += os.read(read, 4096)
# It waits for its reader, with most of the text not printed yet.
assert process.poll() is None, process.returncode
size = len(first)
os.close(read)
process.wait()
assert not process.stderr.read() and process.returncode in (-13, 2), process.returncode
print(first.split(b"\n")[0].decode())
PYTHON
for options in "" --source --format=json "--format=json --source"; do
  # shellcheck disable=SC2086 # a list of words
  python3 first_line.py "$stackpack" dump $options app >first || fail "dump $options"
  # shellcheck disable=SC2086
  "$stackpack" dump $options app >all
  expect_same first <(head -n 1 all)
  (($(stat -c %s all) > 100000)) || fail "too little text for this test"
done

# Units of debug information are read when they are asked for. Here the second one is broken: the first one's lines are
# printed all the same.
compile_debug "$TOP/tests/cli/source/inlined.c" inlined.o -g
compile_debug "$TOP/tests/cli/source/second.c" second.o -g
"$LLVM/bin/clang" -O1 -c "$TOP/tests/cli/source/main.c" -o main.o
link_with lld two inlined.o second.o main.o
expect_status 0 "$stackpack" dump --source two
mv out whole
size=$("$LLVM/bin/llvm-dwarfdump" --debug-info two | sed -nE 's/^0x([0-9a-f]+): Compile Unit.*/\1/p' | sed -n 2p)
offset=$(section_offset two .debug_info)
# All entries of the second unit after its first one are of a kind that isn't.
first=$("$LLVM/bin/llvm-dwarfdump" --debug-info two | grep -A 1000 "^0x$size: Compile Unit" | sed -nE 's/^0x([0-9a-f]+):   DW_TAG.*/\1/p' | head -n 1)
set_byte two $((offset + 16#$first)) 126
expect_status 0 "$stackpack" dump --source two
diff <(grep -E 'once|twice' whole) <(grep -E 'once|twice' out) || fail "lines of the first unit are lost"
! grep -q ' leaf at ' out || fail "the second unit isn't broken"
