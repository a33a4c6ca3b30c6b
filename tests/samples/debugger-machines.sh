#!/bin/bash
# gdb's command `info roots`, of gdb-multiarch: for AArch64, in processes that qemu runs and in their cores, it prints the roots that
# the library gives the collector, one by one, in each sample; and those of code that a program has put into memory.
. "$TOP/tests/samples/common.sh"

can_run aarch64 || skip "no cross compiler or emulator for aarch64"
command -v gdb-multiarch >log || skip "gdb-multiarch is not installed"
gdb="gdb-multiarch"
ulimit -c unlimited
samples=aarch64/samples
# Packed deoptimisation state needs Zstandard for that machine.
build_for aarch64 aarch64 "" samples/{semispace,handles,threads,fibers,trace,deopt-raw,deopt-O0-raw}

qemu=
trap '[[ -z $qemu ]] || kill $qemu 2>kill.log || true' EXIT

# Runs a sample in qemu, with `options`, under gdb, up to a breakpoint; gdb's connection is a socket in this folder. Its stack starts
# with its environment, and so that is the same in each run.
at_collection() { # OUTPUT PROGRAM FUNCTION HITS GDB-ARGUMENT...
  rm -f socket
  env -u LAST qemu-aarch64 -L /usr/aarch64-linux-gnu -g "$PWD/socket" "$samples/$2" "${options[@]}" >qemu.log 2>&1 &
  qemu=$!
  until awk -v name="$PWD/socket" '$4 == "00010000" && $NF == name { found = 1 } END { exit !found }' /proc/net/unix; do # it listens
    kill -0 $qemu || fail "qemu: $(<qemu.log)"
    sleep 0.1
  done
  in_gdb "$1" -ex 'set sysroot /usr/aarch64-linux-gnu' -ex "target remote $PWD/socket" -ex "break $3" -ex "ignore 1 $4" -ex continue \
    "${@:5}" "$samples/$2"
  wait $qemu || true # killed, or aborted
  qemu=
}

# Stops at the start of a collection, or of another walk, which ends at the function LAST. There are so many frames, roots and derived
# references at least.
expect_roots() { # SAMPLE LEAST FUNCTION HITS LAST OPTION...
  local options=("${@:6}")
  LAST=$5 at_collection process "$1" "$3" "$4" -ex 'thread apply all info roots all' -ex delete \
    -ex "source $TOP/tests/samples/debugger_listing.py" -ex kill
  take_listing process "$1" "$2"
  expect_listed process
}

# The same in the core of a second run, by the packed and by the raw program.
expect_roots_in_core() { # AS ABOVE
  local file options=("${@:6}")
  sampled 2 || return 0
  expect_roots "$@"
  at_collection process "$1" "$3" "$4" -ex 'signal SIGABRT'
  for file in "$samples/${1%-raw}" "$samples/${1%-raw}-raw"; do
    [[ -e $file ]] || continue
    in_gdb from_core -ex 'set sysroot /usr/aarch64-linux-gnu' -ex 'info roots all' "$file" qemu_*.core
    expect_listed from_core
  done
  rm qemu_*.core
}

expect_roots_in_core semispace "5 5 0" copier_start 2000 copier_finish --stress --size 1 # in a list
expect_roots_in_core semispace "1 4 1" copier_start 300 copier_finish --stress --size 1
expect_roots_in_core handles "3 3 0" copier_start 200 copier_finish --stress --size 20 --levels 7
expect_roots_in_core fibers "1 1 0" copier_start 100 copier_finish --stress --fibers 10 --size 8
expect_roots_in_core deopt-raw "1 0 0" stackpack_unwinder_call 30 return_to
expect_roots_in_core deopt-O0-raw "2 0 0" stackpack_unwinder_call 30 return_to
expect_roots_in_core trace "3 0 0" exception_throw_at 0 stackpack_process_close '+ 1 / 6 - 2 2'
expect_roots threads "1 1 0" copier_start 20 copier_finish --stress --lists 4 --length 12 # they take turns in another way in each run

# Suspended fibers: `info roots at` their contexts.
options=(--stress --fibers 5 --size 4)
LAST=copier_finish at_collection process fibers copier_start 600 "${suspended[@]}" -ex delete -ex "source $TOP/tests/samples/debugger_listing.py" -ex kill
take_suspended process "5 1 0"
at_collection process fibers copier_start 600 -ex 'signal SIGABRT'
for file in "$samples"/fibers{,-raw}; do
  in_gdb from_core -ex 'set sysroot /usr/aarch64-linux-gnu' -ex 'source commands' "$file" qemu_*.core
  expect_suspended from_core
