#!/bin/bash
# Programs that read their raw stack maps in other ways than by the first map's address are refused, also when they are stripped: by
# another object's map, by a linker script's symbols, by the section's name. Programs that ask libstackpack are packed; where
# libstackpack is unreferenced, one line says so.
. "$TOP/tests/cli/common.sh"

cat >common.h <<'C'
#include <stdio.h>
#include <stdlib.h>
long run(long n), run_other(long n);
void *allocate(long size) { return calloc(1, size); }
void collect(void) {}
static int end(const char *map) { return printf("%ld %ld %d\n", run(5), run_other(5), map[0]) < 0; }
C
cat common.h - >label.c <<'C'
extern const char __LLVM_StackMaps[];
int main(void) { return end(__LLVM_StackMaps); }
C
cat common.h - >script.c <<'C'
extern const char maps_begin[], maps_end[];
int main(void) { return maps_begin == maps_end || end(maps_begin); }
C
cat common.h - >marks.c <<'C'
extern const char __start_gcmaps[], __stop_gcmaps[];
int main(void) { return __start_gcmaps == __stop_gcmaps || end(__start_gcmaps); }
C
cat common.h - >ends.c <<'C'
#include <unistd.h>
__asm__(".pushsection .fini_array,\"aw\"; .globl ends; ends: .quad __LLVM_StackMaps; .popsection");
extern const char *const volatile ends;
int main(void) { int status = end(ends); fflush(NULL); _exit(status); }
C
cat common.h - >string.c <<'C'
#include <string.h>
int main(int count, char **words) { return count > 1 && strcmp(words[1], NAME) == 0 ? 1 : end(words[0]); }
C
cat common.h - >constant.c <<'C'
#include <string.h>
int main(int count, char **words) { return count > 15 && memcmp(words[1], NAME, 15) == 0 ? 1 : end(words[0]); }
C
echo 'SECTIONS { .llvm_stackmaps : ALIGN(8) { maps_begin = .; KEEP (*(.llvm_stackmaps)) maps_end = .; } } INSERT AFTER .data;' >script.ld

compile list list.o -relocation-model=pic
objcopy --redefine-sym run=run_other --globalize-symbol=__LLVM_StackMaps list.o other.o
for symbol in $("$LLVM/bin/llvm-nm" --defined-only --extern-only --format=just-symbols other.o); do
  [[ $symbol == run_other || $symbol == __LLVM_StackMaps ]] || objcopy --localize-symbol="$symbol" other.o
done
for object in list other; do
  objcopy --rename-section .llvm_stackmaps=gcmaps,alloc,load,readonly,data,contents $object.o $object.marks.o
  objcopy --set-section-flags .llvm_stackmaps=alloc,load,data,contents $object.o $object.writable.o
done

build() { # LINKER C [CLANG OPTION...]
  "$LLVM/bin/clang" -fuse-ld="$1" -w -O1 -DNAME='".llvm_stackmaps"' -Wl,-z,notext -o app "${@:2}"
  run app &>before
}

expect_client() { # HOW [PACK OPTION...]
  local file
  strip -o stripped app
  for file in app stripped; do
    expect_refusal "$file: reads its raw stack maps itself .*: ($1).*; --force packs it" "$stackpack" pack --always "${@:2}" "$file"
    expect_status 0 "$stackpack" pack --always --force --reader=elsewhere --dry-run "${@:2}" "$file"
  done
}

for linker in lld bfd; do
  for kind in "-no-pie -fno-pie" "-pie -fPIE"; do
    echo "$linker $kind"
    # shellcheck disable=SC2086 # a list of words
    {
      build $linker label.c list.o other.o $kind
      expect_client 'an instruction in|a relocation in'
      build $linker script.c list.o other.o $kind -Wl,-T,script.ld
      expect_client 'the symbol maps_(begin|end) |an instruction in|a relocation in'
      build $linker script.c list.writable.o other.writable.o $kind -Wl,-T,script.ld
      expect_client 'the symbol maps_(begin|end) |an instruction in|a relocation in'
      build $linker marks.c list.marks.o other.marks.o $kind
      expect_client 'the symbol __(start|stop)_gcmaps |an instruction in|a relocation in' --section=gcmaps
    }
  done
done
build bfd script.c list.o other.o -static -fno-pie -Wl,-T,script.ld
expect_client 'the symbol maps_(begin|end) |an instruction in'
build bfd ends.c list.o other.o -no-pie -fno-pie
expect_client 'a pointer in \.fini_array at'
build lld string.c list.o other.o
expect_client 'the name \.llvm_stackmaps in \.rodata'
build lld constant.c list.o other.o
expect_client 'the name \.llvm_stackmaps in \.(text|rodata)'
build lld string.c list.marks.o other.marks.o -UNAME -DNAME='"gcmaps"'
expect_client 'the name gcmaps in \.rodata' --section=gcmaps

# The start-up code's own reference to an end that is the stack maps' start.
cat common.h - >none.c <<'C'
int main(int count, char **words) { return end(words[count - 1]); }
C
for options in "-pie -Wl,--discard-all,-S" "-no-pie -fno-pie -Wl,--discard-all,-S" "-static -s"; do
  # shellcheck disable=SC2086 # a list of words
  build bfd none.c list.writable.o other.writable.o $options
  expect_status 0 "$stackpack" pack --always -o packed app
done

# Who reads it then? A line of warning, unless the library is there, in any form.
expect_warning() { # yes|no FILE [PACK OPTION...]
  expect_status 0 "$stackpack" pack --always -o packed "${@:3}" "$2"
  [[ $(grep -c "^stackpack: $2: warning: nothing in it refers to libstackpack" err) == "$([[ $1 == yes ]] && echo 1 || echo 0)" ]] ||
    { cat err >&2; fail "a warning: $1"; }
}
expect_warning yes app
expect_warning yes app --quiet
expect_warning no app --reader=elsewhere
expect_status 2 "$stackpack" pack --reader=nobody app
[[ -n $(library_flags) ]] && exit
cat common.h - >library.c <<'C'
#include "stackpack.h"
static struct stackpack_module modules[4];
static struct stackpack_process process;
int main(int count, char **words) { return stackpack_process_open(&process, modules, 4) != STACKPACK_OK || end(words[count - 1]); }
C
for object in "$BUILD"/libstackpack.a "$BUILD"/libstackpack.so; do
  ! grep -aqE 'llvm_stackmaps|__LLVM_StackMaps' "$object" || fail "$object has the names"
  for options in "-no-pie -fno-pie" "-pie -fPIE -Wl,--gc-sections,-u,__LLVM_StackMaps"; do
    # shellcheck disable=SC2086 # a list of words
    "$LLVM/bin/clang" -fuse-ld=lld -O1 $options -Wl,-z,notext,-rpath,"$BUILD" -I"$TOP/runtime" -o app library.c list.o other.o "$object"
    strip -o stripped app
    expect_warning no app
    expect_warning no stripped
  done
done
objcopy --localize-symbol=__LLVM_StackMaps other.o other.local.o
"$LLVM/bin/clang" -fuse-ld=lld -shared -fPIC -Wl,-z,notext -I"$TOP/runtime" -Dmain=start -o libplugin.so library.c list.o other.local.o
expect_warning no libplugin.so
