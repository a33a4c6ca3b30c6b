#!/bin/bash
# A return, or another function's after a jump, that takes something else than the function's own return address: calls of such a
# function keep their records. Functions that use the stack as compilers do, in all ways, drop them.
. "$TOP/tests/cli/common.sh"

compile_managed "$gc/managed.c" managed.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o
"$LLVM/bin/clang" -O1 -Dno_call=without -I"$gc" -c "$gc/native.c" -o native.o

check() { # kept|dropped NAME CODE: no_call's
  sampled 3 || return 0
  make_odd "$3" '' 'mov $1, %eax; ret' 'call collect; ret'
  link_with lld app managed.o native.o main.o odd.o
  echo "$2"
  expect_verdict "$1" app managed_no_call --gc-entry=collect
}

check kept "a sum" 'addq $hidden - back, (%rsp); ret; back:'
check kept "a difference" 'subq $64, (%rsp); ret'
check kept "by a register" 'mov (%rsp), %rax; add $64, %rax; mov %rax, (%rsp); ret'
check kept "taken off and put back" 'pop %rax; add $64, %rax; push %rax; ret'
check kept "taken off and jumped to" 'pop %rax; add $64, %rax; jmp *%rax'
check kept "read and called" 'push %rbx; mov 8(%rsp), %rax; add $64, %rax; call *%rax; pop %rbx; ret'
check kept "called where it is" 'call *(%rsp); ret'
check kept "called where it is, by the frame pointer" 'push %rbp; mov %rsp, %rbp; call *8(%rbp); pop %rbp; ret'
check kept "pushed again and called" 'sub $8, %rsp; push 8(%rsp); pop %rax; call *%rax; add $8, %rsp; ret'
check kept "by a frame pointer that is pushed" 'push %rbp; mov %rsp, %rbp; push (%rbp); pop %rax; mov %rdi, 8(%rax); pop %rbp; ret'
check kept "with a segment" 'lretq'
check kept "of an interrupt" 'iretq'
check kept "of a user interrupt" 'push %rdi; uiret; pop %rax; ret'
check kept "by an argument, after a debugger's trap" 'push %rdi; int3; ret'
check dropped "the own one, after a debugger's trap" 'push %rbx; int3; pop %rbx; ret'
check kept "an argument pushed over it" 'add $8, %rsp; push 8(%rsp); ret'
check kept "its caller's, pushed over it" 'call writes; ret; .type writes, @function; writes: add $24, %rsp; push 16(%rsp); sub $16, %rsp; ret'
check dropped "arguments pushed again" 'push 16(%rsp); push 16(%rsp); call helper; add $16, %rsp; ret'
check kept "by the frame pointer" 'push %rbp; mov %rsp, %rbp; sub $16, %rsp; movq $64, %rax; add %rax, 8(%rbp); leave; ret'
check kept "stored by the frame pointer" 'push %rbp; mov %rsp, %rbp; mov %rdi, 8(%rbp); pop %rbp; ret'
check kept "stored by the frame pointer as an index" 'push %rbp; mov %rsp, %rbp; mov %rdi, 8(,%rbp,1); pop %rbp; ret'
check kept "by SSE" 'movq %rdi, %xmm0; movq %xmm0, (%rsp); ret'
check kept "by 32 bytes" 'sub $24, %rsp; vmovups %ymm0, (%rsp); add $24, %rsp; ret'
check kept "by 64 bytes" 'sub $56, %rsp; movdir64b (%rdi), %rsp; add $56, %rsp; ret'
check dropped "by 64 bytes, deeper" 'sub $120, %rsp; movdir64b (%rdi), %rsp; add $120, %rsp; ret'
check kept "by the processor's state" 'sub $1016, %rsp; xsave (%rsp); add $1016, %rsp; ret'
check kept "by its address" 'mov %rsp, %rax; addq $64, (%rax); ret'
check kept "by its address, deeper" 'sub $24, %rsp; lea 24(%rsp), %rax; addq $64, (%rax); add $24, %rsp; ret'
for handed in 'mov %rsp, (%rdi); mov (%rdi), %rax' 'push %rsp; pop %rax' 'movq %rsp, %xmm0; movq %xmm0, %rax' 'mov %rdi, %rax; lock cmpxchg %rsp, (%rdi); mov (%rdi), %rax' \
  'xor %eax, %eax; cmove %rsp, %rax'; do
  check kept "by its address, of $handed" "$handed; addq \$64, (%rax); ret"
  check dropped "of a deeper place, of $handed" "sub \$24, %rsp; $handed; addq \$64, (%rax); add \$24, %rsp; ret"
