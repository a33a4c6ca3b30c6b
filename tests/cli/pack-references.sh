#!/bin/bash
# A program that reads its raw stack maps itself, by the symbol __LLVM_StackMaps, would find packed ones there: it is refused,
# and stays unchanged, unless --force says that it's all right. Other programs are packed.
. "$TOP/tests/cli/common.sh"

cat >common.h <<'C'
#include <stdio.h>
#include <stdlib.h>
long run(long n);
void *allocate(long size) { return calloc(1, size); }
void collect(void) {}
C
for use in address byte pointer weak field; do
  cp common.h $use.c
done
cat >>address.c <<'C'
extern const char __LLVM_StackMaps[];
int main(void) { return printf("run(5) = %ld %d\n", run(5), (int)((unsigned long)__LLVM_StackMaps % 8)) < 0; }
C
cat >>byte.c <<'C'
extern const char __LLVM_StackMaps[];
int main(void) { return printf("run(5) = %ld %d\n", run(5), __LLVM_StackMaps[0]) < 0; }
C
cat >>field.c <<'C'
extern const int __LLVM_StackMaps[];
int main(void) { return printf("run(5) = %ld %d\n", run(5), __LLVM_StackMaps[1]) < 0; }
C
cat >>pointer.c <<'C'
extern const char __LLVM_StackMaps[];
const char *volatile maps = __LLVM_StackMaps;
int main(void) { return printf("run(5) = %ld %d\n", run(5), maps[0]) < 0; }
C
cat >>weak.c <<'C'
extern const char __LLVM_StackMaps[] __attribute__((weak));
int main(void) { return printf("run(5) = %ld %d\n", run(5), __LLVM_StackMaps == NULL ? -1 : __LLVM_StackMaps[0]) < 0; }
C
cat common.h - >none.c <<'C'
int main(void) { return printf("run(5) = %ld\n", run(5)) < 0; }
C

compile list list.o -relocation-model=pic
objcopy --globalize-symbol=__LLVM_StackMaps list.o list.global.o # LLVM makes it local
objcopy --set-section-flags .llvm_stackmaps=alloc,load,data list.global.o list.writable.o

"$LLVM/bin/clang" -O1 -fPIC -c none.c

check_refused() { # FILE HOW
  cp "$1" before
  expect_refusal "$1: reads its raw stack maps itself \(__LLVM_StackMaps\), it seems: $2; --force packs it" "$stackpack" pack "$1"
  expect_same "$1" before
  expect_status 0 "$stackpack" pack --force --always -o packed "$1"
  expect_output 'warning: reads its raw stack maps itself'
  expect_packed packed
  # lld's index of unwind tables is unsorted where code is in .ltext, too: libdw misses frames by it.
  [[ $kind == *large* ]] || expect_status 0 "$stackpack" verify "$1" packed
}

check_packed() { # FILE
  expect_status 0 "$stackpack" pack --always -o packed "$1"
  ! grep -q warning out || { cat out; fail "a warning"; }
  [[ $(wc -l <out) == 1 ]] || { cat out; fail "more than the summary"; }
}

kind=
how='(a relocation in [^ ]+ for [^ ]+ at 0x[0-9a-f]+|a pointer in [^ ]+ at 0x[0-9a-f]+|an instruction in [^ ]+ at 0x[0-9a-f]+)'
tried=0
for linker in lld bfd gold mold; do
  "$LLVM/bin/clang" -fuse-ld=$linker -Wl,--version >log 2>&1 || { echo "no linker $linker"; continue; }
  kinds=("-no-pie -fno-pie" "-pie -s -fPIC -Wl,-z,notext")
  [[ $linker != lld && $linker != bfd ]] ||
    kinds+=("-no-pie -static -fno-pie" "-pie -fPIE -Wl,-z,notext" "-no-pie -fno-pie -Wl,-q" "-no-pie -mcmodel=large"
      "-pie -fPIC -Wl,-z,notext,-z,pack-relative-relocs")
  for kind in "${kinds[@]}"; do
    for use in address byte field pointer weak none; do
      for object in list.global.o list.o; do
        sampled 5 || continue
        [[ $kind != *relocs ]] || object=${object/global/writable}
        [[ $object != list.o || $use == none || $use == weak ]] || continue # isn't defined then
        # shellcheck disable=SC2086 # a list of words
        "$LLVM/bin/clang" -fuse-ld=$linker -O1 $kind -Wno-unused-command-line-argument -o app $use.c $object \
          >log 2>&1 || continue # an option that this linker doesn't have
        echo "$linker $kind $use $object"
        tried=$((tried + 1))
        case $use,$object in
        none,*) check_packed app ;;
        # Undefined here, it has a null address: the name alone shows it, if the linker leaves it.
        weak,list.o) grep -q 'UND __LLVM_StackMaps' <(readelf --symbols --wide app) || continue
          check_refused app 'an imported symbol in \.(dynsym|symtab)' ;;
        *) check_refused app "$how" ;;
        esac
      done
    done
  done

  # Writable stack maps may follow a table of the start-up code, and the code names its end.
  for options in "-no-pie" "-pie" "-pie -s" "-no-pie -static -s" "-static-pie -s"; do
    [[ $linker != gold || $options != -static-pie* ]] || continue # it can't do that
    # shellcheck disable=SC2086
    "$LLVM/bin/clang" -fuse-ld=$linker -Wno-unused-command-line-argument -o app $options none.o list.writable.o
    check_packed app
  done

  # For other modules to read.
  link_with $linker liblist.so -shared -Wl,-z,notext list.global.o
  check_refused liblist.so 'an exported symbol in \.dynsym'
  link_with $linker liblist.so -shared -Wl,-z,notext list.o
  check_packed liblist.so
  # Of another module.
  "$LLVM/bin/clang" -fuse-ld=$linker -fPIC -shared -Wl,-z,notext -o libuse.so byte.c list.o
  check_refused libuse.so 'an imported symbol in \.dynsym'
