#!/bin/bash
# A call by an address that is made of another function's may lead to any function, however it is computed and kept. And signal
# handlers and cleanups that are set by the less usual functions of the C library run from abort and longjmp.
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
  cat >odd.S <<S
  .text; .globl no_call; .p2align 4; .type no_call, @function
no_call: sub \$24, %rsp; lea helper(%rip), %rax; $3; add \$24, %rsp; ret
  .size no_call, . - no_call
  .p2align 4; .type helper, @function
helper: mov \$1, %eax; ret
  .size helper, . - helper
  .p2align 4; .type hidden, @function
hidden: call collect; ret
  .size hidden, . - hidden
  .section .note.GNU-stack, "", @progbits
S
  "$LLVM/bin/clang" -c odd.S
  check "$1" "$2"
}
check_code kept "scaled" 'lea 16(%rax,%rdi,8), %rdx; call *%rdx'
check_code kept "plus a constant" 'add $16, %rax; call *%rax'
check_code kept "a difference" 'sub %rdi, %rax; call *%rax'
check_code kept "in memory" 'mov %rax, 8(%rsp); add %rdi, 8(%rsp); call *8(%rsp)'
check_code kept "of what was kept" 'mov %rax, 8(%rsp); mov 8(%rsp), %rdx; add %rdi, %rdx; call *%rdx'
check_code kept "of two ways" 'or %rdi, %rax; call *%rax'
check_code dropped "not called" 'add %rdi, %rax; call helper'

check_c() { # kept|dropped NAME C
  printf '%s\n' 'void collect(void);' "$3" >odd.c
  "$LLVM/bin/clang" -O1 -w -fno-builtin -c odd.c
  check "$1" "$2"
}
for set in ssignal sysv_signal; do
  check_c kept "abort, after $set" "void abort(void); void *$set(int, void *);
    static void handle(int s) { collect(); } __attribute__((constructor)) static void set(void) { $set(6, handle); }
    long no_call(long x) { if (x > 100) abort(); return x; }"
done
check_c dropped "abort" "void abort(void); long no_call(long x) { if (x > 100) abort(); return x; }"
check_c kept "longjmp, after a cleanup" "void longjmp(void *, int); void _pthread_cleanup_push(void *, void *, void *); long room[8], place[50];
    static void clean(void *p) { collect(); } __attribute__((constructor)) static void set(void) { _pthread_cleanup_push(room, clean, 0); }
    long no_call(long x) { if (x > 100) longjmp(place, 1); return x; }"
