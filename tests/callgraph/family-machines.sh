#!/bin/bash
# The random programs of family-mixed.sh and family-direct.sh for the other machines, run by qemu. MACHINES: which; ROUNDS: how many each.
. "$TOP/tests/callgraph/common.sh"

make_answers
for machine in ${MACHINES:-aarch64 riscv64}; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  for family in mixed direct; do
    rounds=${ROUNDS:-}
    [[ $family == mixed ]] || rounds=${ROUNDS:-8}
    echo "$machine, $family"
    python3 "$TOP/tests/callgraph/family.py" "$family" --machine "$machine" ${rounds:+--rounds "$rounds"} --every "$((every * 5 - 4))" --first "${FIRST:-1}"
  done
done
