#!/bin/bash
# The samples for the other machines, run by qemu: with a moving collector, raw and packed, each prints the same as on this
# machine. Samples with a mistake in them differ. Some of them, or with CHECK_MACHINES=all (`make check-machines`) all.
. "$TOP/tests/samples/common.sh"

samples=(fibers)
mutants=(fibers-without-one)
if [[ ${CHECK_MACHINES-} == all ]]; then
  samples=(semispace semispace-O0 fibers threads handles)
  mutants=(fibers-without-one fibers-without-running fibers-without-values)
fi

# A sample's options: enough for collections while roots are in all places.
options_of() { # SAMPLE
  case $1 in
  semispace*) echo --stress --size 1 ;;
  fibers*) echo --stress --fibers 10 --size 8 ;;
  threads) echo --stress --lists 4 --length 12 ;;
  handles) echo --stress --size 20 ;;
  esac
}

# Raw and packed, it prints the output of this machine's. The work of one thread's collections is the same, too.
check_sample() { # FOLDER SAMPLE
  local options program
  read -ra options < <(options_of "$2")
  "$BUILD/samples/$2" --statistics "${options[@]}" >expected 2>expected.statistics
  for program in "$2-raw" "$2"; do
    "${emulator[@]}" "$1/samples/$program" --statistics "${options[@]}" >printed 2>statistics || fail "$1/$program: status $?: $(cat statistics)"
    expect_same expected printed
    [[ $2 == threads ]] || expect_same expected.statistics statistics
  done
}

# Compiled frames are left at all safepoints, inlined and not. (Packed, it needs Zstandard for that machine.)
check_deopt() { # FOLDER
  local program
  "$BUILD/samples/deopt" >expected
  for program in deopt-raw deopt-O0-raw; do
    "${emulator[@]}" "$1/samples/$program" >printed || fail "$1/$program: status $?"
    expect_same expected printed
  done
}

# Variables are saved at all checkpoints; and those of one machine's run are resumed on the other.
check_checkpoint() { # FOLDER
  local program result
  "$BUILD/samples/checkpoint" >expected
  read -r result _ <expected
  "$BUILD/samples/checkpoint" --save --at 9 >saved
  for program in checkpoint-raw checkpoint; do
    "${emulator[@]}" "$1/samples/$program" >printed || fail "$1/$program: status $?"
    expect_same expected printed
    [[ $("${emulator[@]}" "$1/samples/$program" --resume <saved) == "$result" ]] || fail "$1/$program: another result from here"
    "${emulator[@]}" "$1/samples/$program" --save --at 14 >saved_there
    [[ $("$BUILD/samples/checkpoint" --resume <saved_there) == "$result" ]] || fail "another result from $1/$program"
  done
}

# It goes wrong, or prints something else.
check_mutant() { # FOLDER MUTANT
  local options
  read -ra options < <(options_of "$2")
  "$BUILD/samples/fibers" "${options[@]}" >expected
  ! timeout 60 "${emulator[@]}" "$1/tests/samples/$2" "${options[@]}" >printed 2>statistics || ! cmp -s expected printed ||
    fail "$1/$2 makes no difference"
}

check_machine() { # MACHINE
  local sample mutant targets=("samples/"{deopt-raw,deopt-O0-raw,checkpoint,trace})
  for sample in "${samples[@]}"; do targets+=("samples/$sample"); done
  for mutant in "${mutants[@]}"; do targets+=("tests/samples/$mutant"); done
  build_for "$1" "$1" "" "${targets[@]}"
  emulator=(qemu-"$1" -L "/usr/$1-linux-gnu")
  for sample in "${samples[@]}"; do check_sample "$1" "$sample"; done
  for mutant in "${mutants[@]}"; do check_mutant "$1" "$mutant"; done
  check_deopt "$1"
  check_checkpoint "$1"
  check_trace "$1" "$1-linux-gnu-strip"
}

# Return addresses that are signed, by a processor that checks them.
check_signed() {
  build_for aarch64 signed -mbranch-protection=standard samples/semispace
  grep -q paciasp <("$LLVM/bin/llvm-objdump" -d signed/samples/semispace.d/O2/lists.o) || fail "nothing is signed"
  emulator=(qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu)
  check_sample signed semispace
}

for machine in "${other_machines[@]}"; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  check_machine "$machine"
done
if [[ ${CHECK_MACHINES-} == all ]]; then check_signed; fi