done
for way in 'mov %rdi, (%rsp,%rax)' 'or %rdi, (%rsp,%rax)' 'vpscatterqq %xmm0, (%rsp,%xmm1) {%k1}' 'lea (%rsp,%rax), %rcx; mov %rdi, (%rcx)'; do
  check kept "from there on: $way" "xor %eax, %eax; $way; ret"
  check dropped "from a deeper place on: $way" "sub \$24, %rsp; xor %eax, %eax; $way; add \$24, %rsp; ret"
done
check kept "from there on, by the frame pointer" 'push %rbp; mov %rsp, %rbp; xor %eax, %eax; mov %rdi, 8(%rbp,%rax,8); pop %rbp; ret'
check kept "in a block of its own" 'sub $24, %rsp; test %rdi, %rdi; je 1f; add $24, %rsp; ret; 1: mov %rdi, 24(%rsp); add $24, %rsp; ret'
check kept "after a jump back" 'sub $8, %rsp; jmp 2f; 1: ret; 2: mov %rdi, (%rsp); jmp 1b'
check kept "pushed, then a jump" 'lea 1f(%rip), %rax; add $16, %rax; push %rax; jmp helper; 1: ret'
check kept "pushed, then running on" 'lea 1f(%rip), %rax; add $16, %rax; push %rax; 1:'
check kept "pushed in pieces" 'sub $8, %rsp; movl $hidden, (%rsp); movl $0, 4(%rsp); ret'
check kept "pushed, then a switch" 'lea hidden(%rip), %rax; push %rax; and $1, %edi; lea 9f(%rip), %rcx; movslq (%rcx,%rdi,4), %rdx; add %rcx, %rdx; jmp *%rdx
  1: ret; 2: mov $1, %eax; ret; .section .rodata; .p2align 2; 9: .long 1b - 9b, 2b - 9b; .text'
check dropped "of a switch" 'push %rbx; and $1, %edi; lea 9f(%rip), %rcx; movslq (%rcx,%rdi,4), %rdx; add %rcx, %rdx; jmp *%rdx
  1: pop %rbx; jmp helper; 2: mov $1, %eax; pop %rbx; ret; .section .rodata; .p2align 2; 9: .long 1b - 9b, 2b - 9b; .text'
