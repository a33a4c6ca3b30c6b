#!/bin/bash
# Stacks of managed frames between C++, C library and signal frames, all without frame pointers, are walked whole
# by the unwinding walker, alone and beside the walk by table: also where references are
# in callee-saved registers, where a frame's size is unknown, and where its slots are addressed from %rbx. Objects move
# at every allocation. The two walkers are compared at every collection. See unwind/program.h.
. "$TOP/tests/cli/common.sh"

. "$TOP/tests/cli/unwind/common.sh"

"$CC" -std=c17 "${flags[@]}" -DPLAIN -c "$here/collector.c" -o plain-collector.o
"$CC" -std=c17 "${flags[@]}" -c "$here/managed.c" -o plain-managed.o
"$cxx" "${flags[@]}" native.o plain-managed.o plain-collector.o -o plain
./plain >expected

statistic() { # NAME
  sed -n "s/^$1 //p" err
}

# How many references LLVM may leave in registers, if it may leave them in those that calls preserve; otherwise it takes all out.
in_registers="-fixup-allow-gcptr-in-csr -max-registers-for-gc-values"
for variant in "0" "2" "2 -max-registers-for-gc-values=16" "2 $in_registers="{1,2,4,16} "2 $in_registers=16 --frame-pointer=all"; do
  sampled 3 || continue
  read -ra options <<<"$variant"
  compile_references managed.o "${options[@]}"
  link_references raw
  expect_status 0 "$stackpack" pack -o packed raw
  for program in raw packed; do
    for walker in unwinding mixed; do
      expect_status 0 ./$program $walker
      diff expected out || fail "$variant: $program $walker doesn't print what the plain program does"
      mv err $program.$walker
    done
    expect_same $program.unwinding $program.mixed
  done
  expect_same raw.mixed packed.mixed
  mv packed.mixed err
  (($(statistic collections) > 500)) || fail "$variant: too few collections: $(<err)"
  (($(statistic most) >= 6)) || fail "$variant: the stacks have too few managed frames: $(<err)"
  (($(statistic native) > 5 * $(statistic collections))) || fail "$variant: too few native frames: $(<err)"
  (($(statistic derived) > 0 && $(statistic unknown) > 0)) || fail "$variant: no such frames: $(<err)"
  (($(statistic fast) > 500)) || fail "$variant: no fast walks: $(<err)"
  case $variant in
  *csr*) (($(statistic registers) > 100)) || fail "$variant: no references in registers: $(<err)" ;;
  *) (($(statistic registers) == 0)) || fail "$variant: references in registers: $(<err)" ;;
  esac
done

# The frames that managed.c speaks of are there: with pushed arguments, only after a branch, and with one end for two ways.
compile_references managed.o 2
code_of() { "$LLVM/bin/llvm-objdump" -d --no-show-raw-insn --disassemble-symbols="$1" managed.o | awk '$1 ~ /^[0-9a-f]+:$/ { print $2, $3 }'; }
code_of managed_pushed >code
(($(grep -c '^pushq %r' code) >= 7)) || { cat code >&2; fail "no arguments are pushed"; }
code_of managed_shrunk >code
grep -n -m 1 '^push' code | grep -qv '^1:' || { cat code >&2; fail "the frame is there from the start"; }
code_of managed_merged >code
[[ $(grep -c '^ret' code) == 1 && $(grep -c '^jmp' code) -ge 1 ]] || { cat code >&2; fail "the two ways have ends of their own"; }

code_of many >code
grep -q '^retq \$' code || { cat code >&2; fail "the callee doesn't take its arguments off the stack"; }
code_of most >code
grep -q '^pushq %rdi' code || { cat code >&2; fail "the callee doesn't save the registers of arguments"; }
dump_json raw | grep '"function":"managed_vector".*"size":16' >/dev/null || fail "no vector of references"

# Between segments there may be pages of nobody; then the C library finds for an address its segment only, and the unwind tables
# are in another one.
link_references gaps -Wl,-z,max-page-size=0x200000
for walker in unwinding mixed; do
  expect_status 0 ./gaps $walker
  diff expected out || fail "segments with gaps: $walker doesn't print what the plain program does"
done