done
[[ $SAMPLING == few ]] || ((tried > 60)) || fail "only $tried programs"

# A number that happens to be the section's address, in code and in data, is no reference; a hidden label's address is.
cat common.h - >number.c <<'C'
long sizes[] = {1, 0x10000000, 2};
int main(void) { return printf("run(5) = %ld %p\n", run(5), malloc(0x10000000 + (sizes[1] & 1))) < 0; }
C
cat common.h - >hidden.c <<'C'
extern const char __LLVM_StackMaps[] __attribute__((visibility("hidden")));
int main(void) { return printf("run(5) = %ld %d\n", run(5), (int)((unsigned long)__LLVM_StackMaps % 8)) < 0; }
C
for linker in bfd gold; do
  address=-Wl,--section-start=.llvm_stackmaps=0x10000000
  "$LLVM/bin/clang" -fuse-ld=$linker -O1 -no-pie -fno-pie "$address" -o app number.c list.o
  grep -qE '\.llvm_stackmaps +PROGBITS +0*10000000 ' <(readelf --section-headers --wide app) || fail "$linker: at another address"
  check_packed app
  strip app # then there is no telling
  check_refused app "$how"
  "$LLVM/bin/clang" -fuse-ld=$linker -O1 -no-pie -fno-pie "$address" -o app hidden.c list.global.o
  check_refused app "$how"
done

# The end of a table of constants in front of the stack maps is no reference to them, if the program has a reader of packed
# ones, and other files lack a name for the raw ones.
cat common.h - >loop.c <<'C'
extern const long *start, *end;
int main(void) {
  for (const long *at = start; at < end; at++)
    printf("run(%ld) = %ld\n", *at, run(*at));
}
C
cat >table.c <<'C'
static const long table[] = {2, 3, 5, 7};
const long *start = table, *end = table + 4;
C
for linker in lld bfd; do
  for kind in "-no-pie -fno-pie" "-pie -fPIE -Wl,-z,notext"; do
    for object in list.o list.global.o; do
      # shellcheck disable=SC2086
      "$LLVM/bin/clang" -fuse-ld=$linker -O1 $kind -o app $object loop.c table.c
      check_refused app "$how"
    done
    expect_refusal "app: reads its raw stack maps itself" "$stackpack" pack --always --reader=elsewhere app
    # shellcheck disable=SC2086
    "$LLVM/bin/clang" -fuse-ld=$linker -O1 $kind -o app list.o loop.c table.c
    expect_status 0 "$stackpack" pack --always --reader=elsewhere -o packed app
    expect_same_run app packed
  done
done

# References far behind the start of a section, after data bytes or the start of a long instruction: each of
# these bytes may be the last one before decoding begins. No symbol tells.
for count in 9000 9001; do
  for byte in 0x48 0x0f 0x66 0xe8 0xff; do
    echo ".text; .globl far; .fill $count, 1, $byte; .fill 16, 1, 0x90
far: lea __LLVM_StackMaps(%rip), %rax; ret; .fill 9000, 1, $byte" | as -o far.o
    ld -o app -e far far.o list.global.o --unresolved-symbols=ignore-all
    objcopy --strip-all app
    check_refused app "an instruction in \.text at 0x[0-9a-f]+"
  done
done

# libstackpack finds the stack maps by their section.
if [[ -e $BUILD/libstackpack.a ]] && ! nm "$BUILD/libstackpack.a" | grep __asan >/dev/null; then
  cat common.h - >library.c <<'C'
#include "stackpack.h"
static struct stackpack_module modules[4];
static struct stackpack_process process;
int main(void) { return stackpack_process_open(&process, modules, 4) != STACKPACK_OK || printf("run(5) = %ld\n", run(5)) < 0; }
C
  for kind in "-no-pie" "-no-pie -static" "-pie -Wl,-z,notext"; do
    # shellcheck disable=SC2086
    "$LLVM/bin/clang" -fuse-ld=lld $kind -I"$TOP/runtime" -o app library.c list.global.o "$BUILD/libstackpack.a"
    check_packed app
    expect_same_run app packed
  done
fi
