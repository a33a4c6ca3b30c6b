#!/bin/bash
# As gc-returns.sh, where calls leave the return address in a register: a return, or another function's after a jump, by anything else
# than the function's own. Functions that save and load it as compilers do drop their records.
. "$TOP/tests/matrix/cells.sh"

check() { # kept|dropped NAME CODE: no_call's
  sampled 8 || return 0
  make_odd "$3" '' ret "$tail"
  expect_odd_verdict "$1" "$machine: $2" -no-pie
}

check_aarch64() {
  local save='stp x29, x30, [sp, #-16]!' load='ldp x29, x30, [sp], #16' way
  check kept "another one, after a debugger's trap" 'str x0, [sp, #-16]!; brk #0xf000; ldr x30, [sp], #16; ret'
  for way in 0 22 0xf000; do
    check kept "stored over, before a debugger's trap, $way" "$save; cbz x0, 1f; str x0, [sp, #8]; brk #$way; 1: $load; ret"
  done
  check dropped "stored over, before a compiler's trap" "$save; cbz x0, 1f; str x0, [sp, #8]; brk #1; 1: $load; ret"
  check kept "another one" 'mov x30, x0; ret'
  check kept "a sum" 'add x30, x30, #64; ret'
  check kept "by a register" 'mov x9, x30; add x9, x9, #64; br x9'
  check kept "read and called" "$save; add x9, x30, #64; blr x9; $load; ret"
  check kept "stored over" "$save; str x0, [sp, #8]; $load; ret"
  check kept "stored over by the frame pointer" "$save; mov x29, sp; str x0, [x29, #8]; $load; ret"
  check kept "stored over by a vector" "$save; str q0, [sp]; $load; ret"
  check kept "stored over in pieces" "$save; str w0, [sp, #12]; $load; ret"
  check kept "stored over, before it is saved by address" "b 2f; 1: str x0, [sp, #8]; $load; ret; 2: $save; b 1b"
  check kept "stored over by its address" "$save; add x9, sp, #8; str x0, [x9]; $load; ret"
  for way in 'st1 {v0.d}[0], [sp]' 'st1 {v0.2d-v3.2d}, [sp]' 'swp x0, x9, [sp]' 'cas x9, x0, [sp]' 'stlr x0, [sp]' 'stlxr w9, x0, [sp]' \
    'stlur x0, [sp]' 'str x0, [sp, x2]' 'str w0, [sp, w2, uxtw]' 'strb w0, [sp, x2]' 'str q0, [sp, x2]' 'str z0, [sp]' 'st1d {z0.d}, p0, [sp]' 'stnp x0, x0, [sp]' \
    'st1d {z0.d-z1.d}, pn8, [sp]' 'st1b {z0.b-z3.b}, pn8, [sp, x1]' 'stnt1d {z0.d, z8.d}, pn8, [sp]'; do
    check kept "stored over: $way" ".arch armv9-a+sme2+memtag; str x30, [sp, #-16]!; $way; ldr x30, [sp], #16; ret"
  done
  for way in 'stlur x0, [sp, #16]' 'stgp x0, x0, [sp, #16]' 'sttr x0, [sp, #16]'; do
    check kept "stored over at a distance: $way" ".arch armv8.5-a+memtag; sub sp, sp, #32; str x30, [sp, #16]; $way; ldr x30, [sp, #16]; add sp, sp, #32; ret"
  done
  for way in 'mov x9, sp' 'adds x9, sp, #0' 'subs x9, sp, #0' 'add x9, sp, xzr' 'sub x9, sp, xzr' 'irg x9, sp' 'addg x9, sp, #0, #0' \
    'addvl x9, sp, #0' 'mov z0.d, sp; fmov x9, d0' 'mov z0.d, p0/m, sp; fmov x9, d0'; do
    check kept "stored over by its address: $way" ".arch armv8.5-a+sve+memtag; str x30, [sp, #-16]!; $way; str x0, [x9]; ldr x30, [sp], #16; ret"
  done
  for way in 'orr x9, x29, x29' 'add x9, x29, xzr' 'adds x9, x29, #0' 'csel x9, x29, xzr, eq' 'str x29, [sp, #16]; ldr x9, [sp, #16]' \
    'str x29, [x1]; ldr x9, [x1]' 'mov z0.d, x29; fmov x9, d0' 'mov z0.d, p0/m, x29; fmov x9, d0' 'insr z0.d, x29; fmov x9, d0' \
    'index z0.d, x29, #0; fmov x9, d0' 'addvl x9, x29, #0' 'index z0.d, #0, x29; mov x9, v0.d[1]' 'st64b x22, [x1]; ldr x9, [x1, #56]' \
    'casp x0, x1, x28, x29, [x1]; ldr x9, [x1, #8]'; do
    check kept "stored over by the frame's address: $way" ".arch armv9-a+ls64; stp x29, x30, [sp, #-32]!; mov x29, sp; $way; str x0, [x9, #8]; ldp x29, x30, [sp], #32; ret"
  done
  # An instruction that stores by a register also moves that.
  for way in 'add x29, sp, #0; str x0, [x29, #24]!' 'add x29, sp, #0; stp x0, x0, [x29, #16]!' 'add x29, sp, #24; str x0, [x29], #8' \
    'add x29, sp, #16; st1 {v0.2d}, [x29], #16' 'add x29, sp, #16; stlr x0, [x29, #-8]!' 'mov x29, sp; add sp, sp, #16; st1 {v0.2d}, [sp], x1; mov sp, x29' \
    'mov x29, sp; add sp, sp, #16; swpp x0, x9, [sp]; mov sp, x29' 'mov x29, sp; add sp, sp, #24; stlr x0, [sp, #-8]!; mov sp, x29' \
    'mov x29, sp; mov x30, x0; .inst 0xa9817bbd /* stp x29, x30, [x29, #16]! */'; do
    check kept "stored over by a register that moves: $way" ".arch armv9.4-a+lse128+rcpc3; sub sp, sp, #32; stp x29, x30, [sp, #16]; $way; ldp x29, x30, [sp, #16]; add sp, sp, #32; ret"
  done
  check dropped "stored beside" ".arch armv8.5-a+memtag; stp x29, x30, [sp, #-48]!; stlur x0, [sp, #16]; ldapur x0, [sp, #8]; stgp x0, x0, [sp, #16]
    subs x9, sp, #16; stg sp, [sp, #16]; ldp x29, x30, [sp], #48; ret"
  check kept "loaded, but never saved" 'sub sp, sp, #16; ldr x30, [sp, #8]; add sp, sp, #16; ret'
  check kept "loaded from another place" 'stp x29, x30, [sp, #-32]!; str x0, [sp, #24]; ldr x30, [sp, #24]; add sp, sp, #32; ret'
  check kept "loaded by a register" "$save; ldr x30, [x0]; add sp, sp, #16; ret"
  check kept "saved elsewhere and read" "str x30, [x0]; ldr x9, [x0]; add x9, x9, #64; br x9"
  check kept "not loaded" "$save; mov x30, x0; add sp, sp, #16; ret"
  check kept "to another stack" 'mov sp, x0; ldp x29, x30, [sp], #16; ret'
  check kept "to another stack, saved before" "$save; mov x9, sp; str x9, [x0]; ldr x9, [x1]; mov sp, x9; $load; ret"
  check kept "on one of two ways" 'cbz x1, 1f; mov x30, x0; 1: ret'
  check kept "after a jump back" 'b 2f; 1: ret; 2: mov x30, x0; b 1b'
  check kept "made, then a jump" 'adr x30, 1f; add x30, x30, #16; b helper; 1: ret'
  check kept "less deep" 'add sp, sp, #16; ret'
  check kept "by another frame pointer" "$save; mov x29, x0; mov sp, x29; $load; ret"
  check kept "its caller's" "$save; bl writes; $load; ret; .type writes, @function; writes: str x0, [sp, #8]; ret"
  check kept "by the frame's address" "$save; mov x29, sp; mov x0, x29; bl helper; $load; ret"
  check kept "its caller's, by the caller's frame pointer" "$save; mov x29, sp; bl writes; $load; ret; .type writes, @function; writes: str x0, [x29, #8]; ret"
  check kept "its caller's, by the frame pointer" "$save; mov x29, sp; ldr x9, [x29]; str x0, [x9, #8]; $load; ret"
  for way in 'mov x9, x29; str x0, [x9, #8]' 'str x0, [x29, #8]!' 'stp x0, x0, [x29], #16' 'st1 {v0.2d}, [x29], #16' 'cpyfp [x29]!, [x1]!, x2!' \
    'ldr x9, [sp]; str x0, [x9, #8]' 'mov x29, sp; ldp x9, x10, [x29]; str x0, [x9, #8]' 'mov x29, sp; ldr x29, [x29]; str x0, [x29, #8]'; do
    check kept "its caller's, by the caller's frame pointer: $way" ".arch armv8.8-a; $save; mov x29, sp; bl writes; $load; ret; .p2align 4; .type writes, @function
      writes: cbz x1, 1f; 1: $save; $way; $load; ret"
  done
  check dropped "its arguments' addresses" "$save; add x0, sp, #16; ldr x1, [sp, #24]; bl helper; $load; ret"
  check dropped "a leaf" 'add x0, x0, #1; ret'
  check dropped "a tail call" 'b helper'
  check dropped "saved registers" "stp x29, x30, [sp, #-32]!; mov x29, sp; str x19, [sp, #16]; mov x19, x0; bl helper; mov x0, x19
    ldr x19, [sp, #16]; ldp x29, x30, [sp], #32; ret"
  check dropped "a stack that grows" "$save; mov x29, sp; sub sp, sp, x0; bl helper; mov sp, x29; $load; ret"
  check dropped "a frame, and distances and vectors of its register's number" ".arch armv9-a+memtag; $save; mov x29, sp; stlur x0, [x1, #-40]; stlur x0, [x1, #-24]
    stg x1, [x1, #-640]; add z0.d, z29.d, z30.d; ld1d {z0.d}, p0/z, [x1, z29.d]; $load; ret"
  check dropped "a large frame" "$save; sub sp, sp, #1, lsl #12; str x0, [sp, #8]; bl helper; add sp, sp, #1, lsl #12; $load; ret"
  check dropped "saved on one of two ways" "cbz x0, 1f; $save; bl helper; $load; 1: ret"
  check dropped "two returns" "$save; cbz x0, 1f; bl helper; $load; ret; 1: mov x0, #1; $load; ret"
  check dropped "a loop" "$save; 1: bl helper; sub x0, x0, #1; cbnz x0, 1b; $load; b helper"
  check dropped "signed" "hint #25; $save; bl helper; $load; hint #29; ret"
  check dropped "signed, and checked by the return" "hint #25; $save; bl helper; $load; .inst 0xd65f0bff"
  check dropped "with barriers after it" 'cbz x0, 1f; ret; dsb sy; isb; 1: ret; .inst 0xd50330ff'
  check dropped "the register for something else" "$save; ldr x30, [x0]; str x30, [x1]; bl helper; $load; ret"
  # What functions share: see tool/flow/helper.h.
  local shared=".p2align 4; .type loads, @function; loads:"
  check dropped "loaded by a helper" "$save; bl helper; b loads; $shared $load; ret"
  check kept "loaded by a helper from another place" "$save; bl helper; b loads; $shared ldp x30, x29, [sp], #16; ret"
  check kept "a helper that doesn't load it" "$save; bl helper; b loads; $shared add sp, sp, #16; ret"
  check kept "a helper that goes elsewhere" "$save; bl helper; b loads; $shared $load; b hidden"
  # What LLVM outlines: the return address is kept in a register across a call that preserves it.
  local outlined=".p2align 4; .type outlined, @function; outlined:"
  check dropped "kept in a register across a helper" "mov x9, x30; bl outlined; mov x30, x9; ret; $outlined add x0, x1, x2; ret"
  check dropped "kept in a register across several helpers" "mov x9, x30; cbz x0, 1f; bl outlined; 1: bl outlined; mov x30, x9; b helper; $outlined mul x0, x1, x2; ret"
  check kept "kept in a register that a helper changes" "mov x9, x30; bl outlined; mov x30, x9; ret; $outlined add x9, x1, x2; ret"
  check kept "kept in a register that a call may change" "mov x9, x30; bl outlined; mov x30, x9; ret; $outlined cbz x0, 1f; mov x9, x1; 1: ret"
  check kept "kept in a register that is added to" "mov x9, x30; bl outlined; add x9, x9, #64; mov x30, x9; ret; $outlined add x0, x1, x2; ret"
  check kept "kept in a register on one of two ways" "cbz x1, 1f; mov x9, x30; 1: bl outlined; mov x30, x9; ret; $outlined add x0, x1, x2; ret"
  check kept "kept in a register, and not after a jump back" "mov x9, x30; 1: bl outlined; mov x30, x9; cbz x0, 2f; ret; 2: mov x9, x1; b 1b; $outlined add x0, x1, x2; ret"
  check kept "kept in a register that is called" "mov x9, x30; bl outlined; blr x9; mov x30, x9; ret; $outlined add x0, x1, x2; ret"
  check dropped "a frame that a helper stores to" "$save; sub sp, sp, #32; bl outlined; bl helper; add sp, sp, #32; $load; ret; $outlined stp x1, x2, [sp, #8]; ret"
  check kept "a return address that a helper stores over" "$save; sub sp, sp, #32; bl outlined; bl helper; add sp, sp, #32; $load; ret; $outlined stp x1, x2, [sp, #32]; ret"
  check kept "after a call that returns, with another return address" "cbz x0, 1f; $save; bl helper; 1: ret"
  check dropped "after a call that doesn't return" "cbz x0, 1f; $save; bl dies; 1: ret; .p2align 4; .type dies, @function; dies: brk #1"
  check kept "left on the stack for another function" "sub sp, sp, #16; adrp x9, pointer; ldr x9, [x9, :lo12:pointer]; br x9; .pushsection .data; pointer: .quad helper; .popsection"
}

check_riscv64() {
  local save='addi sp, sp, -16; sd ra, 8(sp)' load='ld ra, 8(sp); addi sp, sp, 16' way
  check kept "another one" 'mv ra, a0; ret'
  check kept "a sum" 'addi ra, ra, 64; ret'
  check kept "a sum, shifted" '.option arch, +zba; sh1add ra, ra, zero; ret'
  check kept "a sum, shifted, as a copy" '.option arch, +zba; sh1add t1, ra, zero; mv ra, t1; ret'
  check kept "by a register" 'addi t0, ra, 64; jr t0'
  check kept "a return with a distance" 'jr 64(ra)'
  check kept "another one, after a debugger's trap" "$save; beqz a0, 1f; sd a0, 8(sp); ebreak; 1: $load; ret"
  for way in 2 0x102 0x302 0x702 0x7b2; do check kept "of a trap, $way" ".insn i 0x73, 0, x0, x0, $way; ret"; done
  check kept "read and called" "$save; addi t1, ra, 64; jalr t1; $load; ret"
  check kept "stored over" "$save; sd a0, 8(sp); $load; ret"
  check kept "stored over by the frame pointer" "$save; sd s0, 0(sp); addi s0, sp, 16; sd a0, -8(s0); ld s0, 0(sp); $load; ret"
  check kept "stored over in pieces" "$save; sw a0, 12(sp); $load; ret"
  check kept "stored over by its address" "$save; addi t1, sp, 8; sd a0, 0(t1); $load; ret"
  for way in 'amoswap.d t2, a0, (sp)' 'sc.d t2, a0, (sp)' 'vse64.v v0, (sp)' 'vs1r.v v0, (sp)' 'fsd fa0, 0(sp)' 'c.fsdsp fa0, 0(sp)'; do
    check kept "stored over: $way" ".option arch, +v; addi sp, sp, -16; sd ra, 0(sp); $way; ld ra, 0(sp); addi sp, sp, 16; ret"
  done
  check kept "stored over by a wide number with a point" "$save; .insn s 0x27, 4, a0, 0(sp); $load; ret"
  for way in 'mv t2, sp' 'add t2, sp, zero' 'sub t2, sp, zero' 'or t2, zero, sp' 'ori t2, sp, 0' 'andi t2, sp, -16' 'slli t2, sp, 0' \
    'sh1add t2, zero, sp' 'sd sp, 8(sp); ld t2, 8(sp)' 'sd sp, 0(a1); ld t2, 0(a1)' 'fmv.d.x fa0, sp; fmv.x.d t2, fa0'; do
    check kept "stored over by its address: $way" ".option arch, +zba; addi sp, sp, -16; sd ra, 0(sp); $way; sd a0, 0(t2); ld ra, 0(sp); addi sp, sp, 16; ret"
  done
  for way in 'or t2, s0, zero' 'ori t2, s0, 0' 'sd s0, 0(sp); ld t2, 0(sp)' 'sd s0, -32(s0); ld t2, -32(s0)'; do
    check kept "stored over by the frame's address: $way" "addi sp, sp, -32; sd ra, 24(sp); sd s0, 16(sp); addi s0, sp, 32; $way; sd a0, -8(t2)
      ld ra, 24(sp); ld s0, 16(sp); addi sp, sp, 32; ret"
  done
  check dropped "stored beside" "addi sp, sp, -32; sd ra, 24(sp); amoswap.d t2, a0, (sp); sc.d t2, a0, (sp); ld ra, 24(sp); addi sp, sp, 32; ret"
  check kept "loaded, but never saved" "addi sp, sp, -16; $load; ret"
  check kept "loaded from another place" "$save; sd a0, 0(sp); ld ra, 0(sp); addi sp, sp, 16; ret"
  check kept "loaded by a register" "$save; ld ra, 0(a0); addi sp, sp, 16; ret"
  check kept "not loaded" "$save; mv ra, a0; addi sp, sp, 16; ret"
  check kept "to another stack" "mv sp, a0; $load; ret"
  check kept "to another stack, by a word" "$save; sd s0, 0(sp); addiw s0, sp, 0; mv sp, s0; ld s0, 0(sp); $load; ret"
  check kept "to another stack, by a shifted frame pointer" ".option arch, +zba; $save; sd s0, 0(sp); sh1add s0, sp, zero; mv sp, s0; ld s0, 0(sp); $load; ret"
  check kept "to another stack, by a shifted number" ".option arch, +zba; $save; li a1, 8; sh1add sp, a1, sp; addi sp, sp, -8; $load; ret"
  check kept "its caller's" "$save; call writes; $load; ret; .type writes, @function; writes: sd a0, 8(sp); ret"
  check kept "by the frame's address" "$save; sd s0, 0(sp); addi s0, sp, 16; mv a0, s0; call helper; ld s0, 0(sp); $load; ret"
  check kept "its caller's, by the caller's frame pointer" "$save; sd s0, 0(sp); addi s0, sp, 16; call writes; ld s0, 0(sp); $load; ret; .type writes, @function; writes: sd a0, -8(s0); ret"
  check kept "its caller's, by the frame pointer" "$save; sd s0, 0(sp); addi s0, sp, 16; ld t1, -16(s0); sd a0, -8(t1); ld s0, 0(sp); $load; ret"
  for way in 'mv t1, s0; sd a0, -8(t1)' 'ld t1, 0(sp); sd a0, -8(t1)' 'addi s0, sp, 16; ld s0, -16(s0); sd a0, -8(s0)' 'ld sp, 0(sp); sd a0, -8(sp); addi sp, s0, -16'; do
    check kept "its caller's, by the caller's frame pointer: $way" "$save; sd s0, 0(sp); addi s0, sp, 16; call writes; ld s0, 0(sp); $load; ret; .type writes, @function
      writes: beqz a1, 1f; 1: $save; sd s0, 0(sp); $way; ld s0, 0(sp); $load; ret"
    check kept "its caller's, by the caller's frame pointer, straight: $way" "$save; sd s0, 0(sp); addi s0, sp, 16; call writes; ld s0, 0(sp); $load; ret; .type writes, @function
      writes: addi sp, sp, -16; sd s0, 0(sp); $way; ld s0, 0(sp); addi sp, sp, 16; ret"
  done
  check dropped "its arguments' addresses" "$save; addi a0, sp, 16; ld a1, 24(sp); call helper; $load; ret"
  check kept "on one of two ways" 'beqz a1, 1f; mv ra, a0; 1: ret'
  check kept "after a jump back" 'j 2f; 1: ret; 2: mv ra, a0; j 1b'
  check kept "made, then a jump" 'lla ra, 1f; addi ra, ra, 16; tail helper; 1: ret'
  check kept "less deep" 'addi sp, sp, 16; ret'
  check dropped "a leaf" 'addi a0, a0, 1; ret'
  check dropped "a tail call" 'tail helper'
  check dropped "saved registers" "addi sp, sp, -32; sd ra, 24(sp); sd s0, 16(sp); sd s1, 8(sp); addi s0, sp, 32; mv s1, a0; call helper; mv a0, s1
    ld ra, 24(sp); ld s0, 16(sp); ld s1, 8(sp); addi sp, sp, 32; ret"
  check dropped "a call of a leaf with a frame pointer" "$save; sd s0, 0(sp); addi s0, sp, 16; call leaf; ld s0, 0(sp); $load; ret; .type leaf, @function
    leaf: addi sp, sp, -16; sd s0, 8(sp); addi s0, sp, 16; sd a0, -16(s0); ld s0, 8(sp); addi sp, sp, 16; ret"
  check dropped "a stack that grows" "$save; sd s0, 0(sp); addi s0, sp, 16; sub sp, sp, a0; call helper; addi sp, s0, -16; ld s0, 0(sp); $load; ret"
  check dropped "a frame, and vectors and numbers of its register's number" ".option arch, +v; $save; sd s0, 0(sp); addi s0, sp, 16; fadd.d fs0, fs0, fs0
    fcvt.w.d a0, fs0; vsetivli zero, 8, e8, m1, ta, ma; vadd.vv v8, v8, v1; vadd.vi v8, v8, 1; ld s0, 0(sp); $load; ret"
  check kept "a frame's address in a vector" ".option arch, +v; $save; sd s0, 0(sp); addi s0, sp, 16; vmv.v.x v0, s0; ld s0, 0(sp); $load; ret"
  check dropped "a large frame" "$save; lui a1, 1; addiw a1, a1, -512; sub sp, sp, a1; sd a0, 8(sp); call helper; lui a1, 1; addiw a1, a1, -512; add sp, sp, a1; $load; ret"
  check dropped "saved on one of two ways" "beqz a0, 1f; $save; call helper; $load; 1: ret"
  check dropped "two returns" "$save; beqz a0, 1f; call helper; $load; ret; 1: li a0, 1; $load; ret"
  check dropped "a loop" "$save; 1: call helper; addi a0, a0, -1; bnez a0, 1b; $load; tail helper"
  # Shared prologues and epilogues (-msave-restore): see tool/flow/helper.h.
  local stores='addi sp, sp, -32; li t1, 1; sd s1, 8(sp); j 1f; 1: sd s0, 16(sp); sd ra, 24(sp); slli t1, t1, 4; sub sp, sp, t1' back='jr t0'
  local loads='addi sp, sp, 16; ld s1, 8(sp); ld s0, 16(sp); ld ra, 24(sp); addi sp, sp, 32' uses='mv s0, a0; mv s1, a0; call helper'
  shared() { # STORES LOADS
    echo "jal t0, stores; $uses; j loads; .p2align 4; .type stores, @function; stores: $1; .p2align 4; .type loads, @function; loads: $2"
  }
  check dropped "helpers" "$(shared "$stores; $back" "$loads; ret")"
  expect_verdict kept app managed_no_call --gc-entry=stores
  expect_verdict kept app managed_no_call --gc-entry=loads
  check dropped "helpers that are far" "beqz a0, 1f; .option norelax; call t0, stores; $uses; tail loads; 1: ret; .type stores, @function; stores: $stores; $back; .type loads, @function; loads: $loads; ret"
  check kept "a helper that is called twice" "jal t0, stores; $(shared "$stores; $back" "$loads; ret")"
  check kept "a helper, and another stack behind a jump back" "jal t0, stores; 1: call helper; beqz a0, 2f; mv s0, a1; j loads; 2: addi sp, sp, -16; j 1b
    .type stores, @function; stores: $stores; $back; .type loads, @function; loads: $loads; ret"
  check kept "a helper that is jumped to" "ld t0, pointer; j stores; .type stores, @function; stores: $stores; $back; .pushsection .data; pointer: .quad hidden; .popsection"
  check kept "helpers, and less stack" "$(shared "$stores; $back" "${loads/32/48}; ret")"
  check kept "helpers, and another place" "$(shared "$stores; $back" "${loads/ra, 24/ra, 16}; ret")"
  check kept "helpers, and another place for a register" "$(shared "$stores; $back" "${loads/s0, 16/s0, 8}; ret")"
  check kept "a helper that goes elsewhere" "$(shared "$stores; $back" "$loads; tail hidden")"
  check kept "a helper that goes back elsewhere" "$(shared "$stores; lla t0, hidden; $back" "$loads; ret")"
  check kept "a helper that goes back at a distance" "$(shared "$stores; jr 16(t0)" "$loads; ret")"
  check kept "a helper that goes by another register" "$(shared "$stores; jr t2" "$loads; ret")"
  check kept "a helper that stores over it" "$(shared "$stores; sd a0, 40(sp); $back" "$loads; ret")"
  check kept "a helper that stores what isn't its caller's" "mv s0, a0; $(shared "$stores; $back" "$loads; ret")"
  check kept "a helper that changes a register" "$(shared "$stores; $back" "$loads; mv s1, a0; ret")"
  check kept "left on the stack for another function" "addi sp, sp, -16; ld t1, pointer; jr t1; .pushsection .data; pointer: .quad helper; .popsection"
}

for machine in "${other_machines[@]}"; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  choose_machine "$machine"
  make_lonely_program
  case $machine in aarch64) tail='b collect' ;; riscv64) tail='tail collect' ;; esac
  "check_$machine"
done
