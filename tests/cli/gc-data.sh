#!/bin/bash
# Functions that only data refer to, in ways hidden from linkers and loaders. The start reaches no collection, so that these
# ways alone keep the records.
. "$TOP/tests/cli/common.sh"

make_lonely_program # managed.o main.o collect.o

check() { # kept|dropped NAME CODE DATA: no_call's
  make_odd "$3" "${4-}" '' 'call collect; ret'
  expect_odd_verdict "$1" "$2"
}

check dropped "no way" 'mov 1f(%rip), %rax; jmp *%rax' '.data; .p2align 3; 1: .quad no_call'
check kept "code that may be written to" 'jmp 1f' '.section .patched, "awx", @progbits; 1: ret'
check kept "data that may be run" 'lea 1f(%rip), %rax; jmp *%rax' '.data; 1: jmp collect'
check kept "constants that may be run" 'lea 1f(%rip), %rax; jmp *%rax' '.section .rodata; 1: call collect; ret'
for section in .stackpack.handlers .eh_frame_handlers .note.handlers; do
  check kept "a section called $section" 'mov 1f(%rip), %rax; jmp *%rax' ".section $section, \"aw\"; .p2align 3; 1: .quad hidden"
done
check kept "a table of exceptions" 'mov 1f(%rip), %rax; jmp *%rax' '.section .gcc_except_table, "a"; .p2align 3; 1: .quad hidden'
check kept "a distance from the offset table" 'push %rbx; call make; call *%rax; pop %rbx; ret' '.type make, @function
make: lea _GLOBAL_OFFSET_TABLE_(%rip), %rax; add 1f(%rip), %rax; ret
  .section .rodata; .byte 1; 1: .quad hidden@GOTOFF'# A table of distances from its start, and something else that refers to its middle.
check kept "a distance from before the last place that is referred to" 'lea 2f(%rip), %rax; call load; call *%rax; ret' '.p2align 4; .type load, @function
load: lea 1f(%rip), %rcx; movslq 40(%rcx), %rax; add %rcx, %rax; ret
  .size load, . - load; .section .rodata; .p2align 3; 1: .long 0, 0, 0, 0, 0, 0, 0, 0; 2: .long 0, 0, hidden - 1b; .text'

# Distances from other places, which the reader names beside the table: the file's first byte, a variable, also by a word that has
# its address, and a single word as the table.
for base in __ehdr_start variable; do
  for load in "lea $base(%rip), %rax; lea 1f(%rip), %rcx; movslq 8(%rcx), %rcx" "lea $base(%rip), %rax; movslq 1f+8(%rip), %rcx" \
    "mov $base@GOTPCREL(%rip), %rax; movslq 1f+8(%rip), %rcx" "mov from(%rip), %rax; movslq 1f+8(%rip), %rcx"; do
    make_odd 'call load; call *%rax; ret' ".globl hidden; .p2align 4; .type load, @function
load: $load; add %rcx, %rax; ret
  .size load, . - load; .data; .globl variable; .hidden variable; variable: .quad 1; from: .quad $base
  .section .rodata; .p2align 3; 1: .quad 7, distance; .text" '' 'call collect; ret'
    for options in -no-pie "-pie -Wl,-z,notext" "-no-pie -Wl,--no-relax"; do
      expect_odd_verdict kept "a distance from $base: $load" "$options -Wl,--defsym=distance=hidden-$base"
    done
  done
done

# In code, after a function or in front of one, also at odd places. A relocation marks addresses in a position-independent file.
for bytes in '.byte 1; 8: .quad hidden' '.byte 1; 8: .long hidden, 0'; do
  make_odd 'mov 1f(%rip), %rcx; call load; jmp *%rax' ".p2align 4; .type load, @function; load: mov (%rcx), %rax; ret
    .size load, . - load; .p2align 2; $bytes; .data; .p2align 3; 1: .quad 8b; .text" '' 'call collect; ret'
  expect_odd_verdict kept "a word in code: $bytes" -no-pie
done
check kept "a distance in front of a function" 'mov 1f(%rip), %rcx; call load; call *%rax; ret' '.p2align 4; .type load, @function
load: movslq -4(%rcx), %rax; add %rcx, %rax; ret
  .size load, . - load; .p2align 2; .byte 1; .long hidden - after; .type after, @function
after: ret
  .size after, . - after; .data; .p2align 3; 1: .quad after; .text'

# Constant data, as its section says, in a segment that the program can write to.
make_odd 'push %rbx; call change; call *slot(%rip); pop %rbx; ret' '.type change, @function
change: lea hidden(%rip), %rax; mov 1f(%rip), %rcx; mov %rax, (%rcx); ret
  .section .numbers, "aw"; .p2align 3; slot: .quad helper; .data; 1: .quad slot; .text' 'mov $1, %eax; ret' 'call collect; ret'
link_with bfd app managed.o main.o collect.o odd.o
objcopy --set-section-flags .numbers=alloc,load,readonly,data app readonly
expect_verdict kept readonly managed_no_call --gc-entry=collect

