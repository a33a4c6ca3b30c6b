#!/bin/bash
# A table of pointers follows a jump table immediately, and the code refers to a place before its start, as one does that
# counts from 2. Its functions' addresses are taken all the same.
. "$TOP/tests/cli/common.sh"

compile_managed "$gc/managed.c" managed.o
"$LLVM/bin/clang" -O1 -Dno_switch=a -Dby_table=b -Dtaken=c -I"$gc" -c "$gc/native.c" -o native.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o
cat >tables.S <<'S'
    .text
    .globl no_switch, by_table
    .type no_switch, @function
no_switch:
    and $1, %edi
    jmp *jumps(,%rdi,8)
1:  mov $1, %eax
    ret
2:  mov $2, %eax
    ret
    .size no_switch, . - no_switch
    .type by_table, @function
by_table:
    push %rax
    mov $2, %edi
    call *pointers-16(,%rdi,8)
    pop %rcx
    ret
    .size by_table, . - by_table
    .type only_in_table, @function
only_in_table:
    call collect
    ret
    .size only_in_table, . - only_in_table
    .section .rodata
    .p2align 3
jumps:
    .quad 1b, 2b
pointers:
    .quad only_in_table
    .section .note.GNU-stack, "", @progbits
S
"$LLVM/bin/clang" -c tables.S
link_with lld app managed.o native.o main.o tables.o
expect_verdict kept app managed_by_table --gc-entry=collect
expect_status 0 "$stackpack" callgraph app
expect_output '^0x[0-9a-f]+ only_in_table \(address taken\)$'

# Tables by hand. Code names a place in their middle, and counts from there, also backwards; some words of theirs are holes; and some
# other code reads one of the words. A target outside the function itself is a call all the same.
make_lonely_program # managed.o main.o collect.o

check() { # kept|dropped NAME CODE TABLE [LAYOUT...]: no_call's; where it jumps by the table, and what stands there
  make_odd "$3" "$4; .text" '' 'call collect; ret'
  expect_odd_verdict "$1" "$2" "${@:5}"
}

distances='lea 8f(%rip), %rcx; movslq (%rcx,%rdi,4), %rax; add %rcx, %rax; jmp *%rax; 2: mov $1, %eax; ret; 3: mov $2, %eax; ret'
check dropped "distances" "$distances" '.section .rodata; .p2align 2; 8: .long 2b - 8b, 3b - 8b'
other='.type other, @function; other: mov $3, %eax; ret'
first='.section .rodata; .p2align 2; 8: .long other - 8b, other - 8b, 2b - 8b, other - 8b, 3b - 8b'
check dropped "distances, the first of which lead out" "push %rbx; ${distances//ret/pop %rbx; ret}; $other" "$first"
check kept "distances, the first of which lead out, one elsewhere" "push %rbx; ${distances//ret/pop %rbx; ret}; $other" "$first, hidden - 8b"
check kept "distances, counted backwards" "$distances" '.section .rodata; .p2align 2; .long hidden - 8f; 8: .long 2b - 8b, 3b - 8b'
check kept "distances with a hole" "$distances" '.section .rodata; .p2align 2; 8: .long 2b - 8b, 0, hidden - 8b'
check kept "distances, one of which is read" "mov 9f(%rip), %edx; $distances" '.section .rodata; .p2align 2; 8: .long 2b - 8b; 9: .long 3b - 8b, hidden - 8b'
check kept "distances, one of which has its address taken" "lea 9f(%rip), %rdx; $distances" \
  '.section .rodata; .p2align 2; 8: .long 2b - 8b; 9: .long 3b - 8b, hidden - 8b'
check kept "distances, counted backwards from another function's" "$distances" '.section .rodata; .p2align 2; .long hidden - 8f, main - 8f; 8: .long main - 8b'

labels='lea 8f(%rip), %rcx; lea 1f(%rip), %rdx; movslq (%rcx,%rdi,4), %rax; add %rdx, %rax; jmp *%rax; 1: 2: mov $1, %eax; ret; 3: mov $2, %eax; ret'
check dropped "distances from a label" "$labels" '.section .rodata; .p2align 2; 8: .long 2b - 1b, 3b - 1b'
check kept "distances from a label, one elsewhere" "$labels" '.section .rodata; .p2align 2; 8: .long 2b - 1b, hidden - 1b'
frame='push %rbp; sub $16, %rsp; lea 1(%rdi), %rsi; mov %rsi, 8(%rsp); lea 8f(%rip), %rbp; movslq (%rbp,%rdi,4), %rax; add %rbp, %rax; jmp *%rax
  2: mov $1, %eax; add $16, %rsp; pop %rbp; ret'
check dropped "distances by the frame pointer" "$frame" '.section .rodata; .p2align 2; 8: .long 2b - 8b' '-pie -Wl,-z,notext'
check kept "distances by the frame pointer, one elsewhere" "$frame" '.section .rodata; .p2align 2; 8: .long 2b - 8b, hidden - 8b' '-pie -Wl,-z,notext'