check kept "less deep" 'add $8, %rsp; ret'
check kept "deeper by the largest distance" 'add $-2147483648, %rsp; ret'
check kept "deeper by the largest distance, by lea" 'lea -2147483648(%rsp), %rsp; ret'
check kept "pushed, then a jump back to a return" 'test %rsi, %rsi; jne 2f; 1: ret; 2: push %rdi; jmp 1b'
check kept "to another stack" 'mov %rsp, 8(%rdi); mov (%rdi), %rsp; pop %rbx; ret'
check kept "to another stack, by a register" 'sub $24, %rsp; lea 16(%rsp), %rax; mov %rdi, (%rax); mov %rax, %rsp; ret'
check kept "to another stack, exchanged" 'push %rbp; xchg %rsp, %rdi; pop %rbp; ret'
check kept "to another stack, by the frame pointer" 'mov %rdi, %rbp; leave; ret'
check kept "to another stack, by a frame pointer that was another" 'push %rbp; mov %rsp, %rbp; mov %rdi, %rbp; leave; ret'
check kept "to another stack, popped" 'push %rdi; pop %rsp; ret'
check kept "to another stack, in a block of its own" 'test %rsi, %rsi; je 1f; mov %rdi, %rsp; 1: ret'
check kept "to another stack, and back to a return" 'test %rsi, %rsi; jne 2f; 1: ret; 2: mov %rdi, %rsp; jmp 1b'
check kept "by a frame pointer that is popped" 'push %rbp; mov %rsp, %rbp; push %rdi; pop %rbp; leave; ret'
check kept "by a frame pointer that is added to" 'push %rbp; mov %rsp, %rbp; sub $32, %rsp; mov %rdi, -8(%rbp); sub $16, %rbp; leave; ret'
check kept "pushed on one of two ways" 'test %rsi, %rsi; je 1f; push %rdi; 1: ret'
check kept "pushed on one of two ways, and a branch elsewhere" 'test %rsi, %rsi; je 1f; push %rdi; jo helper; 1: ret'
check kept "pushed on one of two ways, and a call" 'test %rsi, %rsi; je 1f; push %rdi; call helper; 1: ret'
# A noreturn call, with another stack depth than at the place after it.
dies='.type dies, @function; dies: ud2'
check dropped "pushed before a call that doesn't return" "test %rsi, %rsi; je 1f; push %rdi; call dies; 1: ret; $dies"
check dropped "pushed before a call that doesn't return, then a jump" "test %rsi, %rsi; je 1f; push %rax; call dies; 1: jmp helper; $dies"
check dropped "pushed before a call of abort" 'test %rsi, %rsi; je 1f; push %rax; call abort; 1: ret'
check dropped "pushed before a call that ends in one that doesn't return" "test %rsi, %rsi; je 1f; push %rax; call ends; 1: ret; .type ends, @function; ends: push %rbx; call helper; call dies; $dies"
check kept "pushed before a call that may return" "test %rsi, %rsi; je 1f; push %rdi; call dies; 1: ret; .type dies, @function; dies: test %rdi, %rdi; je 1f; ud2; 1: ret"
check kept "pushed before a call by a pointer" 'test %rsi, %rsi; je 1f; push %rdi; call *8f(%rip); 1: ret; .pushsection .data; 8: .quad helper; .popsection'
check kept "with more that it takes off" 'lea hidden(%rip), %rax; push %rax; call 1f; pop %rax; ret
  .globl another; .type another, @function
  1: another: call pops; ret
  pops: ret $8'
check kept "its caller's" 'call writes; ret; .type writes, @function
  writes: lea hidden(%rip), %rax; mov %rax, 8(%rsp); ret'
check kept "by the frame's address" 'push %rbp; mov %rsp, %rbp; mov %rbp, %rdi; call writes; pop %rbp; ret; .type writes, @function
  writes: lea hidden(%rip), %rax; mov %rax, 8(%rdi); ret'
for handed in 'mov %rbp, (%rdi)' 'push %rbp; pop %rax; xchg %rax, (%rdi)' 'xchg %rbp, (%rdi); mov (%rdi), %rbp' 'movq %rbp, %xmm0; movups %xmm0, (%rdi)' \
  'xor %rbp, (%rdi)' 'xor %eax, %eax; or %rbp, %rax; xchg %rax, (%rdi)'; do
  check kept "by the frame's address in memory, of $handed" "push %rbp; mov %rsp, %rbp; $handed; call writes; pop %rbp; ret; .type writes, @function
    writes: lea hidden(%rip), %rax; mov (%rdi), %rcx; mov %rax, 8(%rcx); ret"
  check dropped "of a value in memory, of $handed" "push %rbp; mov %rsi, %rbp; $handed; pop %rbp; ret"
done
check kept "its caller's, by the frame pointer" 'push %rbp; mov %rsp, %rbp; call writes; pop %rbp; ret; .type writes, @function
  writes: push %rbp; mov %rsp, %rbp; lea hidden(%rip), %rax; mov (%rbp), %rcx; mov %rax, 8(%rcx); pop %rbp; ret'
for store in 'mov %rax, 8(%rbp)' 'mov %rax, (%rbp)' 'xchg %rax, 8(%rbp)' 'mov %rax, 8(%rbp,%rdi)' 'mov %rbp, %rcx; mov %rax, 8(%rcx)' \
  'lea 8(%rbp), %rcx; mov %rax, (%rcx)' 'mov %rbp, (%rdi); mov (%rdi), %rcx; mov %rax, 8(%rcx)' 'push %rbp; mov (%rsp), %rcx; mov %rax, 8(%rcx); pop %rbp' \
  'push %rbp; pop %rcx; mov %rax, 8(%rcx)' 'push %rbp; mov %rsp, %rbp; mov (%rbp), %rbp; mov %rax, 8(%rbp); pop %rcx'; do
  check kept "its caller's, by the caller's frame pointer: $store" "push %rbp; mov %rsp, %rbp; call writes; leave; ret; .type writes, @function; writes: lea hidden(%rip), %rax; $store; ret"
