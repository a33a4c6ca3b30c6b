#!/bin/bash
# gdb's commands deep in frames of managed and native code by turns, in several threads, of a packed and stripped PIE and a library that
# it loads: `info roots all` prints the roots that native code was given. In broken cores and files the answers end in a line.
. "$TOP/tests/samples/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "the broken stacks are those of x86-64"
ulimit -c unlimited
ulimit -S -t 60 # the end of each answer
ulimit -S -s 1024
export MALLOC_ARENA_MAX=1 # for a small core

cat >managed.c <<'C'
typedef __attribute__((address_space(1))) long *reference;
reference new_object(long number);
long native_step(reference object, reference own, long depth);
long NAME(reference object, long depth) {
  reference own = new_object(depth);
  return native_step(object, own, depth) + *own + *object;
}
C
cat >native.c <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { THREADS = 3 };
typedef long managed(long *object, long depth);
managed descend;
static managed *of_library;
static long depth;
static pthread_barrier_t barrier;
static FILE *roots[THREADS];
static _Thread_local FILE *own_roots;
long *new_object(long number);
long native_step(long *object, long *own, long depth);
void stopped(void);

long *new_object(long number) {
  long *object = malloc(sizeof *object);
  *object = number;
  return object;
}

__attribute__((noinline)) void stopped(void) { __asm__ volatile(""); }

static long wait_for_all(void) {
  fclose(own_roots);
  pthread_barrier_wait(&barrier);
  if (own_roots == roots[0])
    stopped();
  return pause();
}

long native_step(long *object, long *own, long depth) {
  fprintf(own_roots, "%p\n%p\n", (void *)object, (void *)own);
  return depth == 0 ? wait_for_all() : (depth % 2 == 0 ? descend : of_library)(own, depth - 1) + 1;
}

static void *run(void *file) {
  own_roots = file;
  descend(new_object(-1), depth);
  return NULL;
}

int main(int argc, char **argv) {
  char name[] = "roots.1";
  of_library = (managed *)dlsym(dlopen(argv[1], RTLD_NOW), "descend_in_library");
  depth = atol(argv[argc - 1]);
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int i = 0; i < THREADS; i++, name[6]++)
    roots[i] = fopen(name, "w");
  for (int i = 1; i < THREADS; i++)
    pthread_create(&(pthread_t){0}, NULL, run, roots[i]);
  run(roots[0]);
}
C
compile_managed managed.c program.o -fPIC -DNAME=descend
compile_managed managed.c library.o -fPIC -DNAME=descend_in_library
"$CC" -O2 -fPIE -c native.c
link_with lld program.raw program.o native.o -pie -rdynamic -pthread -Wl,-z,notext
link_with lld library.raw library.o -shared -Wl,-z,notext
for name in program library; do
  expect_status 0 "$stackpack" pack --always --reader=elsewhere -o $name $name.raw
  strip $name
done

# ---- The roots of each thread, in the process and in the core ----

stopped() { # OUTPUT DEPTH GDB-ARGUMENT...
  in_gdb "$1" -ex 'break stopped' -ex "run ./library $2" "${@:3}" -ex kill program
}
expect_given() { # OUTPUT of info roots all for each thread
  roots_of "$1" | awk '/^root/ { print $4 }' | sort >printed
  sort roots.? | diff - printed || fail "$1: other roots than the program has"
  [[ $(grep -c 'managed frames with .*; the walk ends at the outermost frame$' "$1") == 3 ]] || fail "$1: another end: $(<"$1")"
}
all=(-ex 'info roots all 1' -ex 'info roots all 2' -ex 'info roots all 3')
stopped process 40 "${all[@]}" -ex 'generate-core-file core'
expect_given process
in_gdb from_core "${all[@]}" program core
expect_given from_core
[[ $(grep -c '^41 managed frames with 82 roots' from_core) == 3 ]] || fail "other counts: $(<from_core)"

# ---- What is broken: a line, and an end ----

ends() { # OUTPUT WHAT
  ! grep -E 'Traceback|Python Exception|Error occurred in Python' "$1" || fail "$2: $(<"$1")"
  grep -qE '; the walk |^no process or core$' "$1" || fail "$2: no end: $(<"$1")"
}
cp core whole
python3 "$TOP/tests/samples/kernel_core.py" whole
in_gdb output "${all[@]}" program whole
expect_given output
size=$(stat -c %s whole)
for part in 0 1 5 20 50 90 99; do
  head -c $((100 + size * part / 100)) whole >core.cut
  in_gdb output "${all[@]}" -ex backtrace program core.cut
  ends output "$part % of a core"
  cat output >>cut
done
grep -q '; the walk stops at .* unknown: the stack is broken, or this memory isn.t in the core' cut || fail "no reason: $(<cut)"

(
  echo 1 >/proc/self/coredump_filter # what comes from files is left out
  stopped process 40 "${all[@]}" -ex 'generate-core-file small'
)
in_gdb output "${all[@]}" program small
expect_given output

# Stacks that are overwritten; then as they were.
stopped output 40 -ex "source $TOP/tests/samples/debugger_overwrite.py" "${all[@]}"
[[ $(grep -c '^overwritten [0-9]*: .*; the walk ' output) == 60 ]] || fail "no end: $(grep ^overwritten output)"
ends output "an overwritten stack"
expect_given output

# Bytes of the table, changed one at a time: no answers but the library's.
read -r offset size < <(readelf -SW program | sed -nE 's/.* \.stackpack +PROGBITS +\S+ (\S+) (\S+) .*/0x\1 0x\2/p')
for ((at = 0; at < size; at += 1 + size / 16)); do
  cp program damaged
  byte=$(od -An -tu1 -j $((offset + at)) -N 1 program)
  printf '%b' "\\x$(printf '%02x' $((byte ^ 129)))" | dd of=damaged bs=1 seek=$((offset + at)) conv=notrunc status=none
  in_gdb output -ex 'info roots all' -ex backtrace damaged core
  ends output "byte $at of the table"
  grep -q '^stackpack: .*damaged: a broken packed table' output || fail "byte $at of the table: $(<output)"
  [[ $(grep -c '^#.* in descend_in_library: a statepoint, 2 roots$' output) == 20 ]] || fail "byte $at of the table: other roots"
done

# ---- A backtrace has them all, in batches, each with its mark ----

stopped output 3000 -ex 'set backtrace limit unlimited' -ex backtrace
[[ $(grep -c '^#[0-9]* .* in descend\S* \[managed\] ()' output) == 3001 ]] || fail "managed frames without a mark: $(head -n 40 output)"
grep -qE '^#60[0-9]{2} .* in main ' output || fail "a backtrace without its end: $(tail output)"
