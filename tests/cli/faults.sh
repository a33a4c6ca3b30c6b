#!/bin/bash
# Each allocation fails once, and each system call of a kind, in every command and in the library's opening functions; and at
# each system call that reads, the file that is read is truncated or overwritten:
# each run ends without a crash, a success has the right output, and files are whole. FAULT_RUNS=1000000 tries all; else about
# 60 of each.
. "$TOP/tests/cli/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "knows x86-64's system calls only"
[[ -z $(library_flags) ]] || skip "the sanitizers' allocator is in the way"
"$CC" -std=gnu17 -D_GNU_SOURCE -O1 -shared -fPIC -o faults.so "$TOP/tests/cli/faults/faults.c"
make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie -g" lld -g
compile deopt deopt.o
cp deopt.o split.o
cp app here
printf 'gc-entry coll?ct\nno-gc\tby_chain\n' >policy
expect_status 0 "$stackpack" pack --always --keep-raw=kept -o packed app
cp packed back
address=$("$stackpack" dump app | grep -oE '0x[0-9a-f]+' | sed -n 2p)
compile list list.o
"$LLVM/bin/clang" -O1 -g -I"$TOP/runtime" -c "$TOP/tests/cli/faults/opener.c" -o opener.o
link_with lld opener opener.o list.o "$BUILD/libstackpack.a" -lpthread

bad=0
sweep() { # FILES COMMAND...: of each kind of call, let them fail; the command writes FILES, A:B
  local kind
  for kind in allocation open map read write close sync rename stat mode; do
    env FAULTS=$kind FAULTS_FILES="$1" FAULTS_RUNS="${FAULT_RUNS:-60}" LD_PRELOAD="$PWD/faults.so" "${@:2}" >sweep.log 2>&1 ||
      { echo "${*:2}:"; tail -n 20 sweep.log; bad=1; }
    grep -q " runs, " sweep.log || fail "no sweep of $kind: ${*:2}"
  done
}
while read -ra command; do
  sweep "" "$stackpack" "${command[@]}"
done <<COMMANDS
dump app
dump --format=json --source app
dump packed
stats --policy=policy app
stats --format=json app packed
lookup --source app $address
lookup --format=json packed $address
why --policy=policy app $address
callgraph app
callgraph --format=json app
verify app packed
COMMANDS
sweep out "$stackpack" pack --always --policy=policy -o out app
sweep here "$stackpack" pack --always --quiet here
sweep out:raw "$stackpack" pack --always --keep-raw=raw -o out app
sweep out "$stackpack" unpack --raw=kept -o out packed
sweep back "$stackpack" unpack --raw=kept back
sweep out "$stackpack" report -o out app
sweep split.o "$stackpack" split split.o
sweep "" ./opener app
sweep "" ./opener packed

# The input is changed by another process: later reads are refused, or came before.
# (A packed file that the library has opened stays mapped: it may be replaced, but not written to, as stackpack.h says.)
changed() { # INPUT FILES COMMAND...
  local kind
  for kind in truncated overwritten; do
    env FAULTS=$kind FAULTS_INPUT="$1" FAULTS_FILES="$2" FAULTS_RUNS="${FAULT_RUNS:-60}" LD_PRELOAD="$PWD/faults.so" "${@:3}" \
      >sweep.log 2>&1 || { echo "${*:3}:"; tail -n 20 sweep.log; bad=1; }
    grep -q " runs, " sweep.log || fail "no sweep of $kind: ${*:3}"
  done
}
changed app "" "$stackpack" dump app
changed app "" "$stackpack" dump --format=json --source app
changed packed "" "$stackpack" dump packed
changed app "" "$stackpack" verify app packed
changed app "" "$stackpack" why --policy=policy app "$address"
changed app out "$stackpack" pack --always --policy=policy -o out app
changed packed out "$stackpack" unpack --raw=kept -o out packed
changed kept out "$stackpack" unpack --raw=kept -o out packed
changed policy "" "$stackpack" why --policy=policy app "$address"
changed app "" ./opener app
((bad == 0)) || fail "something goes wrong when a call fails"
