#!/bin/bash
# System calls of the program's own: they may run a signal handler, or go on anywhere.
. "$TOP/tests/cli/common.sh"

make_lonely_program # managed.o main.o collect.o

check() { # kept|dropped NAME CODE: no_call's
  make_odd "$3" '' 'mov $1, %eax; ret' 'call collect; ret'
  expect_odd_verdict "$1" "$2"
}

check kept "rt_sigreturn" 'mov $15, %eax; syscall; ud2'
check kept "kill" 'mov $62, %eax; syscall; ret'
check kept "rt_sigprocmask" 'mov $14, %eax; syscall; ret'
check kept "write" 'mov $1, %eax; syscall; ret'
check kept "of 32 bits" 'mov $4, %eax; int $0x80; ret'
check kept "the old way" 'mov $1, %eax; sysenter; ret'
check dropped "a breakpoint" 'test %rdi, %rdi; je 1f; int3; 1: ret'
