#!/bin/bash
# As gc-sums.sh, on machines whose addresses are made by two instructions: a sum of a function's address is made in one function, and
# called in another.
. "$TOP/tests/matrix/cells.sh"

check() { # kept|dropped NAME CODE: make's
  make_odd "$call" ".p2align 4; .type make, @function; make: $3; .size make, . - make; .section .rodata; .p2align 3; offset: .quad 16" ret "$tail" "${clang_options[@]}"
  local layout
  for layout in -no-pie "-pie -Wl,-z,notext"; do
    # shellcheck disable=SC2086 # a list of words
    "$LLVM/bin/clang" "${clang_options[@]}" -fuse-ld=lld $layout -Wno-unused-command-line-argument -o app managed.o main.o collect.o odd.o
    echo "$machine: $2 $layout"
    expect_verdict "$1" app managed_no_call --gc-entry=collect
  done
}

check_aarch64() {
  local call='stp x29, x30, [sp, #-16]!; bl make; blr x0; ldp x29, x30, [sp], #16; ret' tail='b collect'
  local name='adrp x0, helper; add x0, x0, :lo12:helper' offset='adrp x1, offset; ldr x1, [x1, :lo12:offset]'
  check kept "a sum" "$name; $offset; add x0, x0, x1; ret"
  check kept "a difference" "$name; $offset; sub x0, x0, x1; ret"
  check kept "of a table's entry" "$name; adrp x1, offset; add x1, x1, :lo12:offset; ldrsw x1, [x1, x2, lsl #2]; add x0, x0, x1; ret"
  check kept "plus a constant" "adr x0, helper; add x0, x0, #16; ret"
  check kept "scaled" "$name; add x0, x0, x1, lsl #4; ret"
  check kept "kept on the stack" "$name; sub sp, sp, #16; str x0, [sp, #8]; $offset; ldr x0, [sp, #8]; add x0, x0, x1; add sp, sp, #16; ret"
  check kept "kept on the stack as one of two" "$name; stp x2, x0, [sp, #-16]!; $offset; ldr x0, [sp, #8]; add x0, x0, x1; add sp, sp, #16; ret"
  check dropped "an address" "$name; ret"
  check dropped "an address, and another sum" "$name; add x1, x1, x2; ret"
}

check_riscv64() {
  local call='addi sp, sp, -16; sd ra, 8(sp); call make; jalr a0; ld ra, 8(sp); addi sp, sp, 16; ret' tail='tail collect'
  local name='lla a0, helper' offset='lla a1, offset; ld a1, 0(a1)'
  check kept "a sum" "$name; $offset; add a0, a0, a1; ret"
  check kept "a difference" "$name; $offset; sub a0, a0, a1; ret"
  check kept "of a table's entry" "$name; lla a1, offset; slli a2, a2, 2; add a1, a1, a2; lw a1, 0(a1); add a0, a0, a1; ret"
  check kept "plus a constant" "$name; addi a0, a0, 16; ret"
  check kept "kept on the stack" "$name; addi sp, sp, -16; sd a0, 8(sp); $offset; ld a0, 8(sp); add a0, a0, a1; addi sp, sp, 16; ret"
}

for machine in "${other_machines[@]}"; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  choose_machine "$machine"
  make_lonely_program "${clang_options[@]}"
  "check_$machine"
done
