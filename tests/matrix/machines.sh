#!/bin/bash
# All cells of the other machines, run by qemu; with their tables in $BUILD/matrix-MACHINE.md (see tests/MATRIX.md).
. "$TOP/tests/matrix/cells.sh"

for machine in aarch64 riscv64; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  run_machine "$machine" | tee "$BUILD/matrix-$machine.md"
done
