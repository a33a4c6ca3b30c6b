#!/bin/bash
# A call by an address that is made of another function's may reach any function, for each way to compute and keep it. And
# signal handlers and cleanups that are set by the less usual functions of the C library run from abort and longjmp.
. "$TOP/tests/cli/common.sh"

cat >managed.c <<'C'
long no_call(long);
__attribute__((noinline)) long managed_no_call(long x) { return no_call(x) + 1; }
long run(long n) { return managed_no_call(n); }
C
compile_managed managed.c managed.o
echo 'volatile int sink; void collect(void) { sink++; }' >native.c
"$LLVM/bin/clang" -O1 -fPIE -c native.c "$gc/main.c"

check() { # kept|dropped NAME
  link_with lld app managed.o native.o main.o odd.o
  echo "$2"
  expect_verdict "$1" app managed_no_call --gc-entry=collect
}

check_code() { # kept|dropped NAME CODE: no_call's
  sampled 3 || return 0
  make_odd "sub \$24, %rsp; lea helper(%rip), %rax; $3; add \$24, %rsp; ret" '' 'mov $1, %eax; ret' 'call collect; ret'
  check "$1" "$2"
}
check_code kept "scaled" 'lea 16(%rax,%rdi,8), %rdx; call *%rdx'
check_code kept "plus a constant" 'add $16, %rax; call *%rax'
check_code kept "a difference" 'sub %rdi, %rax; call *%rax'
check_code kept "in memory" 'mov %rax, 8(%rsp); add %rdi, 8(%rsp); call *8(%rsp)'
check_code kept "of what was kept" 'mov %rax, 8(%rsp); mov 8(%rsp), %rdx; add %rdi, %rdx; call *%rdx'
check_code kept "of two ways" 'or %rdi, %rax; call *%rax'
check_code kept "beside a store at the largest distance" 'movups %xmm0, 0x7fffffec(%rsp); add %rdi, %rax; call *%rax'
check_code dropped "not called" 'add %rdi, %rax; call helper'

# Made in one function, and called in another. The address in a called sum may be named elsewhere, and may be unknown.
check_made() { # kept|dropped NAME CODE [CALL]: make's, and no_call's
  sampled 3 || return 0
  make_odd "push %rbx; ${4:-call make; call *%rax}; pop %rbx; ret" ".p2align 4; .type make, @function; make: $3; .size make, . - make" 'mov $1, %eax; ret' 'call collect; ret'
  check "$1" "handed over: $2"
}
table='.pushsection .rodata; 9: .short hidden - helper; .balign 8; 8: .quad hidden - helper; .popsection'
check_made kept "a sum" "lea helper(%rip), %rax; add 8f(%rip), %rax; ret; $table"
check_made kept "plus a constant" 'lea helper(%rip), %rax; add $(hidden - helper), %rax; ret'
check_made kept "at a distance" 'lea helper(%rip), %rax; lea hidden-helper(%rax), %rax; ret'
check_made kept "less a constant" 'lea hidden+64(%rip), %rax; sub $64, %rax; ret'
check_made kept "by 16 bits" "movzwl 9f(%rip), %ecx; lea helper(%rip), %rax; add %rcx, %rax; ret; $table"
check_made kept "scaled" 'lea helper(%rip), %rax; lea (%rax,%rdi,4), %rax; ret'
check_made kept "a number" 'mov 1f(,%rdi,8), %rax; add $helper, %rax; ret; .pushsection .rodata; 1: .quad hidden - helper; .popsection'
check_made kept "kept on the stack" "lea helper(%rip), %rax; mov %rax, -8(%rsp); mov 8f(%rip), %rcx; add -8(%rsp), %rcx; mov %rcx, %rax; ret; $table"
check_made kept "kept on the stack by another register" "lea helper(%rip), %rax; lea -16(%rsp), %rcx; mov %rax, (%rcx); mov 8f(%rip), %rax; add -16(%rsp), %rax; ret; $table"
check_made kept "loaded by another register" "lea helper(%rip), %rax; lea -16(%rsp), %rcx; mov %rax, -16(%rsp); mov 8f(%rip), %rax; add (%rcx), %rax; ret; $table"
check_made kept "kept on the stack at a place that 8 doesn't divide" "lea helper(%rip), %rax; mov %rax, -12(%rsp); mov 8f(%rip), %rcx; add -12(%rsp), %rcx; mov %rcx, %rax; ret; $table"
check_made kept "combined" "lea helper(%rip), %rcx; mov 8f(%rip), %rax; or %rcx, %rax; ret; $table"
check_made kept "added on the stack" "lea helper(%rip), %rax; mov %rax, -8(%rsp); mov 8f(%rip), %rcx; add %rcx, -8(%rsp); mov -8(%rsp), %rax; ret; $table"
check_made kept "of one of two" "lea helper(%rip), %rax; lea no_call(%rip), %rcx; test %rdi, %rdi; cmovne %rcx, %rax; add 8f(%rip), %rax; ret; $table"
check_made kept "after a branch" "test %rdi, %rdi; je 1f; lea no_call(%rip), %rax; jmp 2f; 1: lea helper(%rip), %rax; 2: add 8f(%rip), %rax; ret; $table"
# A function with a jump of its own may add to places of its own. A sum with another's, alone or as one of two, keeps the record.
switch='test %rsi, %rsi; je 3f; cmp $1, %rsi; ja 3f; lea 2f(%rip), %rdx; movslq (%rdx,%rsi,4), %rcx; add %rdx, %rcx; jmp *%rcx; 4: nop; 5: mov $2, %eax; ret; .pushsection .rodata; .p2align 2; 2: .long 4b - 2b, 5b - 2b; .popsection; 3:'
for ways in 'lea 1f(%rip), %rax; lea helper(%rip), %rcx' 'lea helper(%rip), %rax; lea 1f(%rip), %rcx'; do
  check_made kept "of another's or its own: $ways" "$switch $ways; test %rdi, %rdi; cmovne %rcx, %rax; add 8f(%rip), %rax; ret; 1: nop; ret; $table"