done
rm qemu_*.core

# ---- Code that a program has put into memory, and added with its stack maps: `stackpack process` ----

cat >managed.c <<'C'
typedef __attribute__((address_space(1))) long *reference;
struct calls {
  reference (*new_object)(long number);
  long (*native_step)(reference object, reference own, long depth);
};
long descend(reference object, long depth, const struct calls *calls) {
  reference own = calls->new_object(depth);
  return calls->native_step(object, own, depth) + *own + *object;
}
C
cat >native.c <<'C'
#include "stackpack.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
struct calls {
  long *(*new_object)(long number);
  long (*native_step)(long *object, long *own, long depth);
};
typedef long managed(long *object, long depth, const struct calls *calls);
managed descend;
void stopped(void);
extern const char __start_added_code[], __stop_added_code[], __start_added_maps[], __stop_added_maps[], __start_added_unwind[],
    __stop_added_unwind[];
static struct stackpack_process process;
static struct stackpack_module modules[1];
static managed *copy;

static long *new_object(long number) {
  long *object = malloc(sizeof *object);
  *object = number;
  return object;
}
__attribute__((noinline)) void stopped(void) { __asm__ volatile(""); }
static long native_step(long *object, long *own, long depth) {
  static const struct calls calls = {new_object, native_step};
  printf("%p\n%p\n", (void *)object, (void *)own);
  fflush(stdout);
  if (depth > 0)
    return copy(own, depth - 1, &calls) + 1;
  stopped();
  return 0;
}

int main(void) {
  static const struct calls calls = {new_object, native_step};
  static struct stackpack_memory memory;
  const size_t size = (size_t)(__stop_added_code - __start_added_code);
  char *code = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, __start_added_code, size);
  __builtin___clear_cache(code, code + size);
  const uint64_t distance = (uint64_t)code - (uint64_t)__start_added_code;
  const struct stackpack_bytes bytes = {code, size, (uint64_t)code};
  const struct stackpack_maps maps = {.bytes = __start_added_maps, .size = (size_t)(__stop_added_maps - __start_added_maps), .base = distance,
    .code = &bytes, .code_count = 1,
    .unwind = {__start_added_unwind, (size_t)(__stop_added_unwind - __start_added_unwind), (uint64_t)__start_added_unwind + distance}};
  stackpack_process_open(&process, modules, 1);
  if (stackpack_memory_open(&memory, &maps) != STACKPACK_OK ||
      stackpack_process_add(&process, (uintptr_t)code, size, &memory.table) != STACKPACK_OK)
    return 1;
  copy = (managed *)((uint64_t)descend + distance);
  return (int)copy(new_object(-1), 9, &calls);
}
C
compile_managed managed.c managed.o --target=aarch64-linux-gnu -fno-pic
aarch64-linux-gnu-objcopy --rename-section .text=added_code --rename-section .llvm_stackmaps=added_maps --rename-section .eh_frame=added_unwind managed.o
aarch64-linux-gnu-gcc -O2 -fasynchronous-unwind-tables -no-pie -I"$TOP/runtime" native.c managed.o aarch64/libstackpack.a -o added
expect_given() { # OUTPUT of info roots all
  roots_of "$1" | awk '/^root/ { print $4 }' | sort >printed
  grep ^0x qemu.log | sort | diff - printed || fail "$1: other roots than the program has: $(<"$1")"
  grep -q '^10 managed frames with 20 roots, .*; the walk ends at the outermost frame$' "$1" || fail "$1: another end: $(<"$1")"
}
samples=. options=()
at_collection process added stopped 0 -ex 'info roots all' -ex 'echo -- told\n' -ex 'stackpack process &process' -ex 'info roots all' -ex kill
sed '/^-- told$/,$d' process | grep -q ': in no file.s code, ' || fail "no frame of such code: $(<process)"
sed -n '/^-- told$/,$p' process >told
expect_given told
at_collection process added stopped 0 -ex 'signal SIGABRT'
in_gdb from_core -ex 'set sysroot /usr/aarch64-linux-gnu' -ex 'stackpack process &process' -ex 'info roots all' added qemu_*.core
expect_given from_core