done
check dropped "a variable of its caller's" 'push %rbp; mov %rsp, %rbp; sub $16, %rsp; call writes; leave; ret; .type writes, @function; writes: mov %rax, -8(%rbp); mov 8(%rbp), %rax; ret'
for read in 'movq (%rbp), %xmm0; movq %xmm0, %rcx' 'xor %ecx, %ecx; add (%rbp), %rcx'; do
  check kept "its caller's, by the frame pointer: $read" "push %rbp; mov %rsp, %rbp; call writes; pop %rbp; ret; .type writes, @function
    writes: push %rbp; mov %rsp, %rbp; lea hidden(%rip), %rax; $read; mov %rax, 8(%rcx); pop %rbp; ret"
done
check kept "by 32 bytes at a distance that is given in units" 'sub $56, %rsp; vmovups %ymm16, 32(%rsp); add $56, %rsp; ret'

check dropped "the frame pointer set to 0" 'xor %ebp, %ebp; sub %rbp, %rbp; hlt'
check kept "the frame pointer's last byte set to 0" 'push %rbp; mov %rsp, %rbp; xor %bpl, %bpl; mov %rbp, %rax; addq $64, 8(%rax); mov %rsp, %rbp; pop %rbp; ret'
check dropped "saved registers" 'push %rbp; push %rbx; sub $40, %rsp; mov %rdi, 8(%rsp); movups %xmm0, 16(%rsp); call helper
  mov 8(%rsp), %rbx; lea 32(%rsp), %rax; mov %rbx, (%rax); add $40, %rsp; pop %rbx; pop %rbp; ret'
check dropped "a frame and an alloca" 'push %rbp; mov %rsp, %rbp; push %rbx; push %rax; sub %rdi, %rsp; and $-32, %rsp; mov %rdi, (%rsp)
  call helper; lea -8(%rbp), %rsp; pop %rbx; pop %rbp; ret'
check dropped "blocks" 'push %rbx; test %rdi, %rdi; je 1f; call helper; pop %rbx; ret; 1: cmp $5, %rsi; je 2f; mov $3, %eax; jmp 3f
  2: sub $16, %rsp; call helper; add $16, %rsp; 3: pop %rbx; jmp helper'
check dropped "arguments on the stack" 'sub $8, %rsp; push $1; push $2; call helper; add $16, %rsp; mov 16(%rsp), %rax; add $8, %rsp; ret'
check dropped "a loop that is entered at its end" 'push %rbx; xor %ebx, %ebx; jmp 2f; 1: call helper; inc %rbx; 2: cmp %rdi, %rbx; jl 1b; pop %rbx; ret'
check dropped "its arguments' addresses" 'push %rbp; mov %rsp, %rbp; lea 16(%rbp), %rdi; mov 24(%rbp), %rsi; call helper; pop %rbp; ret'
check dropped "a barrier" 'lock orl $0, (%rsp); ret'