done
check_made kept "of another's or its own, after a branch" "$switch lea 1f(%rip), %rax; test %rdi, %rdi; je 1f; lea helper(%rip), %rax; 1: add 8f(%rip), %rax; ret; $table"
check_made kept "of a place of its own" "lea 1f(%rip), %rax; mov 9f(%rip), %ecx; add %rcx, %rax; ret; 1: nop; $table"
check_made kept "of a place of its own, beside a switch of a function that it jumps to" "lea 1f(%rip), %rax; mov 9f(%rip), %ecx; add %rcx, %rax; test %rdi, %rdi; jne other; ret; 1: nop; $table
  .pushsection .text.other, \"ax\"; .type other, @function; other: $switch mov \$1, %eax; ret; .size other, . - other; .popsection"
check_made dropped "an address" 'lea helper(%rip), %rax; ret'
check_made dropped "an address on the stack" 'lea helper(%rip), %rax; mov %rax, -8(%rsp); mov -16(%rsp), %rcx; add %rdi, %rcx; mov -8(%rsp), %rax; ret'
check_made dropped "a distance" 'lea helper(%rip), %rcx; mov %rdi, %rax; sub %rcx, %rax; lea helper(%rip), %rax; ret'
check_made kept "a pointer that is encoded" 'mov 1f(%rip), %rax; ret; .pushsection .data; 1: .quad hidden + 0x1000000; .popsection' \
  'call make; sub $0x1000000, %rax; call *%rax'
check_made kept "the return address" 'mov (%rsp), %rax; ret' 'call make; 1: add $(hidden - 1b), %rax; call *%rax'
check_made kept "the return address, by way of two functions" 'mov (%rsp), %rax; ret; .type adds, @function; adds: push %rbx; call make; 1: add $(hidden - 1b), %rax; pop %rbx; ret' \
  'call adds; call *%rax'
check_made dropped "a pointer" 'mov 1f(%rip), %rax; ret; .pushsection .data; 1: .quad helper; .popsection' 'call make; add $1, %rcx; call *%rax'

