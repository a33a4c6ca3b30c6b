#!/bin/bash
# RISC-V: a shared prologue (-msave-restore), and the instruction CM.PUSH, save more registers than a function changes, and its
# unwind table lists the changed ones only. All of them are loaded again before it returns: a root of its caller in one of these
# registers is updated where that was saved.
. "$TOP/tests/cli/common.sh"

[[ ${other_machines[*]} == *riscv64* ]] || skip "this LLVM's statepoints of RISC-V leave out their calls"
cat >managed.ll <<'IR'
declare void @collect()
declare ptr addrspace(1) @allocate(i64) "gc-leaf-function"
declare void @use(ptr) "gc-leaf-function"

define void @last() noinline uwtable gc "statepoint-example" {
  call void asm sideeffect "", "~{x19},~{x27}"() "gc-leaf-function"
  call void @collect()
  ret void
}
define void @odd() noinline uwtable gc "statepoint-example" {
  call void asm sideeffect "", "~{x18}"() "gc-leaf-function"
  call void @last()
  ret void
}
define void @roomy() noinline uwtable gc "statepoint-example" {
  %room = alloca [5000 x i8]
  call void @use(ptr %room)
  call void asm sideeffect "", "~{x9}"() "gc-leaf-function"
  call void @odd()
  ret void
}
define void @less() noinline uwtable gc "statepoint-example" {
  %room = alloca [100 x i8]
  call void @use(ptr %room)
  call void @roomy()
  ret void
}
define void @none() noinline uwtable gc "statepoint-example" {
  call void @less()
  ret void
}
define i64 @outer() noinline uwtable gc "statepoint-example" {
  %a = call ptr addrspace(1) @allocate(i64 1)
  %b = call ptr addrspace(1) @allocate(i64 20)
  %c = call ptr addrspace(1) @allocate(i64 300)
  %d = call ptr addrspace(1) @allocate(i64 4000)
  %e = call ptr addrspace(1) @allocate(i64 50000)
  %f = call ptr addrspace(1) @allocate(i64 600000)
  %g = call ptr addrspace(1) @allocate(i64 7000000)
  call void @none()
  %a1 = load i64, ptr addrspace(1) %a
  %b1 = load i64, ptr addrspace(1) %b
  %c1 = load i64, ptr addrspace(1) %c
  %d1 = load i64, ptr addrspace(1) %d
  %e1 = load i64, ptr addrspace(1) %e
  %f1 = load i64, ptr addrspace(1) %f
  %g1 = load i64, ptr addrspace(1) %g
  %ab = add i64 %a1, %b1
  %abc = add i64 %ab, %c1
  %abcd = add i64 %abc, %d1
  %abcde = add i64 %abcd, %e1
  %abcdef = add i64 %abcde, %f1
  %sum = add i64 %abcdef, %g1
  ret i64 %sum
}
IR
"$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc managed.ll -o managed.bc
roots=(-fixup-allow-gcptr-in-csr -max-registers-for-gc-values=12)

