#!/bin/bash
# As gc-sums.sh, on machines whose addresses are made by two instructions: a sum of a function's address is made in one function, and
# called in another; or it is made of a function's argument, and called there.
. "$TOP/tests/matrix/cells.sh"

check() { # kept|dropped NAME CODE: make's
  check_called "$1" "$2" "$call" "$3"
}

# A part of the function `make`, with 16 bytes on the stack.
cold='.pushsection .text.unlikely, "ax"; .type make.cold, @function; make.cold: .cfi_startproc; .cfi_def_cfa_offset 16'
cold_end='.cfi_endproc; .size make.cold, . - make.cold; .popsection'

check_called() { # kept|dropped NAME NO_CALL MAKE [LAYOUT: options of the linker...]
  sampled 8 || return 0
  make_odd "$3" ".p2align 4; .type make, @function; make: $4; .size make, . - make; .section .rodata; .p2align 3; offset: .quad 16" ret "$tail"
  expect_odd_verdict "$1" "$machine: $2" "${@:5}"
}

# A word in front of a function, as -fsanitize=kcfi puts there, is data, unless something refers to it: even if it looks like a
# jump into the middle of an instruction.
check_words() { # WORD JUMP ADDITION: an instruction of 4 bytes
  local next='.type next, @function; next: ret; .size next, . - next'
  make_odd "$3; ret" "$1; $next" ret "$tail"
  expect_odd_verdict dropped "$machine: a word in front of a function"
  make_odd "$2 1f" "1: $2 hidden; $next" ret "$tail"
  expect_odd_verdict kept "$machine: a jump in front of a function"
  make_odd "$2 1f" "1: $1; $next" ret "$tail"
  expect_odd_verdict kept "$machine: a jump to a word in front of a function"
}

# A switch whose table has one entry out of the function, as a distance of 664 bytes from one of the cases.
check_switch() { # NAME TABLE CODE: it goes to the case at 3 plus an entry
  check_called kept "a switch: $1" "$3; .rept 70; nop; .endr; 3: ret; .rept 165; nop; .endr; .type far, @function; far: $tail; .size far, . - far
    .pushsection .rodata; .p2align 3; 9: $2; .quad -1; .popsection" ret -no-pie
}

