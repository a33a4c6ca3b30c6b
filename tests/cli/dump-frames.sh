#!/bin/bash
# In text, each function's frame is drawn: a column for each slot, a row for each record; with colours only where they
# are wanted.
. "$TOP/tests/cli/common.sh"

make_program lld pairs pairs
expect_status 0 "$stackpack" dump pairs
sed -E 's/0x[0-9a-f]{4,}/ADDRESS/g; s/ +\+0x[0-9a-f]+ / OFFSET /' out | head -n 9 >drawn
cat >expected <<'END'
ADDRESS with_base, a frame of 24 bytes, 1 record
    ends at rsp+32; from there: rip-8
                     [rsp+8] +16
  ADDRESS OFFSET       * <+8  ID 2001

ADDRESS without_base, a frame of 24 bytes, 1 record
    ends at rsp+32; from there: rip-8
                     [rsp+8] +16
  ADDRESS OFFSET    <+16   b  ID 2002
END
diff expected drawn || fail "other frames"

# A record's frame is below it where it differs from the first record's, if only in lost registers.
cat >twice.ll <<'LL'
declare void @collect()
define i64 @run(i64 %n) uwtable gc "statepoint-example" {
  call void @collect()
  call void @collect()
  ret i64 0
}
LL
compile ./twice.ll twice.s -filetype=asm
awk '/call/ && ++calls == 2 { print ".cfi_undefined %rbx" } 1' twice.s >lost.s
"$LLVM/bin/clang" -c lost.s
link_with lld lost main.o lost.o
expect_status 0 "$stackpack" dump lost
(($(grep -c 'rip-8; lost: rbx$' out) == 1)) || { cat out >&2; fail "the second record's lost register is missing"; }
awk '/call/ && ++calls == 2 { print ".cfi_undefined %rip" } 1' twice.s >lost.s
"$LLVM/bin/clang" -c lost.s
link_with lld lost main.o lost.o
expect_status 0 "$stackpack" dump lost
(($(grep -c '; from there: nothing; lost: rip$' out) == 1)) || { cat out >&2; fail "a frame that saves nothing"; }

# Each reference of the JSON dump has a cell in its column: a wide function, in one table.
{
  echo 'declare void @collect()'
  echo 'define i64 @run(i64 %n) gc "statepoint-example" {'
  for i in {1..30}; do echo "  %o$i = call ptr addrspace(1) @allocate(i64 $((i * 8)))"; done
  for i in {1..30}; do echo "  call void @collect()"; echo "  store i64 %n, ptr addrspace(1) %o$i"; done
  echo '  ret i64 %n'
  echo '}'
  echo 'declare ptr addrspace(1) @allocate(i64)'
} >wide.ll
make_program lld wide ./wide.ll
dump_json wide >wide.json
expect_status 0 "$stackpack" dump wide
python3 - <<'PYTHON'
import json, re

records = [json.loads(line) for line in open("wide.json")]
titles, seen = None, 0
for line in open("out"):
    if line.startswith(" " * 20):
        titles = line.split()
        register = re.fullmatch(r"\[(rsp)\+\d+\]", titles[0])
        assert register, titles
        offsets = [int(re.search(r"[+-]\d+", title)[0]) for title in titles]
    elif line.startswith("  0x"):
        address, _, *cells = line.split()
        record = next(record for record in records if record["address"] == int(address, 16))
        assert len(cells) == len(titles), line
        live = {pair["derived"]["offset"] for pair in record["gc"]}
        assert live == {offset for offset, cell in zip(offsets, cells) if cell == "*"}, line
        seen += 1
assert seen == len(records) == 60 and len(titles) >= 30
PYTHON

# A terminal's width is kept to: longer text is below. All cells are there.
cat >terminal.py <<'PYTHON'
import fcntl, os, pty, struct, sys, termios

columns, command = int(sys.argv[1]), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.execvp(command[0], command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
output = b""
while True:
    try:
        read = os.read(terminal, 65536)
    except OSError:
        break
    if not read:
        break
    output += read
sys.stdout.buffer.write(output.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
PYTHON
export TERM=xterm
unset NO_COLOR
python3 terminal.py 80 sh -c "sleep 0.3; exec '$stackpack' dump wide" >shown
escape=$'\033'
grep -q "$escape\[" shown || fail "no colours at a terminal"
sed -E "s/$escape\[[0-9]*m//g" shown >plain
(($(awk '{ if (length($0) > longest) longest = length($0) } END { print longest }' plain) <= 80)) || fail "too wide"
[[ $(head -n 1 plain) == '  *: a reference; '* ]] || fail "no legend"
[[ $(tail -n +2 plain | grep -o '\*' | wc -l) == "$(grep -o '\*' out | wc -l)" ]] || fail "cells are missing"

# Colours: as NO_COLOR and --color say, and a file gets plain text.
expect_plain() { ! grep -q "$escape" "$1" || fail "colours: $2"; }
expect_plain out "in a file"
NO_COLOR=1 python3 terminal.py 80 "$stackpack" dump pairs >shown
expect_plain shown "in spite of NO_COLOR"
python3 terminal.py 80 "$stackpack" dump --color=never pairs >shown
expect_plain shown "in spite of --color=never"
NO_COLOR=1 "$stackpack" dump --color=always pairs >shown
grep -q "$escape\[32m\*" shown || fail "no colours with --color=always"