# Instructions between the ones reachable from the function's start, with a label's address as their only reference: `jmp
# collect` is in the constant of a movabs.
hidden='.byte 0x48, 0xb8; 9: jmp collect; ret; nop; nop; nop; nop; nop; nop; mov $1, %eax; ret'
check kept "an instruction in another, in a table" "lea 1f(%rip), %rax; jmp *(%rax,%rdi,8); 2: mov \$1, %eax; ret; $hidden" '.data; .p2align 3; 1: .quad 2b, 9b'
check kept "an instruction in another, by a label" "lea 9f(%rip), %rax; jmp *%rax; $hidden"
check kept "an instruction in another, by a label for another function" "lea 9f(%rip), %rdi; jmp go; $hidden" '.type go, @function; go: jmp *%rdi'
check kept "an instruction in another one of another function" "lea 9f(%rip), %rax; jmp *%rax" \
  ".type odd, @function; odd: xor %eax, %eax; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; ret; $hidden; nop; nop; nop; nop; nop"
check kept "a label of a function that has a switch" 'mov 1f(%rip), %rax; jmp *%rax' '.p2align 4; .type switches, @function
switches: push %rbx; and $1, %edi; lea 9f(%rip), %rcx; movslq (%rcx,%rdi,4), %rdx; add %rcx, %rdx; jmp *%rdx; 2: pop %rbx; ret
  3: mov $1, %eax; pop %rbx; ret; 4: sub $8, %rsp; call collect; add $8, %rsp; ret; .size switches, . - switches
  .section .rodata; .p2align 2; 9: .long 2b - 9b, 3b - 9b; .data; .p2align 3; 1: .quad 4b; .text'
check dropped "labels" 'lea 1f(%rip), %rax; jmp *(%rax,%rdi,8); 2: mov $1, %eax; ret; 3: mov $2, %eax; ret' '.data; .p2align 3; 1: .quad 2b, 3b'
check dropped "an address before a function's" 'lea hidden-1(%rip), %rax; cmp $-3, %rax; ret'

# A word that the dynamic linker makes an address beyond the program's memory; some function computes back from it.
beyond=0x10000000
for verdict in kept dropped; do
  make_odd 'mov 1f(%rip), %rdi; call leads_back; mov %rax, 2f(%rip); call uses; ret' ".type uses, @function; uses: jmp *2f(%rip)
.type leads_back, @function; leads_back: lea -$beyond(%rdi), %rax; ret; .data; .p2align 3; 1: .quad helper + $beyond; 2: .quad main; .text" \
    'mov $1, %eax; ret' 'call collect; ret'
  link_with lld app managed.o main.o collect.o odd.o -pie -Wl,-z,notext
  expect_verdict $verdict app managed_no_call --gc-entry=collect
  beyond=0
done

# Found by name when the program runs, for any symbol type.
for type in function object notype gnu_indirect_function; do
  for layout in -no-pie "-pie -Wl,-z,notext"; do
    make_odd 'push %rbx; xor %edi, %edi; lea name(%rip), %rsi; call dlsym; call *%rax; pop %rbx; ret' \
      ".globl exported; .p2align 4; .type exported, @$type; exported: call collect; ret; .size exported, . - exported
      .section .rodata; name: .asciz \"exported\"; .text" '' 'ret'
    # shellcheck disable=SC2086 # a list of words
    link_with lld app managed.o main.o collect.o odd.o $layout -Wl,--export-dynamic-symbol=exported
    echo "found by name: $type $layout"
    expect_verdict kept app managed_no_call --gc-entry=collect
    # shellcheck disable=SC2086
    link_with lld app managed.o main.o collect.o odd.o $layout
    expect_verdict dropped app managed_no_call --gc-entry=collect
  done
done

# Functions in assembly without names and unwind tables, after a function with a size: the second one's start shows only in a
# word that refers to it, of any size and at any place. It may point between apparent instructions after data.
for bytes in '' '.byte 6; .quad 0x4811223344556677'; do
  for word in '.p2align 3; .long 5; 1: .long second' '.byte 5; 1: .quad second'; do
    make_odd 'mov 1f(%rip), %eax; jmp *%rax' "first: mov \$5, %eax; mov \$6, %eax; mov \$7, %eax; ret; $bytes
second: call collect; ret; .data; $word; .text" '' 'ret'
    expect_odd_verdict kept "in one piece of code: $word" "-no-pie -Wl,--discard-all"
  done
done

# The highest bits of a word may be a tag: a kernel's addresses need them.
make_odd 'jmp *1f(%rip); .data; .p2align 3; 1: .quad hidden; .text' '' '' 'call collect; ret'
"$LLVM/bin/ld.lld" -static -e managed_no_call --image-base=0xffffffff80000000 -o app managed.o odd.o collect.o
expect_refusal 'app: .* is at an address of more than 48 bits$' "$stackpack" pack --always --gc-entry=collect app
expect_status 0 "$stackpack" pack --always app