# Compiles the functions, with these features and another option of llc. The unwind tables of LLVM 19 and older have their first row
# behind the instructions that make room for variables.
compile_functions() { # OBJECT FEATURES OPTION [older]
  "$LLVM/bin/llc" -mtriple=riscv64-linux-gnu -O2 "${roots[@]}" -mattr="$2" "$3" managed.bc -o functions.s
  if [[ ${4-} == older && ${LLVM##*-} != 1[89] ]]; then
    awk '/^[a-z]+:/ { first = "" }
      /\.cfi_def_cfa_offset/ && first == "" { first = $0; next }
      /\.cfi_def_cfa_offset/ { first = "none" }
      /(call|jal)[ \t]+[a-z]/ && $0 !~ /t0/ && first != "none" && first != "" { print first; first = "none" }
      { print }' functions.s >older.s
    mv older.s functions.s
  fi
  "$LLVM/bin/llvm-mc" -triple=riscv64-linux-gnu -mattr="$2" "$3" -filetype=obj functions.s -o "$1"
}

expect_saved() { # PROGRAM FUNCTION REGISTERS
  [[ $("$stackpack" dump "$1" | grep -A1 " $2, " | tail -n 1) == *"from there: $3" ]] ||
    { "$stackpack" dump "$1"; fail "$2 of $1 doesn't save $3"; }
}

# Which registers: the listed ones, all in between, and the ones that go with them.
cat >rest.s <<'S'
	.globl collect, allocate, use
collect:
allocate:
use:
	ret
	.irp number, 0, 2, 3, 7, 12
	.globl __riscv_save_\number, __riscv_restore_\number
__riscv_save_\number:
__riscv_restore_\number:
	ret
	.endr
S
compile_functions shared.o +m,+a,+f,+d,+c,+save-restore -target-abi=lp64d
compile_functions shared-older.o +m,+a,+f,+d,+c,+save-restore -target-abi=lp64d older
compile_functions pushed.o +m,+zca,+zcmp -target-abi=lp64
compile_functions pushed-older.o +m,+zca,+zcmp -target-abi=lp64 older
"$LLVM/bin/llvm-mc" -triple=riscv64 -mattr=+m,+a,+f,+d,+c -target-abi=lp64d -filetype=obj rest.s -o rest-shared.o
"$LLVM/bin/llvm-mc" -triple=riscv64 -mattr=+m,+zca -target-abi=lp64 -filetype=obj rest.s -o rest-pushed.o
for program in shared{,-older} pushed{,-older}; do
  "$LLVM/bin/ld.lld" -e outer rest-${program%-older}.o $program.o -o $program
done
for program in shared{,-older}; do
  expect_saved $program none "ra-8 s0-16"
  expect_saved $program less "ra-8 s0-16"
  expect_saved $program roomy "ra-8 s0-16 s1-24 s2-32"
  expect_saved $program odd "ra-8 s0-16 s1-24 s2-32"
  expect_saved $program last "ra-8 s0-16 s1-24 s2-32 s3-40 s4-48 s5-56 s6-64 s7-72 s8-80 s9-88 s10-96 s11-104"
done
for program in pushed{,-older}; do
  expect_saved $program none "ra-8"
  expect_saved $program less "ra-8"
  expect_saved $program roomy "ra-24 s0-16 s1-8"
  expect_saved $program odd "ra-32 s0-24 s1-16 s2-8"
  expect_saved $program last "ra-104 s0-96 s1-88 s2-80 s3-72 s4-64 s5-56 s6-48 s7-40 s8-32 s9-24 s10-16 s11-8"
done

# Without an unwind table: CM.MVSA01 changes two saved registers, and has the encoding of a store (C.FSDSP).
cat >moves.ll <<'IR'
declare void @collect()
define void @moves(i64 %a, i64 %b) nounwind "frame-pointer"="all" gc "statepoint-example" {
  %room = alloca [64 x i8]
  call void asm sideeffect "", "r"(ptr %room) "gc-leaf-function"
  call void @collect()
  call void @collect() [ "deopt"(i64 %a, i64 %b) ]
  call void asm sideeffect "", "r,r"(i64 %a, i64 %b) "gc-leaf-function"
  ret void
}
IR
"$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc moves.ll -o moves.bc
for features in +m,+zca +m,+zca,+zcmp; do
  "$LLVM/bin/llc" -mtriple=riscv64-linux-gnu -O2 -mattr="$features" -target-abi=lp64 -filetype=obj moves.bc -o moves.o
  "$LLVM/bin/ld.lld" -shared -z notext -o moves moves.o
  if [[ $features == *zcmp* ]]; then
    [[ $("$LLVM/bin/llvm-objdump" -d moves) == *cm.mvsa01* ]] || fail "no CM.MVSA01"
    [[ $("$stackpack" dump moves) != *"from there"* ]] || fail "saved registers of code that can't be decoded"
  else
    expect_saved moves moves "ra-8 s0-16 s1-24 s2-32"
  fi
done
# The same in shared code, which goes back by t0.
"$LLVM/bin/llc" -mtriple=riscv64-linux-gnu -O2 -mattr=+m,+zca,+zcmp -target-abi=lp64 moves.bc -o moves.s
sed -i 's/cm\.mvsa01.*/jal t0, shared/' moves.s
echo '.text; .type shared, @function; shared: cm.mvsa01 s1, s2; jr t0; .size shared, . - shared' >>moves.s
"$LLVM/bin/llvm-mc" -triple=riscv64 -mattr=+m,+zca,+zcmp -target-abi=lp64 -filetype=obj moves.s -o moves.o
"$LLVM/bin/ld.lld" -shared -z notext -o moves moves.o
[[ $("$stackpack" dump moves) != *"from there"* ]] || fail "saved registers beside shared code that can't be decoded"

can_run riscv64 || { echo "no qemu, or no compiler: nothing was run"; exit 0; }
cat >collector.c <<'C'
#include "moving.h"

void collect_at(uintptr_t pc, uintptr_t stack_pointer, struct stackpack_registers *registers) {
  const struct stackpack_context context = stackpack_context_at_call(pc, stack_pointer, registers);
  move_objects(&context);
}

long outer(void);
void use(void *room);

void use(void *room) { (void)room; }

int main(void) {
  open_process();
  printf("%ld\n", outer());
  return 0;
}
C
{
  echo '	.globl collect
collect:
	mv a0, ra
	mv a1, sp
	addi sp, sp, -288
	sd ra, 272(sp)
	li t0, 0x0ffc0300
	sd t0, 256(sp)
	mv a2, sp'
  for register in 8 9 {18..27}; do echo "	sd x$register, 8 * $register(sp)"; done
  echo '	call collect_at'
  for register in 8 9 {18..27}; do echo "	ld x$register, 8 * $register(sp)"; done
  echo '	ld ra, 272(sp)
	addi sp, sp, 288
	ret'
} >stub.s
build_for riscv64 riscv64 "" libstackpack.a
for functions in shared shared-older; do
  riscv64-linux-gnu-gcc -O2 -static -Wl,--section-start=.note.gnu.build-id=0x10300 -I"$TOP/runtime" -I"$TOP/tests/cli/walk" $functions.o \
    collector.c stub.s riscv64/libstackpack.a -o app
  expect_status 0 "$stackpack" pack --always -q -o packed app
  expect_status 0 "$stackpack" verify app packed
  for program in app packed; do
    expect_status 0 qemu-riscv64 ./$program
    expect_output '^native code; frames above it were not looked at, 6 frames$'
    expect_output '^7654321$'
  done
done