# A register's value across a call is known only if all functions preserve it.
sorts='lea helper(%rip), %rbx; call make; mov %rbx, %rcx; xor %esi, %esi; call qsort'
check_made dropped "kept in a register that is preserved" 'push %rbx; lea hidden(%rip), %rbx; cmp %rbx, %rdi; pop %rbx; ret' "$sorts"
check_made kept "kept in a register that is changed" 'lea hidden(%rip), %rbx; ret' "$sorts"
check_made kept "kept in a register that is exchanged" 'lea hidden(%rip), %rdi; xchg %rdi, %rbx; ret' "$sorts"
check_made kept "kept in a register that isn't loaded" 'push %rbx; lea hidden(%rip), %rbx; pop %rcx; ret' "$sorts"

# Beyond the program's memory; another function computes back from it.
back='call make; call leads_back; call *%rax'
leads_back='ret; .p2align 4; .type leads_back, @function; leads_back: sub $0x10000000, %rax'
check_made kept "an address beyond everything" "lea hidden+0x10000000(%rip), %rax; $leads_back; ret" "$back"
check_made kept "an address below everything" "lea hidden-0x10000000(%rip), %rax; ${leads_back/sub/add}; ret" "$back"
check_made dropped "an address" "lea helper(%rip), %rax; ${leads_back/0x10000000/0}; ret" "$back"

# Made of a function's argument, and called there, in registers or by way of its stack.
check_given() { # kept|dropped CODE
  sampled 3 || return 0
  make_odd 'sub $8, %rsp; lea helper(%rip), %rdi; mov $16, %esi; call make; add $8, %rsp; ret' ".p2align 4; .type make, @function; make: $2; .size make, . - make" 'mov $1, %eax; ret' 'call collect; ret'
  check "$1" "given: $2"
}
for way in 'add %rsi, %rdi' 'or %rsi, %rdi' 'bts $4, %rdi' 'imul $1, %rdi, %rdi' 'movzbl %dil, %edi' 'add %rsi, %rdi; rorx $0, %rdi, %rdi' \
  'mov %rdi, %rsi; lodsq; mov %rsi, %rdi' 'add %rsi, %rdi; push %rdi; pop %rdi' 'add %rsi, %rdi; mov %rdi, -8(%rsp); mov -8(%rsp), %rdi' \
  'mov %rdi, -8(%rsp); add %rsi, -8(%rsp); mov -8(%rsp), %rdi' 'add %rsi, %rdi; movq %rdi, %xmm0; movq %xmm0, %rdi' \
  'lea (%rdi,%rsi), %rax; cmp %rax, %rsi; cmova %rax, %rdi' 'add %rsi, %rdi; xchg %rdi, %rdx; xchg %rdx, %rdi' 'mov %sil, %dil'; do
  check_given kept "$way; jmp *%rdi"
done
check_given kept 'add %rsi, %rdi; mov %rdi, -8(%rsp); jmp *-8(%rsp)'
check_given kept 'add %rsi, %rdi; mov %edi, %eax; cltq; jmp *%rax'
# A null pointer is no computed one.
check_given kept 'mov %rdi, -8(%rsp); xorq $16, -8(%rsp); jmp *-8(%rsp)'
for clear in xor sub; do
  check_given dropped "$clear %eax, %eax; test %rdx, %rdx; je 1f; mov (%rdx), %rax; 1: test %rax, %rax; je 2f; jmp *%rax; 2: ret"
done
# A call may preserve caller-saved registers.
for register in rax rcx rdi r11; do
  check_given kept "sub \$8, %rsp; add %rsi, %rdi; mov %rdi, %$register; call 1f; call *%$register; add \$8, %rsp; 1: ret"
