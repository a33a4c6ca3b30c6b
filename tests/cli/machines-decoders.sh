#!/bin/bash
# The decoders' facts on each instruction of AArch64's and RISC-V's C library, compared with llvm-objdump: its target, the
# registers that it reads and writes, and the change of the stack pointer. With CHECK_MACHINES=all, also of the C++ library and
# others.
. "$TOP/tests/matrix/cells.sh"

gcc -std=c17 -O1 -I"$TOP" -o decoded "$TOP/tests/cli/machines/decoded.c" "$TOP"/tool/code/code*.c -lZydis
for machine in "${other_machines[@]}"; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  files=("/usr/$machine-linux-gnu/lib/libc.so.6")
  [[ ${CHECK_MACHINES-} != all ]] || files+=("/usr/$machine-linux-gnu/lib"/{libm.so.6,libstdc++.so.6,libasan.so.?})
  python3 "$TOP/tests/cli/machines/decoders.py" "$machine" "$LLVM/bin/llvm-objdump" ./decoded "${files[@]}" | tee found
  awk '{ exit !($2 > 200000) }' found || fail "$machine: too few instructions"
done