check_aarch64() {
  local call='stp x29, x30, [sp, #-16]!; bl make; blr x0; ldp x29, x30, [sp], #16; ret' tail='b collect'
  check_words '.word 0x02000000' b 'add x0, x0, #100'
  local name='adrp x0, helper; add x0, x0, :lo12:helper' offset='adrp x1, offset; ldr x1, [x1, :lo12:offset]'
  check kept "a sum" "$name; $offset; add x0, x0, x1; ret"
  check kept "a difference" "$name; $offset; sub x0, x0, x1; ret"
  check kept "of a table's entry" "$name; adrp x1, offset; add x1, x1, :lo12:offset; ldrsw x1, [x1, x2, lsl #2]; add x0, x0, x1; ret"
  check kept "plus a constant" "adr x0, helper; add x0, x0, #16; ret"
  check kept "scaled" "$name; add x0, x0, x1, lsl #4; ret"
  for index in 'add x0, x30, #64' 'mov x0, x30; add x0, x0, #64' 'orr x0, x30, #64' 'csel x0, x30, x1, eq; add x0, x0, #64' 'str x30, [x1]; ldr x0, [x1]; add x0, x0, #64'; do
    check kept "of its return address: $index" "$index; ret"
  done
  check kept "an address in several parts" "adrp x0, hidden+4096; sub x0, x0, #4096; add x0, x0, :lo12:hidden; ret"
  check kept "kept on the stack" "$name; sub sp, sp, #16; str x0, [sp, #8]; $offset; ldr x0, [sp, #8]; add x0, x0, x1; add sp, sp, #16; ret"
  check kept "kept on the stack as one of two" "$name; stp x2, x0, [sp, #-16]!; $offset; ldr x0, [sp, #8]; add x0, x0, x1; add sp, sp, #16; ret"
  check_called kept "a distance from another place" "$call" "adrp x0, place; add x0, x0, :lo12:place; adrp x1, far; ldrsw x1, [x1, :lo12:far]
    add x0, x0, x1; ret; .data; place: .quad 1; .section .rodata; .p2align 3; far: .quad distance; .globl hidden, place; .text" \
    "-no-pie -Wl,--defsym=distance=hidden-place"
  local names='adrp x8, 9f; add x8, x8, :lo12:9f; adr x10, 3f' index
  for index in 'w9, sxth #2' 'w9, sxtw #2' 'x9, sxtx #2'; do
    check_switch "unsigned entries, $index" '.byte 0, (far - 3b) / 4' "$names; ldrb w9, [x8, x0]; add x10, x10, $index; br x10"
  done
  check_switch "the low bytes of entries" '.hword 0, 256 + (far - 3b) / 4' "$names; ldrh w9, [x8, x0, lsl #1]; add x10, x10, w9, uxtb #2; br x10"
  check dropped "an address" "$name; ret"
  check dropped "an address, and another sum" "$name; add x1, x1, x2; ret"
  check kept "kept on the stack, and loaded as one of two" "$name; stp x2, x0, [sp, #-16]!; $offset; ldp x2, x0, [sp], #16; add x0, x0, x1; ret"
  local given="stp x29, x30, [sp, #-16]!; $name; mov x1, #16; bl make; ldp x29, x30, [sp], #16; ret" way extensions='.arch armv9.5-a+cpa+ls64+lse128+sve'
  for way in 'add x0, x0, #16' 'add w0, w0, w1' 'adds x0, x0, x1' 'orr x0, x0, #16' 'eor x0, x0, x1' 'bfi x0, x1, #0, #5' 'madd x0, x1, x2, x0' \
    'ldr x2, [x0], #16' 'ldr x2, [x0, #16]!' 'ldp x2, x3, [x0], #16' 'ld1 {v0.2d}, [x0], #16' 'movk x0, #16' 'fmov d0, x0; fmov x0, d0' \
    'add x0, x0, x1; str x0, [sp, #-16]!; ldr x0, [sp], #16' 'add x2, x0, x1; csel x0, x2, x0, ne' \
    'add x2, x0, x1; stp x0, x2, [sp, #-16]!; ldp x2, x0, [sp], #16' 'add x0, x0, x1; str x0, [sp, x2]; ldr x0, [sp, #8]' \
    'add x0, x0, x1; str w0, [sp, #12]; ldr x0, [sp, #8]' 'add x0, x0, x1; str x0, [sp, #8]; ldr x0, [sp, x2]' 'fmov d0, x0; add d0, d0, d1; str d0, [sp, #8]; ldr x0, [sp, #8]' \
    'add v0.2d, v0.2d, v1.2d; stp q1, q0, [sp]; ldr x0, [sp, #24]' 'add v0.2d, v0.2d, v1.2d; str q0, [sp, x2]; ldr x0, [sp, #24]'; do
    check_called kept "given: $way" "$given" "$way; br x0"
  done
  # Instructions that load and store at once, and others that load or store as one.
  local sum='sub sp, sp, #64; add x0, x0, x1' back='add sp, sp, #64; br x3'
  for way in 'swp x0, x9, [sp]' 'swpp x0, x9, [sp]' 'stlxr w9, x0, [sp]' 'stlxp w9, x0, x4, [sp]' 'cas x9, x0, [sp]' 'st64b x0, [sp]' \
    'index z0.d, x0, x0; str z0, [sp]' 'index z0.d, x0, x0; st1d {z0.d}, p0, [sp]'; do
    check_called kept "given, and stored: $way" "$given" "$extensions; $sum; $way; ldr x3, [sp]; $back" -no-pie
  done
  check_called kept "given, and added to what is stored" "$given" "$extensions; sub sp, sp, #64; str x0, [sp]; stadd x1, [sp]; ldr x3, [sp]; $back"
  for way in 'ldar x3, [sp]' 'ldapr x3, [sp]' 'ldxr x3, [sp]' 'ldxp x3, x9, [sp]' 'swp x9, x3, [sp]' 'casp x2, x3, x4, x5, [sp]' 'ld64b x2, [sp]'; do
    check_called kept "given, and loaded: $way" "$given" "$extensions; $sum; stp x0, x0, [sp]; $way; $back" -no-pie
  done
  for way in 'addpt x3, x0, x1' 'subpt x3, x0, x1'; do
    check_called kept "given: $way" "$given" "$extensions; $way; br x3"
  done
  for way in 'str x0, [x9]' 'stp x0, x2, [x9]' 'str x0, [x9, x2]' 'stlr x0, [x9]' 'swp x0, x2, [x9]' 'fmov d0, x0; str d0, [x9]' 'st1 {v0.2d}, [x9]' \
    'st1d {z0.d}, p0, [x9]'; do
    check_called kept "given, and stored where another register points to: $way" "$given" "$extensions; $sum; add x9, sp, #8; $way; ldr x3, [sp, #8]; $back" -no-pie
  done
  for way in 'add x9, sp, #8; ldr x3, [x9]' 'mov x9, sp; ldp x4, x3, [x9]' 'add x9, sp, #8; str x9, [sp, #16]; ldr x10, [sp, #16]; ldr x3, [x10]' 'mov x9, sp; ldr x3, [x9, x2]' \
    'mov x9, sp; ldr x4, [x9], #8; ldr x3, [x9]' 'mov x9, sp; ldp x9, x3, [x9]' '.arch armv9-a; addvl x9, sp, #0; ldr x3, [x9, #8]'; do
    check_called kept "given, and loaded where another register points to: $way" "$given" "$sum; str x0, [sp, #8]; $way; $back"
  done
  for way in 'b 2f; 3: sub sp, sp, #16; ldr x3, [sp, #24]; add sp, sp, #16; b 4f; 2: str x0, [sp, #8]; b 3b; 4:' 'mov x29, sp; str x0, [sp, #8]; ldr x3, [x29, #8]' \
    'add x29, sp, #16; stur x0, [x29, #-8]; ldr x3, [sp, #8]' 'str x0, [sp, #24]; add sp, sp, #16; ldr x3, [sp, #8]; sub sp, sp, #16' \
    'str x0, [sp, #-16]!; add sp, sp, #16; ldur x3, [sp, #-16]' 'str x0, [sp, #16]; add sp, sp, #16; ldr x3, [sp], #-16' \
    'add x29, sp, #20; str x0, [sp, #8]; ldur x3, [x29, #-12]' 'stp w0, w1, [sp, #8]; ldr x3, [sp, #8]'; do
    check_called kept "given, and stored at a place with two names: $way" "$given" "stp x29, x30, [sp, #-16]!; $sum; $way; add sp, sp, #64; ldp x29, x30, [sp], #16; br x3"
  done
  local frame='.pushsection .text.frame, "ax"; .p2align 2; .type frame, @function; frame: mov x29, sp; ret; .size frame, . - frame; .popsection'
  for way in 'mov x9, x29; str x20, [x9, #8]; ldr x3, [sp, #8]' 'mov x9, x29; str x20, [sp, #8]; ldr x3, [x9, #8]' 'str x29, [x1]; ldr x9, [x1]; str x20, [x9, #8]; ldr x3, [sp, #8]' \
    'str x29, [sp, #24]; ldr x9, [sp, #24]; str x20, [sp, #8]; ldr x3, [x9, #8]'; do
    check_called kept "given, and kept in a frame that another function makes: $way" "$given" "sub sp, sp, #32; add x20, x0, x1; bl frame; $way; blr x3; brk #1; $frame"
  done
  check_called kept "given, and called by a part" "$given" "str x30, [sp, #-16]!; add x9, x0, x1; cbnz x1, make.cold; ldr x30, [sp], #16; ret
    $cold; blr x9; ldr x30, [sp], #16; ret; $cold_end"
  check_called kept "given, and called by a part that loads it" "$given" "str x30, [sp, #-16]!; add x9, x0, x1; str x9, [sp, #8]; cbnz x1, make.cold; ldr x30, [sp], #16; ret
    $cold; ldr x9, [sp, #8]; blr x9; ldr x30, [sp], #16; ret; $cold_end"
  check_called dropped "given, and a part calls another" "$given" "str x30, [sp, #-16]!; add x9, x1, x1; str x0, [sp, #8]; cbnz x1, make.cold; ldr x30, [sp], #16; ret
    $cold; ldr x9, [sp, #8]; blr x9; ldr x30, [sp], #16; ret; $cold_end"
  check_called kept "given, and called by a part without a frame" "$given" "add x9, x0, x1; cbnz x1, make.cold; ret; ${cold/ 16/ 0}; br x9; $cold_end"
  check_called kept "given, and called after an unresolved jump" "$given" "ldr x9, [x2]; cbz x1, 1f; add x9, x0, x1; adrp x3, 8f; ldr x3, [x3, :lo12:8f]; br x3; 1: br x9; 2: ret
    .pushsection .data; 8: .xword 1b, 2b; .popsection"
  check_called dropped "given, beside another place" "$given" "sub sp, sp, #64; str x0, [sp, #24]; add x1, x1, x1; str x1, [sp, #16]; add sp, sp, #16; ldr x3, [sp, #8]; add sp, sp, #48; br x3"
  check_called kept "given, and stored" "$given" 'add x0, x0, x1; stlr x0, [x2]; br x0'
  check_called kept "given, after a jump back" "$given" 'b 1f; 2: br x0; 1: add x0, x0, x1; b 2b'
  check_called dropped "given, and loaded" "$given" 'add x1, x1, x2; ldr x0, [x1, x2, lsl #3]; cbz x0, 1f; br x0; 1: ret'
  check_called dropped "given, kept and copied" "$given" 'add x1, x1, x2; stp x0, x1, [sp, #-16]!; ldp x3, x1, [sp], #16; mov x0, x3; br x0'
  # Pointers that the dynamic linker signs have relocations, and tables of these, of their own.
  for way in '' ,-z,pack-relative-relocs; do
    make_odd 'stp x29, x30, [sp, #-16]!; adrp x8, pointer; ldr x8, [x8, :lo12:pointer]; blraaz x8; ldp x29, x30, [sp], #16; ret' \
      '.arch armv8.3-a; .data; .p2align 3; pointer: .quad hidden@AUTH(ia,42)' ret "$tail" || continue
    expect_odd_verdict kept "signed pointers" "-pie -Wl,-z,notext$way"
  done
  # A register's value across a call is known only if all functions preserve it.
  local save='stp x20, x19, [sp, #-16]!' load='ldp x20, x19, [sp], #16' other='adrp x19, hidden; add x19, x19, :lo12:hidden; cmp x0, x19'
  local begin='stp x29, x30, [sp, #-32]!; stp x19, x20, [sp, #16]' end='ldp x19, x20, [sp, #16]; ldp x29, x30, [sp], #32; ret'
  local sorts="$begin; adrp x19, helper; add x19, x19, :lo12:helper; bl make; mov x3, x19; mov x1, #0; bl qsort; $end"
  local jumps="$begin; adr x19, 1f; bl make; br x19; 1: $end"
  # A register that has another address where a jump reaches its call.
  local one='adrp x19, helper; add x19, x19, :lo12:helper' two='adrp x19, hidden; add x19, x19, :lo12:hidden'
  local switch='adrp x2, 3f; add x2, x2, :lo12:3f; ldrsw x1, [x2, x0, lsl #2]; add x1, x1, x2; br x1'
  local cases='.pushsection .rodata; .p2align 2; 3: .word 1b - 3b, 2b - 3b; .popsection'
  check_called dropped "one address" "$begin; $one; blr x19; $end" ret
  check_called kept "one of two addresses" "$begin; $two; cbz x0, 1f; $one; 1: blr x19; $end" ret
  check_called kept "one of two addresses, after a jump back" "$begin; cbz x0, 2f; $one; 1: blr x19; $end; 2: $two; b 1b" ret
  check_called kept "one of two addresses, by a switch" "$begin; $two; $switch; 1: $one; 2: blr x19; $end; $cases" ret
  check_called dropped "kept in a register that is preserved" "$sorts" "$save; $other; $load; ret"
  check_called dropped "a jump, by a register that is preserved" "$jumps" "$save; $other; $load; ret"
  check_called dropped "stored, and loaded by the frame pointer" "$sorts" "stp x29, x30, [sp, #-32]!; mov x29, sp; str x19, [x29, #16]; $other; ldur x19, [x29, #16]; ldp x29, x30, [sp], #32; ret"
  check_called dropped "beside one that is changed" "$sorts" "adrp x20, hidden; add x20, x20, :lo12:hidden; ret"
  for way in "$other" "$save; $other; ldp x19, x20, [sp], #16" "$save; $other; add sp, sp, #16" "$save; str x0, [sp, #8]; $other; $load" \
    "$save; $other; str w0, [sp, #12]; $load" "$save; $other; stp x0, x0, [sp]; $load" "$save; $other; str x19, [sp, #8]; $load" \
    "$save; $other; ldr w19, [sp, #8]; add sp, sp, #16" "$save; stp x19, x20, [sp]; $other; $load" "cbz x0, 1f; $save; $load; $other; 1:" \
    "adrp x19, pointer; ldr x19, [x19, :lo12:pointer]" 'fmov x19, d0' 'ldp x19, x1, [x0]' 'csel x19, x0, x19, eq' 'swp x0, x19, [x1]' \
    'fcvtzs x19, d0' 'umov x19, v0.d[0]' 'mrs x19, tpidr_el0' 'casp x18, x19, x0, x1, [x2]' 'ld64b x14, [x2]' 'st64bv x19, x0, [x2]' \
    'addpt x19, x0, x1' '.inst 0xf83fd05e /* ld64b x30, [x2] */'; do
    way="$extensions; $way; ret; .pushsection .data; pointer: .quad hidden; .popsection"
    check_called kept "a jump, by a register that is changed: $way" "$jumps" "$way"
  done
  check_called kept "kept in a register that is changed" "$sorts" "$other; ret"
  local switch='adrp x9, 5f; add x9, x9, :lo12:5f; ldrb w9, [x9, x0]; adr x10, 2f; add x10, x10, x9, lsl #2; br x10'
  check_called kept "a jump, by a register that is changed before one of two switches" "$jumps" "cbz x1, 3f; $save; mov x19, x0; $switch; 3: $save; $switch
    2: add sp, sp, #16; ret; .pushsection .rodata; 5: .byte 0, 0, 0; .popsection"
  check_called kept "by another frame pointer" "stp x29, x30, [sp, #-16]!; mov x29, sp; bl make; mov sp, x29; ldp x29, x30, [sp], #16; ret" 'mov x29, x0; ret'
  check_called kept "by another frame pointer that was saved" "stp x29, x30, [sp, #-16]!; mov x29, sp; bl make; mov sp, x29; ldp x29, x30, [sp], #16; ret" \
    'str x29, [sp, #-16]!; str x0, [sp]; ldr x29, [sp], #16; ret'
  # A call may preserve caller-saved registers.
  check_called kept "a sum in a register that the callee doesn't change" "$name; mov x1, #16; add x9, x0, x1; stp x29, x30, [sp, #-16]!; bl make; blr x9; ldp x29, x30, [sp], #16; ret" "ret"
  check_called kept "given, in a register that the callee doesn't change" "$given" "stp x29, x30, [sp, #-16]!; add x9, x0, x1; bl 1f; blr x9; ldp x29, x30, [sp], #16; 1: ret"
}

check_riscv64() {
  local call='addi sp, sp, -16; sd ra, 8(sp); call make; jalr a0; ld ra, 8(sp); addi sp, sp, 16; ret' tail='tail collect'
  check_words '.option push; .option norvc; jal zero, no_call + 2; .option pop' j 'addi a0, a0, 100'
  local name='lla a0, helper' offset='lla a1, offset; ld a1, 0(a1)'
  check_switch "shifted entries" '.word 0, (far - 3b) / 2' 'lla t1, 9f; lla t2, 3f; slli a0, a0, 2; add a0, a0, t1; lw a0, 0(a0); .option arch, +zba; .option norelax; .option norvc; sh1add t2, a0, t2; jr t2'
  check kept "a sum" "$name; $offset; add a0, a0, a1; ret"
  check kept "a difference" "$name; $offset; sub a0, a0, a1; ret"
  check kept "of a table's entry" "$name; lla a1, offset; slli a2, a2, 2; add a1, a1, a2; lw a1, 0(a1); add a0, a0, a1; ret"
  check kept "plus a constant" "$name; addi a0, a0, 16; ret"
  check kept "of its return address" 'addi a0, ra, 64; ret'
  check kept "of its return address, copied" 'mv a0, ra; addi a0, a0, 64; ret'
  check kept "its own address, by a jump" "jal t1, 1f; 1: addi a0, t1, 64; ret"
  check kept "its own address, by a jump with a register" "lla a1, 1f; jalr a0, 0(a1); 1: addi a0, a0, 64; ret"
  check_called kept "a distance from another place" "$call" "lla a0, place; lw a1, far; add a0, a0, a1; ret; .data; place: .quad 1
    .section .rodata; .p2align 2; far: .word hidden - place; .text"
  check kept "an address in several parts" "1: auipc a0, %pcrel_hi(hidden); addi a0, a0, 16; addi a0, a0, %pcrel_lo(1b); addi a0, a0, -16; ret"
  local given="addi sp, sp, -16; sd ra, 8(sp); $name; li a1, 16; call make; ld ra, 8(sp); addi sp, sp, 16; ret" way
  for way in 'addi a0, a0, 16' 'addw a0, a0, a1' 'sub a0, a0, a1' 'or a0, a0, a1' 'xori a0, a0, 16' 'add.uw a0, a1, a0' 'sh1add a0, a1, a0' \
    'sh1add.uw a0, a1, a0' 'add a0, a0, a1; andi a0, a0, -2' 'addi a0, a0, 16; sd a0, -16(sp); ld a0, -16(sp)' \
    'addi sp, sp, -16; addi a0, a0, 16; sw a0, 8(sp); srli a0, a0, 32; sw a0, 12(sp); ld a0, 8(sp); addi sp, sp, 16' \
    'addi sp, sp, -16; add a0, a0, a1; sw a0, 12(sp); ld a0, 8(sp); addi sp, sp, 16' 'add a0, a0, a1; sd a0, -16(sp); lw a0, -16(sp)' \
    'addi sp, sp, -16; fmv.d.x fa0, a0; fadd.d fa0, fa0, fa1; fsd fa0, 8(sp); ld a0, 8(sp); addi sp, sp, 16' \
    'addi sp, sp, -16; vse64.v v0, (sp); ld a0, 8(sp); addi sp, sp, 16' 'fmv.d.x fa0, a0; fmv.x.d a0, fa0'; do
    check_called kept "given: $way" "$given" ".option arch, +zba, +v; $way; jr a0"
  done
  local sum='addi sp, sp, -16; add a0, a0, a1' back='addi sp, sp, 16; jr a3' zacas=', +zacas'
  [[ ${LLVM##*-} != 1[89] ]] || zacas= # experimental there
  for way in 'amoswap.d zero, a0, (sp)' 'amoadd.d zero, a0, (sp)' 'sc.d a2, a0, (sp)' 'amocas.d a4, a0, (sp)' 'mv a1, a0; amocas.q a4, a0, (sp); ld a3, 8(sp)'; do
    [[ -n $zacas || $way != *amocas* ]] || continue
    check_called kept "given, and stored: $way" "$given" ".option arch, +m$zacas; $sum; $way; ld a3, 0(sp); $back" -no-pie
  done
  for way in 'lr.d a3, (sp)' 'amoswap.d a3, zero, (sp)' 'amocas.q a2, a4, (sp)'; do
    [[ -n $zacas || $way != *amocas* ]] || continue
    check_called kept "given, and loaded: $way" "$given" ".option arch, +m$zacas; $sum; sd a0, 0(sp); sd a0, 8(sp); $way; $back" -no-pie
  done
  for way in 'sd a0, 0(a2)' 'amoswap.d zero, a0, (a2)' 'fmv.d.x fa0, a0; fsd fa0, 0(a2)' 'vse64.v v0, (a2)'; do
    check_called kept "given, and stored where another register points to: $way" "$given" ".option arch, +v; $sum; addi a2, sp, 8; $way; ld a3, 8(sp); $back" -no-pie
  done
  for way in 'addi a2, sp, 8; ld a3, 0(a2)' 'mv a2, sp; ld a3, 8(a2)' 'addi a2, sp, 8; sd a2, 0(sp); ld a4, 0(sp); ld a3, 0(a4)' 'mv a2, sp; add a2, a2, a1; ld a3, -8(a2)'; do
    check_called kept "given, and loaded where another register points to: $way" "$given" "$sum; sd a0, 8(sp); $way; $back"
  done
  for way in 'j 2f; 3: addi sp, sp, -16; ld a3, 24(sp); addi sp, sp, 16; j 4f; 2: sd a0, 8(sp); j 3b; 4:' 'addi s0, sp, 16; sd a0, 8(sp); ld a3, -8(s0)' \
    'mv s0, sp; sd a0, 8(s0); ld a3, 8(sp)' 'sd a0, 8(sp); addi sp, sp, 8; ld a3, 0(sp); addi sp, sp, -8' 'addi sp, sp, -16; sd a0, 0(sp); addi sp, sp, 16; ld a3, -16(sp)' \
    'addi s0, sp, 20; sd a0, 8(sp); ld a3, -12(s0)'; do
    check_called kept "given, and stored at a place with two names: $way" "$given" "addi sp, sp, -16; sd s0, 0(sp); $sum; $way; addi sp, sp, 16; ld s0, 0(sp); $back"
  done
  local frame='.pushsection .text.frame, "ax"; .p2align 1; .type frame, @function; frame: mv s0, sp; ret; .size frame, . - frame; .popsection'
  for way in 'addi a3, s0, 0; sd s2, 8(a3); ld a4, 8(sp)' 'addi a3, s0, 0; sd s2, 8(sp); ld a4, 8(a3)' 'sd s0, 0(a1); ld a3, 0(a1); sd s2, 8(a3); ld a4, 8(sp)' \
    'sd s0, 24(sp); ld a3, 24(sp); sd s2, 8(sp); ld a4, 8(a3)'; do
    check_called kept "given, and kept in a frame that another function makes: $way" "$given" "addi sp, sp, -32; add s2, a0, a1; call frame; $way; jalr a4; ebreak; $frame"
  done
  check_called kept "given, and called by a part" "$given" "addi sp, sp, -16; sd ra, 8(sp); add a3, a0, a1; beqz a1, 1f; j make.cold; 1: ld ra, 8(sp); addi sp, sp, 16; ret
    $cold; jalr a3; ld ra, 8(sp); addi sp, sp, 16; ret; $cold_end"
  check_called kept "given, and called by a part that loads it" "$given" "addi sp, sp, -16; sd ra, 8(sp); add a3, a0, a1; sd a3, 0(sp); beqz a1, 1f; j make.cold; 1: ld ra, 8(sp); addi sp, sp, 16; ret
    $cold; ld a3, 0(sp); jalr a3; ld ra, 8(sp); addi sp, sp, 16; ret; $cold_end"
  check_called dropped "given, and a part calls another" "$given" "addi sp, sp, -16; sd ra, 8(sp); add a3, a1, a1; sd a0, 0(sp); beqz a1, 1f; j make.cold; 1: ld ra, 8(sp); addi sp, sp, 16; ret
    $cold; ld a3, 0(sp); jalr a3; ld ra, 8(sp); addi sp, sp, 16; ret; $cold_end"
  check_called kept "given, and called by a part without a frame" "$given" "add a3, a0, a1; beqz a1, 1f; j make.cold; 1: ret; ${cold/ 16/ 0}; jr a3; $cold_end"
  check_called kept "given, and called after an unresolved jump" "$given" "ld a3, 0(a2); beqz a1, 1f; add a3, a0, a1; lla a4, 8f; ld a4, 0(a4); jr a4; 1: jr a3; 2: ret
    .pushsection .data; 8: .quad 1b, 2b; .popsection"
  check_called dropped "given, beside another place" "$given" "addi sp, sp, -32; sd a0, 24(sp); add a1, a1, a1; sd a1, 16(sp); addi sp, sp, 16; ld a3, 8(sp); addi sp, sp, 16; jr a3"
  check_called kept "given, with a distance" "$given" 'jr 16(a0)'
  local save='addi sp, sp, -16; sd s2, 0(sp); sd s1, 8(sp)' load='ld s2, 0(sp); ld s1, 8(sp); addi sp, sp, 16' other='lla s1, hidden; sub a1, a0, s1'
  local begin='addi sp, sp, -32; sd ra, 24(sp); sd s0, 16(sp); sd s1, 8(sp); sd s2, 0(sp)' end='ld ra, 24(sp); ld s0, 16(sp); ld s1, 8(sp); ld s2, 0(sp); addi sp, sp, 32; ret'
  local sorts="$begin; lla s1, helper; call make; mv a3, s1; li a1, 0; call qsort; $end"
  local jumps="$begin; lla s1, 1f; call make; jr s1; 1: $end"
  local one='lla s1, helper' two='lla s1, hidden'
  check_called dropped "one address" "$begin; $one; jalr s1; $end" ret
  check_called kept "one of two addresses" "$begin; $two; beqz a0, 1f; $one; 1: jalr s1; $end" ret
  check_called kept "one of two addresses, after a jump back" "$begin; beqz a0, 2f; $one; 1: jalr s1; $end; 2: $two; j 1b" ret
  check_called dropped "kept in a register that is preserved" "$sorts" "$save; $other; $load; ret"
  check_called dropped "a jump, by a register that is preserved" "$jumps" "$save; $other; $load; ret"
  check_called dropped "stored, and loaded by the frame pointer" "$sorts" "addi sp, sp, -32; sd s0, 16(sp); addi s0, sp, 32; sd s1, -24(s0); $other; ld s1, -24(s0); ld s0, 16(sp); addi sp, sp, 32; ret"
  check_called dropped "beside one that is changed" "$sorts" "lla s2, hidden; ret"
  check_called dropped "beside numbers with a point" "$sorts" "fmv.d fs1, fa0; fadd.d fs1, fs1, fa0; fcvt.d.l fs1, a0; fmv.d.x fs1, a0; fsqrt.d fs1, fs1; fmin.d fs1, fs1, fa0; ret"
  for way in "$other" "$save; $other; ld s1, 0(sp); ld s2, 8(sp); addi sp, sp, 16" "$save; $other; addi sp, sp, 16" "$save; sd a0, 8(sp); $other; $load" \
    "$save; $other; sw a0, 12(sp); $load" "$save; $other; sd s1, 8(sp); $load" "$save; $other; lw s1, 8(sp); addi sp, sp, 16" \
    "beqz a0, 1f; $save; $load; $other; 1:" "ld s1, pointer" 'fmv.x.d s1, fa0' 'feq.d s1, fa0, fa0' 'fcvt.l.d s1, fa0' 'fclass.d s1, fa0' \
    'amoswap.d s1, a0, (a1)' 'vsetvli s1, a0, e64, m1, ta, ma' 'vmv.x.s s1, v0' 'vcpop.m s1, v0' 'csrr s1, cycle' 'jal s1, 1f; 1:' \
    'amocas.q s0, a0, (a2)'; do
    [[ -n $zacas || $way != *amocas* ]] || continue
    way=".option arch, +v$zacas; $way; ret; .pushsection .data; pointer: .quad hidden; .popsection"
    check_called kept "a jump, by a register that is changed: $way" "$jumps" "$way"
  done
  check_called kept "kept in a register that is changed" "$sorts" "$other; ret"
  check_called kept "by another frame pointer" "addi sp, sp, -16; sd ra, 8(sp); sd s0, 0(sp); addi s0, sp, 16; call make; addi sp, s0, -16; ld ra, 8(sp); ld s0, 0(sp); addi sp, sp, 16; ret" 'mv s0, a0; ret'
  check_called kept "by another frame pointer that was saved" "addi sp, sp, -16; sd ra, 8(sp); sd s0, 0(sp); addi s0, sp, 16; call make; addi sp, s0, -16; ld ra, 8(sp); ld s0, 0(sp); addi sp, sp, 16; ret" \
    'addi sp, sp, -16; sd s0, 0(sp); sd a0, 0(sp); ld s0, 0(sp); addi sp, sp, 16; ret'
  check_called kept "given, in a register that the callee doesn't change" "$given" "addi sp, sp, -16; sd ra, 8(sp); add t3, a0, a1; jal 1f; jalr t3; ld ra, 8(sp); addi sp, sp, 16; 1: ret"
  check_called kept "loaded, with a distance" "$given" 'ld t1, 0(a1); jr 16(t1)'
  check_called kept "given, after a jump back" "$given" 'j 1f; 2: jr a0; 1: add a0, a0, a1; j 2b'
  check_called kept "made of a copied part" '4: auipc t1, %pcrel_hi(hidden); mv t3, t1; jalr zero, %pcrel_lo(4b)(t3)' 'ret'
  check_called dropped "given, and loaded" "$given" 'slli a1, a1, 3; add a1, a1, a2; ld a0, 0(a1); beqz a0, 1f; jr a0; 1: ret'
  check_called dropped "given, kept and copied" "$given" 'addi sp, sp, -16; add a1, a1, a2; sd a0, 0(sp); sd a1, 8(sp); ld a3, 0(sp); mv a0, a3; addi sp, sp, 16; jr a0'
  # Stores of doubles may be other instructions (Zcmt) in a file without doubles (bits 1 and 2 of e_flags), with that extension, or
  # without attributes.
  SAMPLING=all check_called dropped "doubles" "$given" 'addi sp, sp, -16; c.fsdsp fa0, 8(sp); addi sp, sp, 16; ret'
  cp app doubles
  printf '\1' | dd of=app bs=1 seek=48 conv=notrunc status=none
  expect_verdict kept app managed_no_call --gc-entry=collect
  for extension in kept:zcmp10 kept:zcmt10 dropped:zcmop1; do # Zcmop has none, and RVA23 has it
    sed "s/_zca1p0/_${extension#*:}/" doubles >app
    cmp -s doubles app || expect_verdict "${extension%:*}" app managed_no_call --gc-entry=collect # LLVM 19 names no Zca
  done
  "$LLVM/bin/llvm-objcopy" --remove-section=.riscv.attributes doubles app
  expect_verdict kept app managed_no_call --gc-entry=collect
  check kept "kept on the stack" "$name; addi sp, sp, -16; sd a0, 8(sp); $offset; ld a0, 8(sp); add a0, a0, a1; addi sp, sp, 16; ret"
}

for machine in "${other_machines[@]}"; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  choose_machine "$machine"
  make_lonely_program
  "check_$machine"
done