done
check_given kept 'add %rsi, %rdi; mov (%rdx), %rcx; push %rdi; jmp *%rcx'
# By way of vectors, parts of words, distances that registers have, global variables, and other pointers to the stack.
vector='movq %rdi, %xmm0; movq %rsi, %xmm1; paddq %xmm1, %xmm0; punpcklqdq %xmm0, %xmm0; movups %xmm0, -24(%rsp)'
check_given kept "$vector; jmp *-24(%rsp)"
check_given kept "$vector; mov -16(%rsp), %rax; jmp *%rax"
check_given dropped "$vector; mov %rdx, -8(%rsp); jmp *(%rdx)"
check_given kept 'add %rsi, %rdi; mov %rdi, %rax; shr $32, %rax; mov %edi, -8(%rsp); mov %eax, -4(%rsp); jmp *-8(%rsp)'
check_given kept 'mov %edi, -8(%rsp); mov %esi, -4(%rsp); mov -8(%rsp), %rax; jmp *%rax'
check_given kept 'sub $24, %rsp; add %rsi, %rdi; xor %ecx, %ecx; mov %rdi, 8(%rsp,%rcx,8); call *8(%rsp); add $24, %rsp; ret'
check_given kept 'sub $24, %rsp; add %rsi, %rdi; xor %ecx, %ecx; mov %rdi, 8(%rsp); call *8(%rsp,%rcx,8); add $24, %rsp; ret'
check_given kept 'sub $24, %rsp; add %rsi, %rdi; lea 8(%rsp), %rcx; mov %rdi, (%rcx); call *8(%rsp); add $24, %rsp; ret'
for load in 'lea 8(%rsp), %rcx; call *(%rcx)' 'mov %rsp, %rcx; call *8(%rcx)' 'lea 8(%rsp), %rcx; mov %rcx, 16(%rsp); mov 16(%rsp), %rdx; mov (%rdx), %rax; call *%rax' \
  'lea 24(%rsp), %rcx; sub $16, %rcx; call *(%rcx)' 'xor %ecx, %ecx; lea 8(%rsp), %rdx; call *(%rdx,%rcx,8)' 'mov %rsp, %rcx; test %rsi, %rsi; cmove %rdi, %rcx; call *8(%rcx)' \
  'lea 8(%rsp), %rsi; lodsq; call *%rax' 'mov %rsp, %rbp; mov %rbp, %rcx; mov 8(%rcx), %rax; call *%rax' 'mov $8, %eax; add %rsp, %rax; call *(%rax)' \
  'mov %rsp, %rbp; mov $8, %edx; mov (%rdx,%rbp), %rax; call *%rax' 'lea 15(%rsp), %rcx; shr $3, %rcx; shl $3, %rcx; call *(%rcx)' \
  'lea 8(%rsp), %rcx; mov %rcx, 16(%rsp); mov 16(%rsp), %rbp; call *(%rbp)' 'lea (%rsp,%rdx,8), %rbp; mov %rdi, (%rbp); sub $8, %rbp; call *8(%rbp)' \
  'lea 8(%rsp), %rcx; or %rcx, %rax; call *(%rax)' 'lea 8(%rsp), %rcx; rorx $0, %rcx, %rax; call *(%rax)' 'lea 8(%rsp), %rcx; sbb %rcx, %rax; neg %rax; call *(%rax)' \
  'lea 8(%rsp), %rcx; mov %rcx, 20(%rsp); mov 20(%rsp), %rax; call *(%rax)'; do
  check_given kept "push %rbp; sub \$32, %rsp; add %rsi, %rdi; mov %rdi, 8(%rsp); $load; add \$32, %rsp; pop %rbp; ret"
done
check_given dropped 'sub $24, %rsp; add %rsi, %rsi; mov %rdi, 8(%rsp); lea 8(%rsp), %rcx; call *(%rcx); add $24, %rsp; ret'
check_given dropped 'sub $24, %rsp; add %rdi, %rsi; mov %rsi, 8(%rsp); lea 8(%rsp), %rcx; mov %rcx, (%rdx); call *(%rdx); add $24, %rsp; ret'
# Where the frame pointer is a register like others, no address of the stack is made of it.
check_given dropped 'push %rbp; sub $16, %rsp; mov %rdx, %rbp; mov %rdi, (%rsp); mov (%rbp), %rcx; add %rsi, %rsi; mov %rsi, (%rcx); call *(%rsp); add $16, %rsp; pop %rbp; ret'
check_given kept 'push %rbp; sub $16, %rsp; xor %ebp, %ebp; add %rsp, %rbp; add %rsi, %rdi; mov %rbp, %rcx; mov %rdi, (%rcx); call *(%rsp); add $16, %rsp; pop %rbp; ret'
check_given kept 'enter $32, $0; add %rsi, %rdi; lea -8(%rbp), %rcx; mov %rdi, (%rcx); call *24(%rsp); ud2'
for store in mov and; do # also where all registers that it names are computed
  check_given kept "sub \$24, %rsp; add %rsi, %rdi; imul \$3, %rax, %rax; lea 8(%rsp), %rcx; $store %rdi, (%rcx); call *8(%rsp); add \$24, %rsp; ret"
