#!/bin/bash
# The decoders' facts on each instruction of x86-64's C library, and of random bytes for all machines, compared with LLVM's tables:
# its kind, the registers that it writes, the stack pointer's moves, and stores. With CHECK_MACHINES=all, also of the C++ library
# and others.
. "$TOP/tests/cli/common.sh"

[[ -x $LLVM/bin/llvm-config && -e $("$LLVM/bin/llvm-config" --includedir)/llvm/MC/MCInst.h ]] || skip "no headers of LLVM"
[[ $("$LLVM/bin/llvm-config" --version) == 22.* ]] || skip "decoders_llvm.cpp lists the faults of LLVM 22's tables"
read -ra flags < <("$LLVM/bin/llvm-config" --cppflags | sed 's/-I/-isystem /g')
read -ra libraries <<<"$("$LLVM/bin/llvm-config" --ldflags --libs | tr '\n' ' ')"
for file in "$TOP"/tool/code/code*.c; do
  gcc -std=c17 -O1 -I"$TOP" -c "$file"
done
g++ -std=c++17 -O1 -fno-rtti -Wall -Wextra -Wno-deprecated-declarations "${flags[@]}" -I"$TOP" -o decoders_llvm \
  "$TOP/tests/cli/machines/decoders_llvm.cpp" code*.o "${libraries[@]}" -lZydis
files=("$(gcc -print-file-name=libc.so.6)")
[[ ${CHECK_MACHINES-} != all ]] || files+=("$(gcc -print-file-name=libstdc++.so.6)" "$(gcc -print-file-name=libasan.so)" "$LLVM"/bin/clang)
./decoders_llvm x86-64 "${files[@]}" | tee found
awk 'END { exit !(NR == 1 && $1 > 200000 && $2 < $1 / 100 && $3 == 0) }' found || fail "x86-64: facts differ from LLVM's"
for machine in x86-64 aarch64 riscv64; do
  for seed in 1 2 3; do
    ./decoders_llvm "$machine" random "$seed" | tee found
    awk 'END { exit !(NR == 1 && $2 < $1 * 2 / 3 && $3 == 0) }' found || fail "$machine: facts on random bytes differ from LLVM's"
  done
done
