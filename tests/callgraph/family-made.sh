#!/bin/bash
# Pointers that C and C++ functions make, on random ways through registers and the stack: no sum is lost (made.py). For each
# machine some rounds, or as many as ROUNDS says.
. "$TOP/tests/callgraph/common.sh"

made() { # MACHINE
  python3 "$TOP/tests/callgraph/made.py" "$1" "${ROUNDS:-$((every > 1 ? 1 : 4))}" "${FIRST:-1}"
}

made x86_64
for machine in aarch64 riscv64; do
  ! can_run "$machine" || made "$machine"
done
