#!/bin/bash
# A function that only odd words refer to stays reachable, and callers by these words keep their records.
. "$TOP/tests/cli/common.sh"

compile_managed "$gc/managed.c" managed.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o
"$LLVM/bin/clang" -O1 -Dno_call=without -I"$gc" -c "$gc/native.c" -o native.o

# `no_call` calls by a word of the form; they are the only references to `hidden`, which collects.
check() { # NAME "LINK OPTIONS" [COMPILER OPTION...] <SOURCE
  local name=$1 link=$2
  shift 2
  cat >"$name"
  "$LLVM/bin/clang" -O1 "$@" -c "$name" -o odd.o
  # shellcheck disable=SC2086 # a list of words
  link_with ${linker:-lld} app managed.o native.o main.o odd.o $link
  expect_verdict kept app managed_no_call --gc-entry=collect
  expect_verdict kept app managed_no_call --gc-entry=hidden
}
fixed=-no-pie pie="-pie -Wl,-z,notext"
hidden='.text; .p2align 4; .type hidden, @function; hidden: sub $8, %rsp; call collect; add $8, %rsp; ret; .size hidden, . - hidden
  .p2align 4; .type other, @function; other: ret; .size other, . - other'
no_call='.globl no_call; .p2align 4; .type no_call, @function; no_call: sub $8, %rsp'
end='add $8, %rsp; ret; .size no_call, . - no_call
  .section .note.GNU-stack, "", @progbits'

# Words of 4 bytes at odd places, as addresses and as distances.
check odd.S "$fixed" <<S
  $hidden; $no_call; mov word+0(%rip), %eax; call *%rax; $end
  .section .rodata; .p2align 3; .byte 1; word: .long hidden
S
check odd.S "$pie" <<S
  $hidden; $no_call; lea word(%rip), %rax; movslq word(%rip), %rcx; add %rcx, %rax; call *%rax; $end
  .section .rodata; .p2align 3; .byte 1; word: .long hidden - .
S
# Pointers with tags in their high bits.
check odd.S "$pie" <<S
  $hidden; $no_call; mov word(%rip), %rax; shl \$16, %rax; shr \$16, %rax; call *%rax; $end
  .data; .p2align 3; word: .quad hidden + (0x5a << 48)
S
check odd.S "$fixed" <<S
  $hidden; $no_call; mov word(%rip), %rax; shl \$16, %rax; shr \$16, %rax; call *%rax; $end
  .data; .p2align 3; word: .quad hidden + (0x5a << 48)
S
# Notes, and sections of other types.
check odd.S "$fixed" <<S
  $hidden; $no_call; mov word(%rip), %rax; call *%rax; $end
  .section .note.odd, "a", @note; .p2align 3; .long 4, 8, 1; .asciz "Odd"; word: .quad hidden
S
check odd.S "$fixed" <<S
  $hidden; $no_call; mov word(%rip), %rax; call *%rax; $end
  .section odd, "aw", @0x60000001; .p2align 3; word: .quad hidden
S
# Data in front of a function (LLVM's prefix data).
check odd.ll "$fixed" -w <<'LL'
declare void @collect()
define internal void @hidden() { 
  call void @collect()
  ret void
}
define i64 @no_call(i64 %x) prefix ptr @hidden {
  %word = getelementptr ptr, ptr @no_call, i64 -1
  %p = load volatile ptr, ptr %word
  call void %p()
  ret i64 %x
}
LL
# Distances from the start of a table, and from a function, with the words elsewhere.
check odd.S "$pie" <<S
  $hidden; $no_call; lea table+4(%rip), %rdx; lea table(%rip), %rax; movslq (%rdx,%rdi,4), %rcx; add %rcx, %rax; call *%rax; $end
  .section .rodata; .p2align 2; table: .long 1; .long other - table, hidden - table
S
check odd.S "$pie" <<S
  $hidden; $no_call; lea table(%rip), %rdx; lea other(%rip), %rax; movslq (%rdx,%rdi,4), %rcx; add %rcx, %rax; call *%rax; $end
  .section .rodata; .p2align 2; table: .long 0; .long hidden - other
S
# Code for the large model, where DT_PLTGOT is missing.
check odd.c "$pie -nostartfiles -Wl,-e,main" -fPIC -mcmodel=large <<'C'
void collect(void);
static __attribute__((noinline)) long hidden(long x) { collect(); return x; }
static long (*volatile pointer)(long);
long no_call(long x) { pointer = hidden; return pointer(x); }
C