# A function's own return goes by the frame pointer, preserved by others or changed.
check_frame() { # kept|dropped NAME CODE: of what no_call calls
  check "$1" "$2" "push %rbp; mov %rsp, %rbp; sub \$16, %rsp; call uses; leave; ret; .type uses, @function; uses: $3"
}
check_frame kept "changed by a callee" 'mov %rdi, %rbp; ret'
check_frame kept "a part of it changed" 'mov %dil, %bpl; ret'
check_frame kept "saved, and not loaded" 'push %rbp; mov %rdi, %rbp; add $8, %rsp; ret'
check_frame kept "another loaded" 'push %rbp; push %rdi; pop %rbp; pop %rcx; ret'
check_frame kept "overwritten where it is saved" 'push %rbp; mov %rsp, %rbp; mov %rdi, (%rbp); pop %rbp; ret'
check_frame kept "overwritten by SSE" 'push %rbp; push %rdi; movups %xmm0, (%rsp); pop %rdi; pop %rbp; ret'
check_frame kept "overwritten by a word of the stack" 'push %rbp; pop %rax; mov %rdi, %rbp; push 16(%rsp); pop %rbp; ret'
check_frame kept "overwritten by a callee" 'push %rbp; pop %rax; mov %rdi, %rbp; call helper; sub $8, %rsp; pop %rbp; ret'
check_frame kept "stored with a segment" 'mov %rbp, %fs:-8(%rsp); mov %rdi, %rbp; mov -8(%rsp), %rbp; ret'
check_frame kept "loaded with a segment" 'push %rbp; mov %rdi, %rbp; mov %fs:(%rsp), %rbp; pop %rax; ret'
check_frame kept "saved when it was changed" 'mov %rdi, %rbp; push %rbp; call helper; pop %rbp; ret'
check_frame kept "changed after a jump back" 'test %rsi, %rsi; jne 2f; 1: ret; 2: mov %rdi, %rbp; jmp 1b'
check_frame kept "changed after a jump back, saved" 'push %rbp; jmp 2f; 1: add $8, %rsp; ret; 2: test %rsi, %rsi; je 1b; mov %rdi, %rbp; jmp 1b'
check_frame kept "changed on one of two ways" 'test %rsi, %rsi; je 1f; mov %rdi, %rbp; 1: ret'
check_frame kept "changed before a jump" 'mov %rdi, %rbp; jmp helper'
check_frame kept "changed before a jump by a pointer" 'mov %rdi, %rbp; mov 1f(%rip), %rax; jmp *%rax; .pushsection .data; 1: .quad helper; .popsection'
check_frame kept "changed before running on" 'mov %rdi, %rbp; .p2align 4; .type runs, @function; runs: ret'
check_frame dropped "a number in it" 'push %rbp; push %rbx; mov %rdi, %rbp; lea 1(%rbp), %rbx; cmp %rbx, %rbp; call helper; pop %rbx; pop %rbp; ret'
check_frame dropped "a frame of its own" 'push %rbp; mov %rsp, %rbp; sub $32, %rsp; mov %rdi, -8(%rbp); call helper; leave; ret'
check_frame dropped "stored by a move" 'sub $24, %rsp; mov %rbp, 8(%rsp); mov %rdi, %rbp; call helper; mov 8(%rsp), %rbp; add $24, %rsp; ret'
check_frame dropped "used on one of two ways" 'test %rsi, %rsi; je 1f; push %rbp; mov %rdi, %rbp; call helper; pop %rbp; 1: ret'
check_frame dropped "spilled" 'push %rbp; sub $16, %rsp; mov %rdi, %rbp; mov %rbp, 8(%rsp); xor %ebp, %ebp; call helper; mov 8(%rsp), %rbp; add $16, %rsp; pop %rbp; ret'
check_frame dropped "other registers with its number" 'pxor %xmm5, %xmm5; xor $0x12345678, %eax; cld; movsl; ret'
check_frame dropped "popped in a case of a switch" 'push %rbp; lea 8f(%rip), %rax; movslq (%rax,%rdi,4), %rcx; add %rax, %rcx; jmp *%rcx
  1: pop %rbp; jmp helper; 2: mov %rdi, %rbp; call helper; pop %rbp; ret; .pushsection .rodata; .p2align 2; 8: .long 1b - 8b, 2b - 8b; .popsection'
check_frame kept "pushed and popped in a case of a switch" 'push %rbp; lea 8f(%rip), %rax; movslq (%rax,%rdi,4), %rcx; add %rax, %rcx; jmp *%rcx
  1: pop %rbp; jmp helper; 2: push %rdi; pop %rbp; pop %rcx; ret; .pushsection .rodata; .p2align 2; 8: .long 1b - 8b, 2b - 8b; .popsection'

