#!/bin/bash
# A name alone is too little for a function of the C library: where other libraries are needed, its version decides. And a
# function that is chosen at start-up is whichever its resolver returns.
. "$TOP/tests/cli/common.sh"

compile_managed "$gc/managed.c" managed.o
"$LLVM/bin/clang" -O1 -Dno_call=a -Dno_tail_call=b -Dby_call=c -I"$gc" -c "$gc/native.c" -o native.o
"$LLVM/bin/clang" -O1 -c "$gc/main.c" -o main.o

# A library with an `index` of its own, perhaps with a version's name as the C library has it; this one calls back.
cat >library.c <<'C'
static void (*callback)(void);
void set_callback(void (*function)(void)) { callback = function; }
char *index(const char *text, int c) { if (callback) callback(); return (char *)text + c; }
C
echo 'GLIBC_2.2.5 { set_callback; index; };' >library.map
cat >uses.c <<'C'
#include <stdlib.h>
void collect(void);
void set_callback(void (*function)(void));
char *index(const char *text, int c);
static void back(void) { collect(); }
long no_call(long x) { return *index("text", (int)x); }
long no_tail_call(long x) { return abs(atoi("12")) + x; }
extern long by_call(long x);
__attribute__((constructor)) static void start(void) { set_callback(back); }
C
"$LLVM/bin/clang" -O1 -fno-builtin -w -c uses.c
cat >resolved.c <<'C'
void collect(void);
static long one(long x) { return x + 1; }
static long two(long x) { collect(); return x + 2; }
static long (*choose(void))(long) { extern char **environ; return environ ? one : two; }
long by_call(long x) __attribute__((ifunc("choose")));
C
"$LLVM/bin/clang" -O1 -c resolved.c
for export in "" -rdynamic versions; do
  version=
  [[ $export != versions ]] || version=-Wl,--version-script=library.map export=
  # shellcheck disable=SC2086 # an option or none
  "$LLVM/bin/clang" -O1 -fno-builtin -fPIC -shared -fuse-ld=lld $version library.c -o library.so
  # shellcheck disable=SC2086
  link_with lld app managed.o native.o main.o uses.o resolved.o ./library.so -Wl,-z,now $export
  expect_verdict kept app managed_no_call --gc-entry=collect
  expect_output 'index may call back any function'
  expect_verdict dropped app managed_no_tail_call --gc-entry=collect
  expect_output '^    abs: '
  expect_verdict kept app managed_by_call --gc-entry=collect
done

# With the C library alone, the name is enough.
cat >library.c <<'C'
void set_callback(void (*function)(void)) { (void)function; }
C
"$LLVM/bin/clang" -c library.c
link_with lld app managed.o native.o main.o uses.o resolved.o library.o
expect_verdict dropped app managed_no_call --gc-entry=collect

# A library's undefined symbol without version may be the program's that loads it. (Linked without the C library, all are.)
cat >plugin.c <<'C'
void collect(void) {}
double log(double);
long no_call(long x) { return (long)log((double)x); }
long no_tail_call(long x) { return x + 1; }
C
"$LLVM/bin/clang" -O1 -fPIC -fno-builtin -c plugin.c
make_lonely_program
for libraries in "" -nostdlib; do
  # shellcheck disable=SC2086 # an option or none
  link_with lld plugin.so -shared -Wl,-z,notext,-Bsymbolic managed.o plugin.o $libraries
  expect_verdict kept plugin.so managed_no_call --gc-entry=collect
  expect_output 'log may call back any function'
done
link_with lld plugin.so -shared -Wl,-z,notext,-Bsymbolic managed.o plugin.o -lm
expect_verdict dropped plugin.so managed_no_call --gc-entry=collect
