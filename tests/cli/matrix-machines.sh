#!/bin/bash
# Programs for the other machines, run by qemu: the main kinds of files, linked by lld and by GNU ld. With
# CHECK_MACHINES=all (`make check-machines`) all cells, with their tables in $BUILD/matrix-MACHINE.md (see tests/MATRIX.md).
. "$TOP/tests/matrix/cells.sh"

if [[ ${CHECK_MACHINES-} != all ]]; then
  linkers=(lld bfd)
  kinds=(non-PIE PIE library)
  variants=(plain)
fi
for machine in "${other_machines[@]}"; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  run_machine "$machine" >table || { cat table; exit 1; }
  [[ ${CHECK_MACHINES-} != all ]] || cp table "$BUILD/matrix-$machine.md"
done