# Parts of a function start with the stack depth of their unwind tables.
check_part() { # kept|dropped NAME CODE CFA PART
  check "$1" "in a part: $2" "$3; .type part, @function; part: .cfi_startproc; .cfi_def_cfa $4; $5; .cfi_endproc"
}
check_part kept "of what was pushed" 'push %rdi; jmp part' 'rsp, 16' 'ret'
check_part kept "of what was pushed, by a frame pointer" 'push %rbp; mov %rsp, %rbp; push %rdi; jmp part' 'rbp, 16' 'ret'
check_part kept "after more was pushed" 'sub $24, %rsp; jmp part' 'rsp, 16' 'pop %rax; ret'
check_part kept "which is called" 'call part; ret' 'rsp, 16' 'pop %rax; ret'
check_part kept "before another function" 'push %rdi; jmp part' 'rsp, 16' 'jmp helper'
check_part dropped "of saved registers" 'push %rbx; test %rdi, %rdi; je part; pop %rbx; ret' 'rsp, 16' 'call helper; pop %rbx; ret'
check_part dropped "of saved registers, by a frame pointer" 'push %rbp; mov %rsp, %rbp; push %rbx; jmp part' 'rbp, 16' 'call helper; pop %rbx; pop %rbp; ret'
check_part dropped "that goes back" 'push %rbx; test %rdi, %rdi; je part; 1: pop %rbx; ret' 'rsp, 16' 'push %rbp; push %rbp; call helper; add $16, %rsp; jmp 1b'

# The middle of another function; one jumps to it as to a start.
check_middle() { # kept|dropped NAME JUMP MIDDLE: of the other function, with the place 2
  check "$1" "in the middle of another function: $2" "push %rdi; call jumps; add \$8, %rsp; ret; .type jumps, @function; jumps: $3
    .p2align 4; .type other, @function; other: $4; .size other, . - other"
}
check_middle kept "with more on the stack" 'jmp 2f' 'push %rdi; nop; 2: pop %rax; ret'
check_middle kept "with more on the stack, after another's return" 'jmp 2f' 'mov $1, %eax; ret; 2: pop %rax; ret'
check_middle kept "with more on the stack, which is called" 'call 2f; ret' 'push %rdi; nop; 2: pop %rax; ret'
check_middle kept "with another frame pointer" 'jmp 2f' 'push %rbp; mov %rsp, %rbp; nop; 2: leave; ret'
check_middle kept "with more on the stack, by a label" 'lea 2f(%rip), %rax; jmp *%rax' 'push %rdi; .nops 16; 2: pop %rax; .nops 16; ret'
check_middle dropped "with the same" 'jmp 2f' 'mov $1, %eax; 2: mov $2, %eax; ret'
check_middle dropped "with the same, after another's return" 'jmp 2f' 'mov $1, %eax; ret; 2: mov $2, %eax; jmp helper'

# A jump into an instruction, whose last byte pushes an address, and goes on to the return after it.
check kept "pushed inside an instruction" 'lea hidden(%rip), %rax; test %edi, %edi; jne 1f + 4; 1: mov $0x50000000, %eax; ret'
check kept "pushed inside an instruction, before padding" 'lea hidden(%rip), %rax; test %edi, %edi; jne 1f + 4; 1: mov $0x50000000, %eax; nop; ret'

# Past the function's end, where the last instruction is a return: from code inside a jump, from padding, and from a label there.
while IFS='|' read -r name code; do
  make_odd "$code" '.type next, @function; next: call hidden; ret; .size next, . - next' '' 'call collect; ret'
  link_with lld app managed.o native.o main.o odd.o
  echo "$name"
  expect_verdict kept app managed_no_call --gc-entry=collect
done <<'END'
inside a jump|test %edi, %edi; jne 2f + 1; 1: mov $1, %eax; ret; .skip 0x6e - (. - 1b), 0x90; 2: .byte 0xeb, 0x90
padding|test %edi, %edi; jne 1f; ret; 1: nop
inside padding|test %edi, %edi; jne 1f + 1; ret; 1: nopw (%rax)
a label in padding|lea 1f(%rip), %rax; test %edi, %edi; jne 2f; ret; 2: jmp *%rax; 1: nop
END

make_odd 'jmp 1f' '.type other, @function; other: mov $1, %eax; ret; 1: nop; .size other, . - other
  .type next, @function; next: call hidden; ret; .size next, . - next' '' 'call collect; ret'
link_with lld app managed.o native.o main.o odd.o
expect_verdict kept app managed_no_call --gc-entry=collect
