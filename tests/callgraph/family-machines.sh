#!/bin/bash
# The random programs of family-mixed.sh and family-direct.sh for the other machines, run by qemu: of the mixed ones each fourth, or
# as many rounds as ROUNDS says. MACHINES: which.
. "$TOP/tests/callgraph/common.sh"

make_answers
for machine in ${MACHINES:-aarch64 riscv64}; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  for family in mixed direct; do
    rounds=${ROUNDS:-} one_in=$every
    if [[ -z $rounds ]]; then
      case $family in mixed) one_in=$((4 * every)) ;; *) rounds=8 ;; esac
    fi
    echo "$machine, $family"
    python3 "$TOP/tests/callgraph/family.py" "$family" --machine "$machine" ${rounds:+--rounds "$rounds"} --every "$one_in" --first "${FIRST:-1}"
  done
done
