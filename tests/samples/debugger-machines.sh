#!/bin/bash
# gdb's command `info roots`, of gdb-multiarch: for AArch64, in processes that qemu runs and in their cores, it prints the roots that
# the library gives the collector, one by one, in each sample.
. "$TOP/tests/samples/common.sh"

can_run aarch64 || skip "no cross compiler or emulator for aarch64"
command -v gdb-multiarch >log || skip "gdb-multiarch is not installed"
gdb="gdb-multiarch"
ulimit -c unlimited
samples=aarch64/samples
# Packed deoptimisation state needs Zstandard for that machine.
build_for aarch64 aarch64 "" samples/{semispace,handles,threads,fibers,trace,deopt-raw,deopt-O0-raw}

qemu=
trap '[[ -z $qemu ]] || kill $qemu 2>kill.log || true' EXIT

# Runs a sample in qemu, with `options`, under gdb, up to a breakpoint; gdb's connection is a socket in this folder. Its stack starts
# with its environment, and so that is the same in each run.
at_collection() { # OUTPUT PROGRAM FUNCTION HITS GDB-ARGUMENT...
  rm -f socket
  env -u LAST qemu-aarch64 -L /usr/aarch64-linux-gnu -g "$PWD/socket" "$samples/$2" "${options[@]}" >qemu.log 2>&1 &
  qemu=$!
  until awk -v name="$PWD/socket" '$4 == "00010000" && $NF == name { found = 1 } END { exit !found }' /proc/net/unix; do # it listens
    kill -0 $qemu || fail "qemu: $(<qemu.log)"
    sleep 0.1
  done
  in_gdb "$1" -ex 'set sysroot /usr/aarch64-linux-gnu' -ex "target remote $PWD/socket" -ex "break $3" -ex "ignore 1 $4" -ex continue \
    "${@:5}" "$samples/$2"
  wait $qemu || true # killed, or aborted
  qemu=
}

# Stops at the start of a collection, or of another walk, which ends at the function LAST. There are so many frames, roots and derived
# references at least.
expect_roots() { # SAMPLE LEAST FUNCTION HITS LAST OPTION...
  local options=("${@:6}")
  LAST=$5 at_collection process "$1" "$3" "$4" -ex 'thread apply all info roots all' -ex delete \
    -ex "source $TOP/tests/samples/debugger_listing.py" -ex kill
  take_listing process "$1" "$2"
  expect_listed process
}

# The same in the core of a second run, by the packed and by the raw program.
expect_roots_in_core() { # AS ABOVE
  local file options=("${@:6}")
  expect_roots "$@"
  at_collection process "$1" "$3" "$4" -ex 'signal SIGABRT'
  for file in "$samples/${1%-raw}" "$samples/${1%-raw}-raw"; do
    [[ -e $file ]] || continue
    in_gdb from_core -ex 'set sysroot /usr/aarch64-linux-gnu' -ex 'info roots all' "$file" qemu_*.core
    expect_listed from_core
  done
  rm qemu_*.core
}

expect_roots_in_core semispace "5 5 0" copier_start 2000 copier_finish --stress --size 1 # in a list
expect_roots_in_core semispace "1 4 1" copier_start 300 copier_finish --stress --size 1
expect_roots_in_core handles "3 3 0" copier_start 200 copier_finish --stress --size 20 --levels 7
expect_roots_in_core fibers "1 1 0" copier_start 100 copier_finish --stress --fibers 10 --size 8
expect_roots_in_core deopt-raw "1 0 0" stackpack_unwinder_call 30 return_to
expect_roots_in_core deopt-O0-raw "2 0 0" stackpack_unwinder_call 30 return_to
expect_roots_in_core trace "3 0 0" exception_throw_at 0 stackpack_process_close '+ 1 / 6 - 2 2'
expect_roots threads "1 1 0" copier_start 20 copier_finish --stress --lists 4 --length 12 # they take turns in another way in each run

# Suspended fibers: `info roots at` their contexts.
options=(--stress --fibers 5 --size 4)
LAST=copier_finish at_collection process fibers copier_start 600 "${suspended[@]}" -ex delete -ex "source $TOP/tests/samples/debugger_listing.py" -ex kill
take_suspended process "5 1 0"
at_collection process fibers copier_start 600 -ex 'signal SIGABRT'
for file in "$samples"/fibers{,-raw}; do
  in_gdb from_core -ex 'set sysroot /usr/aarch64-linux-gnu' -ex 'source commands' "$file" qemu_*.core
  expect_suspended from_core
done
rm qemu_*.core
