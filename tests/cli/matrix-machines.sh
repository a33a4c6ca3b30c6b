#!/bin/bash
# Programs for the other machines, run by qemu: the main kinds of files, linked by lld and by GNU ld.
. "$TOP/tests/matrix/cells.sh"

linkers=(lld bfd)
kinds=(non-PIE PIE library)
variants=(plain)
for machine in aarch64 riscv64; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  run_machine "$machine"
done
