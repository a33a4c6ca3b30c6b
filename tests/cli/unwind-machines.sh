#!/bin/bash
# As unwind-mixed.sh, on AArch64 and RISC-V, by qemu: libstackpack is built for them and walks stacks of managed
# frames, C++, the C library and signals. And signals at any instruction: see unwind/interrupted.c.
. "$TOP/tests/cli/common.sh"

here=$TOP/tests/cli/unwind
. "$here/references.sh"

# The tools of a machine, and options.
choose_machine() { # MACHINE
  machine=$1 triplet=$1-linux-gnu
  emulator=("qemu-$machine" -L "/usr/$triplet")
  clang=("$LLVM/bin/clang" "--target=$triplet" -std=c17)
  llc=("$LLVM/bin/llc" -relocation-model=static -filetype=obj)
  flags=(-O2 -g -D_GNU_SOURCE -fno-pie -fomit-frame-pointer -fasynchronous-unwind-tables -I"$here" -I"$TOP/runtime")
  linkers=(lld bfd)
  [[ $machine == riscv64 ]] || return 0
  clang+=(-march=rv64gc)
  llc+=(-mattr=+m,+a,+f,+d,+c -target-abi=lp64d)
  linkers=(lld) # GNU ld 2.40 crashes on LLVM's debug information
}

link() { # lld|bfd OUTPUT OBJECT-OR-OPTION...
  local linker=$1 output=$2 options=()
  shift 2
  [[ $linker != lld ]] || options=(-B"$LLVM/bin/" -fuse-ld=lld)
  "$triplet-g++" "${options[@]}" -no-pie "$@" "$machine/libstackpack.a" -o "$output"
}

# Both walkers, before and after packing, print the plain program's output, and count the same frames.
check_walks() { # NAME LEVEL [LLC OPTION...]
  local program walker
  compile_references managed.o "${@:2}"
  link lld raw native.o managed.o collector.o
  expect_status 0 "$stackpack" pack --always -o packed raw
  for program in raw packed; do
    for walker in unwinding mixed; do
      expect_status 0 "${emulator[@]}" ./$program $walker
      diff expected out || fail "$machine, $1: $program $walker doesn't print what the plain program does"
      mv err $program.$walker
      expect_same raw.unwinding $program.$walker
    done
  done
  echo "$machine, $1: $(tr '\n' ' ' <raw.unwinding)"
  (($(statistic collections) > 500 && $(statistic most) >= 6)) || fail "too few collections or managed frames"
  (($(statistic native) > 5 * $(statistic collections) && $(statistic unknown) > 0)) || fail "too few frames of other kinds"
}
statistic() { # NAME
  sed -n "s/^$1 //p" raw.unwinding
}

# Signals wherever they come: each is unwound. In a short run, many come while functions are looked up.
check_signals() { # lld|bfd lazy|now
  local address size i
  link "$1" interrupted interrupted.o -Wl,-z,"$2"
  read -r address size < <(readelf --section-headers --wide interrupted | sed -nE 's/.* \.plt +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) .*/\1 \2/p')
  expect_status 0 env QEMU_SINGLESTEP=1 QEMU_ONE_INSN_PER_TB=1 "${emulator[@]}" ./interrupted 300 "$address" "$size"
  echo "$machine, signals, $1: $(tr '\n' ' ' <out)"
  expect_output '^in_stubs [1-9]'
  expect_output '^wrong 0$'
  for ((i = 0; i < 10; i++)); do
    sampled 10 || continue
    expect_status 0 env QEMU_SINGLESTEP=1 QEMU_ONE_INSN_PER_TB=1 "${emulator[@]}" ./interrupted 20 "$address" "$size"
  done
}

checked=
for one in "${other_machines[@]}"; do
  # RISC-V: the C library of Debian 12 lacks unwind tables, and LLVM 22's code for managed_realigned computes another number,
  # also in a run free of collections.
  [[ $one == aarch64 ]] && can_run "$one" || continue
  choose_machine "$one"
  checked+=" $machine"
  build_for "$machine" "$machine" "" libstackpack.a
  "${clang[@]}" "${flags[@]}" -c "$here/collector.c" -o collector.o
  "${clang[@]}" "${flags[@]}" -DPLAIN -c "$here/collector.c" -o plain-collector.o
  "${clang[@]}" "${flags[@]}" -c "$here/managed.c" -o plain-managed.o
  "$triplet-g++" "${flags[@]}" -c "$here/native.cc" -o native.o
  link lld plain native.o plain-managed.o plain-collector.o
  run plain >expected
  conventions='s/tailcc//' # without optimisation, LLVM loads registers from the caller's frame before the stack pointer is back
  check_walks "-O0" 0
  conventions=
  check_walks "-O2, roots in registers" 2 -fixup-allow-gcptr-in-csr -max-registers-for-gc-values=16
  (($(statistic registers) > 100)) || fail "no references in registers"
  check_walks "-O2, frame pointers" 2 --frame-pointer=all
  "$triplet-gcc" -std=c17 "${flags[@]}" -fno-builtin -c "$here/interrupted.c" -o interrupted.o
  for linker in "${linkers[@]}"; do
    check_signals "$linker" lazy
  done
done
[[ -n $checked ]] || skip "no emulator for AArch64"