done
check_given kept 'sub $24, %rsp; add %rsi, %rdi; mov %rdi, 8(%rsp); push $1; push $2; call *24(%rsp); add $40, %rsp; ret'
check_given dropped 'sub $24, %rsp; mov %rdi, 8(%rsp); push $1; push $2; call *24(%rsp); add $40, %rsp; ret'
variable='.data; 8: .quad 0; 9: .quad 0; .text'
check_given kept "add %rsi, %rdi; mov %rdi, 8f(%rip); jmp *8f(%rip); $variable"
check_given kept "mov %rdi, 8f(%rip); add %rsi, 8f(%rip); mov 8f(%rip), %rax; jmp *%rax; $variable"
check_given dropped "add %rsi, %rdi; mov %rdi, 8f(%rip); mov 9f(%rip), %rax; jmp *%rax; $variable"
check_given dropped "sub \$24, %rsp; lea 8(%rsp), %rcx; add %rsi, %rdi; mov %rdi, (%rdx); mov 9f(%rip), %rax; call *%rax; add \$24, %rsp; ret; $variable"
check_given kept 'jmp 1f; 2: jmp *%rdi; 1: add %rsi, %rdi; jmp 2b'
check_given kept 'test %rsi, %rsi; je 1f; add %rsi, %rdi; int3; 1: jmp *%rdi'
check_given kept 'mov 8(%rdx), %rax; jmp 1f; 2: add %rsi, %rdi; mov %rdi, %rax; 1: jmp *%rax; nop; jmp 2b'
check_given kept 'mov (%rdx), %rax; mul %rdi; sub $8, %rsp; call *%rax; add $8, %rsp; ret'
check_given kept 'mov (%rsi), %rdx; cqo; sub $8, %rsp; call *%rdx; add $8, %rsp; ret'
check_given dropped 'mov (%rsi), %rdx; test %rdx, %rdx; je 1f; sub $8, %rsp; call *%rdx; add $8, %rsp; 1: ret'
check_given dropped 'mov %rsi, -16(%rsp); add %rsi, -16(%rsp); mov %rdi, %rax; cmp %rax, %rdi; jmp *%rax'
check_given dropped 'sub $24, %rsp; mov %rdi, 8(%rsp); add %rsi, %rsi; mov %rsi, 16(%rsp); call *8(%rsp); add $24, %rsp; ret'
check_given dropped 'add %rsi, %rdx; mov 8(%rdx,%rsi,8), %rax; test %rax, %rax; je 1f; jmp *%rax; 1: ret'

# By way of parts of the function, which share its registers and its stack: with a frame, or as code that nothing calls.
cold='.pushsection .text.unlikely, "ax"; .type make.cold, @function; make.cold: .cfi_startproc; .cfi_def_cfa_offset'
cold_end='.cfi_endproc; .size make.cold, . - make.cold; .popsection'
check_part() { # kept|dropped SIZE CODE PART: CODE goes to the part with SIZE bytes on the stack, and may have a label 1
  check_given "$1" "$3; $cold $2; $4; $cold_end"
}
check_part kept 16 'push %rbx; lea (%rdi,%rsi), %rbx; test %rsi, %rsi; jne make.cold; pop %rbx; ret' 'call *%rbx; pop %rbx; ret'
check_part dropped 16 'push %rbx; add %rdi, %rsi; test %rsi, %rsi; jne make.cold; pop %rbx; ret' 'mov (%rdi), %rbx; call *%rbx; pop %rbx; ret'
check_part kept 32 'sub $24, %rsp; add %rdi, %rsi; mov %rsi, 8(%rsp); test %rsi, %rsi; jne make.cold; add $24, %rsp; ret' 'call *8(%rsp); add $24, %rsp; ret'
check_part dropped 32 'sub $24, %rsp; add %rdi, %rsi; mov %rsi, 8(%rsp); mov (%rdi), %rax; mov %rax, 16(%rsp); test %rsi, %rsi; jne make.cold; add $24, %rsp; ret' \
  'call *16(%rsp); add $24, %rsp; ret'
