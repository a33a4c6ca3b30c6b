#!/bin/bash
# Functions of the C library that call their argument reach that function, where it is known, and else all targets of a pointer.
. "$TOP/tests/cli/common.sh"

compile_managed "$gc/managed.c" managed.o
"$LLVM/bin/clang" -O1 -Dno_call=a -Dno_chain=b -Dno_tail_call=c -Dby_call=d -Dby_chain=e -I"$gc" -c "$gc/native.c" -o native.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o
cat >passes.c <<'C'
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
void collect(void);
static int plain(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int collecting(const void *a, const void *b) { collect(); return plain(a, b); }
static void nothing(void) {}
static pthread_once_t once;
int (*volatile any)(const void *, const void *) = collecting;
long no_call(long x) { int items[2] = {(int)x, 1}; qsort(items, 2, sizeof *items, plain); return items[0]; }
long no_chain(long x) { int key = (int)x; pthread_once(&once, nothing); return bsearch(&key, &key, 1, sizeof key, plain) != NULL; }
long no_tail_call(long x) { int items[2] = {(int)x, 1}; size_t n = 2; return lfind(&x, items, &n, sizeof *items, plain) != NULL; }
long by_call(long x) { int items[2] = {(int)x, 1}; qsort(items, 2, sizeof *items, collecting); return items[0]; }
long by_chain(long x) { int items[2] = {(int)x, 1}; qsort(items, 2, sizeof *items, x > 5 ? any : plain); return items[0]; }
C
for layout in "-no-pie" "-pie -Wl,-z,notext" "-pie -Wl,-z,notext -Wl,-z,now"; do
  "$LLVM/bin/clang" -O1 -fPIE -c passes.c
  # shellcheck disable=SC2086 # a list of words
  link_with lld app managed.o native.o main.o passes.o $layout
  for function in no_call no_chain no_tail_call; do expect_verdict dropped app managed_$function --gc-entry=collect; done
  for function in by_call by_chain; do expect_verdict kept app managed_$function --gc-entry=collect; done
  expect_verdict kept app managed_by_call --gc-entry=collect
  expect_output 'by_call has another function call collecting'
done

# With a malloc of the program's own, more than that is called.
cat >own.c <<'C'
#include <stddef.h>
void collect(void);
static char heap[1 << 20];
static size_t used;
void *malloc(size_t size) { collect(); return heap + (used += (size + 15) & ~(size_t)15); }
void free(void *p) { (void)p; }
C
"$LLVM/bin/clang" -O1 -fPIE -fno-builtin -c own.c
link_with lld app managed.o native.o main.o passes.o own.o
expect_verdict kept app managed_no_call --gc-entry=collect

# Rare code that is kept apart, as a function of its own, may come back with another argument.
make_lonely_program
cat >cold.S <<'S'
    .text
    .globl no_call
    .type no_call, @function
no_call:
    .cfi_startproc
    sub $24, %rsp
    .cfi_def_cfa_offset 32
    lea plain(%rip), %rcx
    test %rdi, %rdi
    jne cold
back:
    mov %rsp, %rdi
    mov $2, %esi
    mov $8, %edx
    call qsort@PLT
    add $24, %rsp
    ret
    .cfi_endproc
    .size no_call, . - no_call
    .type plain, @function
plain:
    xor %eax, %eax
    ret
    .size plain, . - plain
    .type collecting, @function
collecting:
    call collect
    xor %eax, %eax
    ret
    .size collecting, . - collecting
    .section .text.unlikely, "ax", @progbits
    .type cold, @function
cold:
    .cfi_startproc
    .cfi_def_cfa_offset 32
#ifdef COMES_BACK
    lea collecting(%rip), %rcx
    jmp back
#else
    ud2
#endif
    .cfi_endproc
    .size cold, . - cold
    .section .note.GNU-stack, "", @progbits
S
for option in "" -DCOMES_BACK; do
  "$LLVM/bin/clang" $option -c cold.S
  link_with lld app managed.o main.o collect.o cold.o
  expect_verdict "$([[ -n $option ]] && echo kept || echo dropped)" app managed_no_call --gc-entry=collect
done
