#!/bin/bash
# The C library's functions allocate by the malloc of another library that the program needs, imported by the program or not.
# If the linker bound malloc to the C library, it is that one; or if the user says so.
. "$TOP/tests/cli/common.sh"

cat >library.c <<'C'
#include <stddef.h>
static void (*callback)(void);
void set_callback(void (*function)(void)) { callback = function; }
#ifdef ALLOCATES
static char heap[1 << 20];
static size_t used;
void *malloc(size_t size) { if (callback) callback(); return heap + (used += (size + 15) & ~(size_t)15); }
void free(void *memory) { (void)memory; }
void *realloc(void *memory, size_t size) { (void)memory; return malloc(size); }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
#endif
C
for define in ALLOCATES PLAIN; do
  "$LLVM/bin/clang" -O1 -D$define -fPIC -shared -fuse-ld=lld -Wl,-soname,libother.so library.c -o "lib${define,,}.so"
done
cat >managed.c <<'C'
long opens(long), converts(long), sorts(long), asks(long);
#define MANAGED(F) __attribute__((noinline)) long managed_##F(long x) { return F(x) + 1; }
MANAGED(opens) MANAGED(converts) MANAGED(sorts) MANAGED(asks)
long run(long n) { return managed_opens(n) + managed_converts(n) + managed_sorts(n) + managed_asks(n); }
C
cat >native.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <unistd.h>
long run(long);
void set_callback(void (*function)(void));
volatile long sink;
__attribute__((noinline)) void collect(void) { sink++; }
static char text[] = "ba";
static int compare(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
long opens(long x) { FILE *f = fopen("/dev/null", "r"); if (f) fclose(f); return x; }
long converts(long x) { return strtol(text, NULL, 16) + errno + x; }
long sorts(long x) { qsort(text, 2, 1, compare); return text[0] + x; }
long asks(long x) { return x + (read(-1, text, 1) < 0); }
int main(void) {
  set_callback(collect);
#ifdef IMPORTS
  void *(*volatile allocate)(size_t) = malloc;
  sink = (long)allocate(1);
#endif
  return run(1) == 0;
}
C
compile_managed managed.c managed.o

check() { # FUNCTIONS-THAT-MAY-COLLECT POLICY-OPTION...
  local function
  for function in opens converts sorts asks; do
    case " $1 " in
    *" $function "*) expect_verdict kept app "managed_$function" --gc-entry=collect "${@:2}" ;;
    *) expect_verdict dropped app "managed_$function" --gc-entry=collect "${@:2}" ;;
    esac
  done
}

# Not imported: any library that is needed may have one.
"$LLVM/bin/clang" -O1 -c native.c
link_with lld app managed.o native.o ./libplain.so
check "opens sorts"
check "" --malloc=libc
printf 'malloc libc\n' >policy
check "" --policy=policy
link_with lld app managed.o native.o ./liballocates.so
check "opens sorts"
expect_refusal "malloc is libc or left out, not 'jemalloc'" "$stackpack" pack --malloc=jemalloc app
printf 'malloc\n' >policy
expect_refusal 'policy: line 1: no pattern' "$stackpack" pack --policy=policy app

# Imported: its version tells.
"$LLVM/bin/clang" -O1 -DIMPORTS -c native.c
link_with lld app managed.o native.o ./libplain.so
check ""
link_with lld app managed.o native.o ./liballocates.so
check "opens sorts"

# A library's malloc is that of the program that loads it.
"$LLVM/bin/clang" -O1 -fPIC -DIMPORTS -c native.c
link_with lld app -shared -Wl,-z,notext,-Bsymbolic managed.o native.o
check "opens sorts"
check "" --malloc=libc

# Libraries certain to lack one.
echo 'void set_callback(void (*function)(void)) { (void)function; }' >other.c
"$LLVM/bin/clang" -O1 -c native.c other.c
"$LLVM/bin/clang" -shared -fuse-ld=lld -Wl,-soname,libstdc++.so.6 other.o -o libknown.so -fPIC
link_with lld app managed.o native.o -Wl,--no-as-needed ./libknown.so
check ""