check_part dropped 32 'sub $24, %rsp; add %rdi, %rsi; mov (%rdi), %rax; test %rsi, %rsi; jne make.cold; add $24, %rsp; ret' 'call *%rax; add $24, %rsp; ret'
check_part kept 32 'sub $24, %rsp; mov (%rdi), %rax; mov %rax, 8(%rsp); test %rsi, %rsi; jne make.cold; 1: call *8(%rsp); add $24, %rsp; ret' 'add %rsi, %rdi; mov %rdi, 8(%rsp); jmp 1b'
check_part kept 32 'sub $24, %rsp; mov %rdi, 8(%rsp); test %rsi, %rsi; jne make.cold; 1: mov 8(%rsp), %rax; call *%rax; add $24, %rsp; ret' 'add %rsi, 8(%rsp); jmp 1b'
check_part kept 8 'lea (%rdi,%rsi), %rax; test %rsi, %rsi; jne make.cold; ret' 'jmp *%rax'
check_part kept 8 'add %rdi, %rsi; mov %rsi, -8(%rsp); test %rsi, %rsi; jne make.cold; ret' 'mov -8(%rsp), %rax; jmp *%rax'
check_part dropped 8 'lea (%rdi,%rsi), %rax; mov (%rdi), %rcx; test %rsi, %rsi; jne make.cold; ret' 'jmp *%rcx'

check_part kept 48 'push %rbx; sub $32, %rsp; add %rsi, %rdi; mov %rdi, 8(%rsp); lea 8(%rsp), %rbx; jne make.cold; add $32, %rsp; pop %rbx; ret' 'call *(%rbx); add $32, %rsp; pop %rbx; ret'

# By way of code that takes what its callers have in registers, or leaves something there: compilers' thunks, and outlined code.
check_given kept 'sub $8, %rsp; lea (%rdi,%rsi), %r11; call thunk; add $8, %rsp; ret; .type thunk, @function; thunk: jmp *%r11'
check_given kept 'sub $8, %rsp; call outlined; call *%r11; add $8, %rsp; ret; .type outlined, @function; outlined: lea (%rdi,%rsi), %r11; ret'

# A part of many functions, and the last one of many functions that jump to each other.
many=$(for i in {1..20}; do echo ".type user$i, @function; user$i: sub \$24, %rsp; jmp make.cold; .size user$i, . - user$i;"; done)
check_part kept 32 "sub \$24, %rsp; lea (%rdi,%rsi), %rax; test %rsi, %rsi; jne make.cold; add \$24, %rsp; ret; $many" 'call *%rax; add $24, %rsp; ret'
check_part kept 32 "sub \$24, %rsp; add %rdi, %rsi; mov %rsi, 8(%rsp); jne make.cold; add \$24, %rsp; ret; $many" 'call *8(%rsp); add $24, %rsp; ret'
check_part kept 32 "sub \$24, %rsp; mov %rdi, 8(%rsp); jmp make.cold; 1: call *8(%rsp); add \$24, %rsp; ret; $many" 'add %rsi, 8(%rsp); jmp 1b'
chain=$(for i in {1..70}; do echo ".type link$i, @function; link$i: test %rsi, %rsi; jne link$((i + 1)); ret; .size link$i, . - link$i;"; done)
check_given kept "lea (%rdi,%rsi), %rax; jmp link1; $chain .type link71, @function; link71: jmp *%rax"

# By way of a label, where an unresolved jump may go, or a return.
labels='.pushsection .data; 8: .quad 1b, 2b; .popsection'
for jump in 'lea 1f(%rip), %rcx; lea 2f(%rip), %r8; cmp %rdi, %rsi; cmove %r8, %rcx; jmp *%rcx' 'mov 8f(%rip), %rcx; jmp *%rcx' 'lea 8f(%rip), %rcx; jmp *(%rcx,%rsi,8)' \
  'push 8f(%rip); ret'; do
  check_given kept "mov (%rdx), %rax; test %rsi, %rsi; je 1f; lea (%rdi,%rsi), %rax; $jump; 1: jmp *%rax; 2: ret; $labels"