addresses='lea 8f(%rip), %rcx; jmp *(%rcx,%rdi,8); 2: mov $1, %eax; ret; 3: mov $2, %eax; ret'
check dropped "addresses" "$addresses" '.section .data.rel.ro, "aw"; .p2align 3; 8: .quad 2b, 3b'
check dropped "addresses, the first of which leads out" "push %rbx; ${addresses//ret/pop %rbx; ret}; $other" '.section .data.rel.ro, "aw"; .p2align 3; 8: .quad other, 2b, 3b'
check kept "addresses, counted backwards" "$addresses" '.section .data.rel.ro, "aw"; .p2align 3; .quad hidden; 8: .quad 2b, 3b'
check kept "addresses with holes" "$addresses" '.section .data.rel.ro, "aw"; .p2align 3; 8: .quad 2b, 0, 0, hidden'
check kept "addresses, one of which is read" "mov 9f(%rip), %rdx; $addresses" '.section .data.rel.ro, "aw"; .p2align 3; 8: .quad 2b; 9: .quad 3b, hidden'
check kept "addresses of a fixed file, counted backwards" 'jmp *8f(,%rdi,8); 2: mov $1, %eax; ret' '.section .rodata; .p2align 3; .quad hidden; 8: .quad 2b' -no-pie

# An entry before the named place goes to a jump by a register that, by way of the others, has a label's address.
jump='lea 8f(%rip), %rcx; mov 7f(%rip), %rdx; movslq (%rcx,%rdi,4), %rax; add %rcx, %rax; jmp *%rax
  2: lea 4f(%rip), %rdx; 3: jmp *%rdx; 4: mov $2, %eax; ret; .pushsection .data; 7: .quad hidden; .popsection'
check dropped "a label" "$jump" '.section .rodata; .p2align 2; 8: .long 2b - 8b'
check kept "a label, or what a register had before" "$jump" '.section .rodata; .p2align 2; .long 3b - 8f; 8: .long 2b - 8b'

# A jump with unknown targets may reach any label, for any register values there on the known ways.
sorts='push %rbx; lea helper(%rip), %rcx; JUMP; 2: lea main(%rip), %rcx; 3: xor %esi, %esi; call qsort; pop %rbx; ret; .pushsection .data; 7: .quad 3b; .popsection'
for jump in 'mov 7f(%rip), %rax; jmp *%rax' 'test %rax, %rax'; do
  make_odd "${sorts/JUMP/$jump}" '' 'mov $1, %eax; ret' 'call collect; ret'
  link_with lld app managed.o main.o collect.o odd.o
  expect_status 0 "$stackpack" callgraph app
  status=0
  grep -qE '^ +0x[0-9a-f]+ passed +main$' out || status=$?
  [[ $jump != mov* && $status == 0 || $jump == mov* && $status == 1 ]] || { cat out; fail "what qsort calls, after $jump"; }
done

# The analysis takes time in proportion to the code: also where each of many jumps goes by a table that others reach, and for
# many calls in a row that call their argument.
expect_quick() { # NAME COUNT BEFORE EACH AFTER: no_call's code, EACH of it for the numbers from 1 on
  awk -v before="$3" -v each="$4" -v after="$5" -v count="$2" 'BEGIN {
    print ".globl no_call; no_call:\n" before
    for (i = 1; i <= count; i++) { line = each; gsub(/NUMBER/, i, line); print line }
    print after
    for (i = 1; i <= count; i++) print ".quad " i "0b"
  }' >odd.S
  "$LLVM/bin/clang" -c odd.S
  link_with lld app managed.o main.o collect.o odd.o
  echo "quick: $1"
  expect_status 0 within 60 "$stackpack" callgraph app
}
expect_quick "jumps by parts of a table" 3000 '' 'lea 1f+8*NUMBER(%rip), %rcx; jmp *(%rcx,%rdi,8); NUMBER0: nop' 'ret; .section .data.rel.ro, "aw"; .p2align 3; 1:'
expect_quick "calls that call" 20000 'push %rbx' 'lea main(%rip), %rcx; call qsort; NUMBER0: nop' 'pop %rbx; ret; .data; .p2align 3'

# One large function, as bytes: pointers that are loaded, with jumps; jumps back and forth; and zeros before other code.
for shape in 'b"\x48\x8b\x08\xff\xd1\x74\x00" * 300000' \
  'b"".join(b"\xe9" + (750000 - 2).to_bytes(4, "little", signed=True) for _ in range(150000)) + b"\xff\xd0\xc3" +
   b"".join(b"\xe9" + (-750003).to_bytes(4, "little", signed=True) for _ in range(150000))' 'bytes(1 << 20) + b"\xff\xd0"'; do
  python3 -c "import sys; sys.stdout.buffer.write($shape)" >odd.bin
  echo '.globl no_call; .type no_call, @function; no_call: push %rbx; .incbin "odd.bin"; pop %rbx; ret' >odd.S
  "$LLVM/bin/clang" -c odd.S
  link_with lld app managed.o main.o collect.o odd.o
  echo "quick: $shape"
  expect_status 0 within 60 "$stackpack" callgraph app
done
