#!/bin/bash
# Where entries of the unwind table overlap, a frame has the facts on which all of them agree; where they differ, an unwinder's
# choice depends on its index, and the facts are unknown, raw and packed.
. "$TOP/tests/cli/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "frames of x86-64"

# Three of these functions of 8 bytes get a second entry: of `same`, with the CFA where it is in the call; of `other`, with
# another one; and of `partly`, with an instruction unknown to all readers.
cat >functions.ll <<'IR'
declare void @collect()
define void @alone() noinline uwtable gc "statepoint-example" { call void @collect() ret void }
define void @same() noinline uwtable gc "statepoint-example" { call void @collect() ret void }
define void @other() noinline uwtable gc "statepoint-example" { call void @collect() ret void }
define void @partly() noinline uwtable gc "statepoint-example" { call void @collect() ret void }
IR
entry() { # FUNCTION INSTRUCTIONS
  echo "1: .long 2f-3f; 3: .long 3b-cie; .long $1-.; .long 8; .byte 0, $2; .balign 4, 0; 2:"
}
{
  echo '.section .eh_frame,"a",@unwind'
  echo 'cie: .long 9f-8f; 8: .long 0; .byte 1; .asciz "zR"; .byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1; .balign 4, 0; 9:'
  entry same '0x0e, 16'
  entry other '0x0e, 32'
  entry partly '0x0e, 16, 0x3f'
  echo '.section .note.GNU-stack,"",@progbits'
} >entries.s
cat >natives.c <<'C'
void collect(void) {}
int main(void) { return 0; }
C
"$LLVM/bin/clang" -O1 -c natives.c entries.s
compile ./functions.ll functions.o -O2
for linker in lld bfd; do
  link_with $linker app natives.o functions.o entries.o
  expect_status 0 "$stackpack" pack --always -o packed app
  expect_output '2 records? of frames that neither unwind tables nor the code tell of'
  expect_status 0 "$stackpack" verify app packed
  for program in app packed; do
    dump_json $program | python3 -c '
import json, sys
frames = {record["function"]: record["frame"] for record in map(json.loads, sys.stdin)}
assert frames["other"] is None and frames["partly"] is None, frames
assert frames["same"] == frames["alone"] and frames["same"]["cfa_offset"] == 16, frames' || fail "$linker, $program: other frames"
  done
done