done
check_given dropped "mov (%rdx), %rax; test %rsi, %rsi; je 1f; lea (%rdi,%rsi), %r9; mov 8f(%rip), %rcx; jmp *%rcx; 1: jmp *%rax; 2: ret; $labels"

# By way of places that are named in several ways, and by string instructions and others that store by a register of their own.
for way in 'push %rdx; mov %rdi, (%rsp); pop %rax' 'push %rdi; pop %rax' 'push %rdi; mov (%rsp), %rax; pop %rdx' 'mov %rdi, -8(%rsp); push -8(%rsp); pop %rax' \
  'mov %rsp, %rbp; mov %rdi, -8(%rsp); mov -8(%rbp), %rax' 'lea -64(%rsp), %rbp; mov %rdi, 56(%rbp); mov -8(%rsp), %rax' \
  'sub $24, %rsp; mov %rdi, 8(%rsp); add $8, %rsp; mov (%rsp), %rax; add $16, %rsp' 'push %rdi; add $8, %rsp; mov -8(%rsp), %rax' \
  'sub $24, %rsp; mov %rdi, 8(%rsp); pop %rax; pop %rax; pop %rdx' 'sub $24, %rsp; jmp 2f; 3: push $1; mov 16(%rsp), %rax; add $32, %rsp; jmp 4f; 2: mov %rdi, 8(%rsp); jmp 3b; 4:' \
  'mov %rsp, %rdx; mov %rdi, -8(%rsp); and $-64, %rsp; mov -8(%rsp), %rax; mov %rdx, %rsp' 'mov %rdi, 12(%rsp); mov 8(%rsp), %rax' \
  'mov %rdx, 8(%rsp); xchg %rdi, 8(%rsp); mov 8(%rsp), %rax' \
  'mov %rsp, %rax; mov %rax, %rbp; mov %rdi, -8(%rsp); mov -8(%rbp), %rax' 'mov %rsp, %rax; mov %rax, %rbp; mov %rdi, -8(%rbp); mov -8(%rsp), %rax' \
  'lea -60(%rsp), %rbp; mov %rdi, -56(%rsp); mov 4(%rbp), %rax' \
  'lea -60(%rsp), %rbp; mov %rdi, 4(%rbp); mov -56(%rsp), %rax' 'lea -60(%rsp), %rbp; mov %rdi, 8(%rbp); mov -52(%rsp), %rax' \
  'mov %rdi, -8(%rsp); mov -12(%rsp), %rax' 'sub $4, %rsp; push %rdi; mov 4(%rsp), %rax; add $12, %rsp'; do
  check_given kept "push %rbp; add %rsi, %rdi; $way; pop %rbp; jmp *%rax"
done
check_given kept 'push %rdx; lea (%rdi,%rsi), %rcx; test %rdi, %rdi; je 1f; 2: pop %rax; jmp 3f; 1: pop %rax; push %rcx; jmp 2b; 3: jmp *%rax'
check_given dropped 'push %rdx; add %rsi, %rsi; push %rsi; sub $16, %rsp; mov 24(%rsp), %rax; add $24, %rsp; pop %rdx; jmp *%rax'
check_given dropped 'push %rbp; mov %rsp, %rbp; push %rdi; add %rsi, %rsi; push %rsi; mov -8(%rbp), %rax; leave; jmp *%rax'
for way in 'mov %rdi, %rax; lea 8(%rsp), %rdi; stosq' 'mov %rdi, %rax; lea 8(%rsp), %rdi; mov $1, %ecx; rep stosq' 'mov %rdi, (%rsp); mov %rsp, %rsi; lea 8(%rsp), %rdi; movsq' \
  'mov %rdi, (%rsp); mov %rsp, %rsi; lea 8(%rsp), %rdi; mov $8, %ecx; rep movsb' 'movq %rdi, %xmm0; pcmpeqd %xmm1, %xmm1; lea 8(%rsp), %rdi; maskmovdqu %xmm1, %xmm0' \
  'lea 8(%rsp), %rax; mov %rdi, -56(%rsp); movdir64b -56(%rsp), %rax'; do
  check_given kept "sub \$72, %rsp; add %rsi, %rdi; $way; call *8(%rsp); add \$72, %rsp; ret"
