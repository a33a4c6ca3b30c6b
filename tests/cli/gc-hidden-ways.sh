#!/bin/bash
# Ways to a collection that are hidden from calls: places that are patched when the program runs, landing pads in other
# sections, a malloc of the program's own that the C library uses. Their records are kept.
. "$TOP/tests/cli/common.sh"

compile_managed "$gc/managed.c" managed.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o
link_without() { # OUTPUT FUNCTION OBJECT-OR-OPTION...: all of native.c but a function, which the object has
  local output=$1 function=$2
  shift 2
  "$LLVM/bin/clang" -O1 "-D$function=without" -I"$gc" -c "$gc/native.c" -o native.o
  link_with "${linker:-lld}" "$output" managed.o native.o main.o "$@"
}

# A statepoint that is nops until the runtime fills it in.
cat >patched.ll <<'LL'
declare void @collect()
define void @patched() noinline gc "statepoint-example" {
  call void @collect() "statepoint-num-patch-bytes"="5"
  ret void
}
define i64 @no_call(i64 %x) { ; not managed
  call void @patched()
  ret i64 %x
}
LL
compile ./patched.ll patched.o
link_without app no_call patched.o
expect_verdict kept app managed_no_call --gc-entry=collect
expect_verdict kept app patched --gc-entry=collect
expect_output 'no call instruction ends at its address'
expect_verdict dropped app managed_no_outside --gc-entry=collect

# A patchpoint may be filled in, too.
cat >patched.ll <<'LL'
declare void @llvm.experimental.patchpoint.void(i64, i32, ptr, i32, ...)
define i64 @no_call(i64 %x) {
  call void (i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.void(i64 7, i32 16, ptr null, i32 0)
  ret i64 %x
}
LL
compile ./patched.ll patched.o
link_without app no_call patched.o
expect_verdict kept app managed_no_call --gc-entry=collect

# Landing pads that are functions of their own.
cat >throws.cc <<'CC'
extern "C" void collect();
extern "C" long no_call(long x);
static __attribute__((noinline)) void throws(long x) { if (x % 3 == 0) throw x; }
long no_call(long x) {
  try { throws(x); } catch (long caught) { collect(); return caught; }
  return x;
}
CC
for option in -fbasic-block-sections=all "-fsplit-machine-functions -mllvm -mfs-split-ehcode" -fno-exceptions; do
  if [[ $option == -fno-exceptions ]]; then # no landing pads: nothing leads there
    sed -i 's/try {.*/throws(x);/; s/throw x/__builtin_trap()/' throws.cc
  fi
  # shellcheck disable=SC2086 # a list of words
  "$LLVM/bin/clang++" -O2 $option -c throws.cc
  for layout in -no-pie "-pie -Wl,-z,notext"; do
    # shellcheck disable=SC2086
    link_without app no_call throws.o -lstdc++ $layout
    if [[ $option == -fno-exceptions ]]; then
      expect_verdict dropped app managed_no_call --gc-entry=collect
    else
      expect_verdict kept app managed_no_call --gc-entry=collect
    fi
  done
done

# The C library allocates by the program's own malloc.
cat >allocates.c <<'C'
#include <stdio.h>
#include <string.h>
#include <stddef.h>
void collect(void);
static char heap[1 << 20];
static size_t used;
#ifdef OWN
void *malloc(size_t size) { collect(); used += (size + 15) & ~(size_t)15; return heap + used; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *p, size_t size) { return memcpy(malloc(size), p, size); }
#endif
long no_call(long x) { char *copy = strdup("text"); return copy[x % 4] + heap[used]; }
long no_outside(long x) { return (long)strlen((char *)x); }
C
for own in "" -DOWN; do
  "$LLVM/bin/clang" -O1 -fno-builtin $own -c allocates.c
  "$LLVM/bin/clang" -O1 -Dno_outside=without_too -Dno_call=without -I"$gc" -c "$gc/native.c" -o native.o
  link_with lld app managed.o native.o main.o allocates.o
  expect_verdict "$([[ -n $own ]] && echo kept || echo dropped)" app managed_no_call --gc-entry=collect
  expect_verdict dropped app managed_no_outside --gc-entry=collect
done

# And by another file's malloc, which precedes its own: if that is a GC entry, the C library's allocations reach it, in spite of
# another name, and in spite of known callback arguments.
cat >more.c <<'C'
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
void *grab(size_t size) { return malloc(size); }
long no_call(long x) { return strdup("text")[x % 4]; }
long no_chain(long x) { char text[] = "text"; qsort(text, 4, 1, compare); return text[x % 4]; }
long no_outside(long x) { return (long)strlen((char *)x); }
C
"$LLVM/bin/clang" -O1 -fno-builtin -c more.c
"$LLVM/bin/clang" -O1 -Dno_outside=without_too -Dno_chain=without_chain -Dno_call=without -I"$gc" -c "$gc/native.c" -o native.o
link_with lld app managed.o native.o main.o more.o
for function in no_call no_chain; do
  expect_verdict kept app managed_$function --gc-entry=malloc
  expect_verdict dropped app managed_$function --gc-entry=collect
done
expect_verdict dropped app managed_no_outside --gc-entry=malloc

# A library with a malloc and an imported GC entry.
cat >heap.c <<'C'
#include <stddef.h>
static char heap[1 << 20];
static size_t used;
void heap_collect(void) { used = 0; }
void *malloc(size_t size) { heap_collect(); return heap + (used += (size + 15) & ~(size_t)15); }
void free(void *p) { (void)p; }
C
"$LLVM/bin/clang" -O1 -fPIC -fno-builtin -shared -o libheap.so heap.c
printf 'void heap_collect(void);\nvoid release(void) { heap_collect(); }\n' >release.c
"$LLVM/bin/clang" -O1 -c release.c
link_with lld app managed.o native.o main.o more.o release.o ./libheap.so
for function in no_call no_chain; do expect_verdict kept app managed_$function --gc-entry=heap_collect; done
expect_verdict dropped app managed_no_outside --gc-entry=heap_collect

# A GC entry that was inlined everywhere is said, and with --strict an error.
cat >inlined.c <<'C'
static volatile long state;
__attribute__((used)) void enter(void) { state++; }
long no_call(long x) { enter(); return x; }
C
"$LLVM/bin/clang" -O2 -c inlined.c
link_without app no_call inlined.o
cp app before
expect_refusal "app: no record's call leads to 'enter', which is to be a GC entry" "$stackpack" pack --strict --gc-entry=enter --gc-entry=collect app
expect_same app before
expect_status 0 "$stackpack" pack --gc-entry=enter --gc-entry=collect -o packed app
grep -q "warning: no record's call leads to 'enter'" err || fail "that should be said"
expect_status 0 "$stackpack" pack --strict --gc-entry=collect -o packed app
