#!/bin/bash
# gdb's command `info roots`, of gdb-multiarch: for AArch64, in a process that qemu runs and in its core, it prints the roots that the
# library gives the collector, one by one.
. "$TOP/tests/samples/common.sh"

can_run aarch64 || skip "no cross compiler or emulator for aarch64"
command -v gdb-multiarch >log || skip "gdb-multiarch is not installed"
gdb="gdb-multiarch"
ulimit -c unlimited
build_for aarch64 aarch64 "" "$PWD/aarch64/samples/semispace"

qemu=
trap '[[ -z $qemu ]] || kill $qemu 2>kill.log || true' EXIT

# Runs the sample in qemu under gdb, up to the start of a collection; gdb's connection is a socket in this folder.
at_collection() { # OUTPUT HITS GDB-ARGUMENT...
  rm -f socket
  qemu-aarch64 -L /usr/aarch64-linux-gnu -g "$PWD/socket" aarch64/samples/semispace --stress --size 1 >qemu.log 2>&1 &
  qemu=$!
  until awk -v name="$PWD/socket" '$4 == "00010000" && $NF == name { found = 1 } END { exit !found }' /proc/net/unix; do # it listens
    kill -0 $qemu || fail "qemu: $(<qemu.log)"
    sleep 0.1
  done
  LAST=copier_finish in_gdb "$1" -ex 'set sysroot /usr/aarch64-linux-gnu' -ex "target remote $PWD/socket" -ex 'break copier_start' \
    -ex "ignore 1 $2" -ex continue "${@:3}" aarch64/samples/semispace
  wait $qemu || true # killed, or aborted
  qemu=
}

for hits in 200 300; do # in a list, and among derived references
  at_collection process $hits -ex 'info roots all' -ex delete -ex "source $TOP/tests/samples/debugger_listing.py" -ex kill
  grep -E '^(frame|root) ' process | sort >listed
  grep -q '^root' listed || fail "the collector lists nothing: $(<process)"
  expect_listed process
  at_collection process $hits -ex 'signal SIGABRT'
  for file in semispace semispace-raw; do
    in_gdb from_core -ex 'set sysroot /usr/aarch64-linux-gnu' -ex 'info roots all' "aarch64/samples/$file" qemu_semispace_*.core
    expect_listed from_core
  done
  rm qemu_semispace_*.core
done
awk '$4 != $5 { found = 1 } END { exit !found }' listed || fail "no derived references: $(<listed)"