done

check_c() { # kept|dropped NAME C
  sampled 3 || return 0
  printf '%s\n' 'void collect(void);' "$3" >odd.c
  "$LLVM/bin/clang" -O1 -w -fno-builtin -c odd.c
  check "$1" "$2"
}
# Compilers copy large objects by memcpy, from and to the stack.
for copy in memcpy memmove; do
  for source in b elsewhere; do
    verdict=kept
    [[ $source == b ]] || verdict=dropped
    check_c $verdict "$copy of $source" "void *$copy(void *, const void *, unsigned long); typedef long call(long); long elsewhere[9];
      long no_call(long x, long y) { long a[9], b[9]; __asm__ volatile(\"\" : \"=m\"(b)); b[2] = x + y; __asm__ volatile(\"\" :: \"m\"(b));
        $copy(a, $source, 72); __asm__ volatile(\"\" : \"+m\"(a)); return ((call *)a[2])(x) + 1; }"
  done
done
for set in ssignal sysv_signal; do
  check_c kept "abort, after $set" "void abort(void); void *$set(int, void *);
    static void handle(int s) { collect(); } __attribute__((constructor)) static void set(void) { $set(6, handle); }
    long no_call(long x) { if (x > 100) abort(); return x; }"
done
check_c dropped "abort" "void abort(void); long no_call(long x) { if (x > 100) abort(); return x; }"
# By the operating system itself, with any request: rt_sigaction is number 13.
asks='__asm__ volatile("syscall" : "=a"(r) : "a"(NUMBER), "D"(6), "S"(&a), "d"(0), "r"(r10) : "rcx", "r11", "memory")'
while read -r verdict number ask; do
  for ends in "raise(6)" "abort()"; do
    check_c "$verdict" "$ends, after $number: $ask" "void abort(void); long syscall(long, ...); int raise(int); enum { NUMBER = $number };
      static void handle(int n) { collect(); } void *volatile handler = handle;
      __attribute__((constructor)) static void set(void) { void *a[4] = {handler}; long r; register long r10 __asm__(\"r10\") = 8; $ask; }
      long no_call(long x) { if (x > 100) $ends; return x; }"
  done
done <<END
kept 13 r = syscall(NUMBER, 6, &a, 0, 8)
kept 13 $asks
END
for call in "pselect(0, 0, 0, 0, 0, place)" "ppoll(0, 0, 0, place)" "epoll_pwait(0, 0, 0, 0, place)" 'system(\"true\")' "siglongjmp(place, 1)"; do
  check_c kept "$call, with a handler" "void *signal(int, void *); int pselect(), ppoll(), epoll_pwait(), system(); void siglongjmp(); long place[50];
    static void handle(int s) { collect(); } __attribute__((constructor)) static void set(void) { signal(10, handle); }
    long no_call(long x) { if (x > 100) ${call//\\/}; return x; }"
  check_c dropped "$call" "int pselect(), ppoll(), epoll_pwait(), system(); void siglongjmp(); long place[50]; long no_call(long x) { if (x > 100) ${call//\\/}; return x; }"
done
check_c kept "longjmp, with another stack" "void longjmp(void *, int); void makecontext(void *, void *, int); long place[50], context[200];
    static void run(void) { collect(); } __attribute__((constructor)) static void set(void) { makecontext(context, run, 0); }
    long no_call(long x) { if (x > 100) longjmp(place, 1); return x; }"
check_c kept "longjmp, after a cleanup" "void longjmp(void *, int); void _pthread_cleanup_push(void *, void *, void *); long room[8], place[50];
    static void clean(void *p) { collect(); } __attribute__((constructor)) static void set(void) { _pthread_cleanup_push(room, clean, 0); }
    long no_call(long x) { if (x > 100) longjmp(place, 1); return x; }"
