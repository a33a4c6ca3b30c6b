#!/bin/bash
# The program's end calls the functions registered for it: by atexit and its like, and in the file's own tables. Where one is
# unknown, it may call every address-taken function. The same for abort and handlers of SIGABRT; fork and raise call nothing in
# programs without handlers of theirs.
. "$TOP/tests/cli/common.sh"

cat >managed.c <<'C'
long exits(long), exits_quickly(long), aborts(long), forks(long), raises(long);
#define MANAGED(F) __attribute__((noinline)) long managed_##F(long x) { return F(x) + 1; }
MANAGED(exits) MANAGED(exits_quickly) MANAGED(aborts) MANAGED(forks) MANAGED(raises)
long run(long n) { return managed_exits(n) + managed_exits_quickly(n) + managed_aborts(n) + managed_forks(n) + managed_raises(n); }
C
compile_managed managed.c managed.o
cat >ends.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define APART __attribute__((noinline))
volatile int sink, number = SIGINT;
APART void collect(void) { sink++; }
long taken(long x) { collect(); return x; }
long (*volatile any)(long) = taken;
static void plain(void) { sink += 2; }
static void collecting(void) { collect(); }
static void handler(int n) { sink = n; }
static void collecting_handler(int n) { sink = n; collect(); }
static void with_argument(void *x) { sink = x != NULL; }
static void collecting_with_argument(void *x) { sink = x != NULL; collect(); }
static APART int later(long n, void (*f)(void)) { sink += (int)n; return atexit(f); }
static APART int later_still(void (*f)(void)) { return later(2, f) + 1; }
static APART int later_both(void (*f)(void), void (*g)(void)) { return atexit(f) + at_quick_exit(g); }
static APART int later_two(void (*f)(void), void (*g)(void)) { return atexit(f) + atexit(g); }
static APART int later_or_plain(void (*f)(void)) { return atexit(sink ? f : plain); }
static APART void on_signal(int n, void (*f)(int)) { sink = 3; signal(n, f); sink = 4; }
int __cxa_atexit(void (*)(void *), void *, void *);
long exits(long x) { if (x > 9) exit((int)x); return x; }
long exits_quickly(long x) { if (x > 9) quick_exit((int)x); return x; }
long aborts(long x) { if (x > 9) abort(); return x; }
long forks(long x) { return x > 9 ? fork() : x; }
long raises(long x) { return x > 9 ? raise(SIGUSR1) : x; }
#ifdef DESTRUCTOR
__attribute__((destructor)) static void ends(void) { DESTRUCTOR(); }
#endif
#ifdef GLOBAL
GLOBAL;
#endif
long run(long);
int main(void) { REGISTER; return run(3) == 0; }
C

check() { # FUNCTIONS-THAT-MAY-COLLECT FUNCTIONS-THAT-NEVER-DO DEFINITION [MORE TO LINK...]
  local function options=("-D$3")
  echo "$linker $layout: $3"
  [[ $3 == REGISTER=* ]] || options+=("-DREGISTER=")
  "$LLVM/bin/clang" -w -O1 "$pic" "${options[@]}" -c ends.c
  # shellcheck disable=SC2086 # a list of words
  link_with $linker app managed.o ends.o $layout "${@:4}"
  for function in $1; do expect_verdict kept app managed_$function --gc-entry=collect; done
  for function in $2; do expect_verdict dropped app managed_$function --gc-entry=collect; done
}

echo 'void other(void) {}' >other.c
"$LLVM/bin/clang" -shared -fPIC -o libother.so other.c
echo 'void collect(void); void *malloc(unsigned long n) { static char heap[1 << 16]; collect(); return n < sizeof heap ? heap : 0; } void free(void *p) {}' >own.c
"$LLVM/bin/clang" -w -O1 -fPIE -fno-builtin -c own.c

all="exits exits_quickly aborts forks raises"
for linker in lld bfd; do
  for layout in "-no-pie" "-pie -Wl,-z,notext" "-pie -Wl,-z,notext -Wl,-z,now"; do
    sampled 3 || continue
    [[ $layout == -no-pie ]] && pic=-fno-pie || pic=-fPIE
    check "" "$all" REGISTER=
    check "" "$all" 'REGISTER=atexit(plain);at_quick_exit(plain);later(1,plain);later_still(plain)'
    check "exits" "exits_quickly aborts forks raises" 'REGISTER=atexit(collecting);at_quick_exit(plain)'
    check "exits_quickly" "exits aborts forks raises" 'REGISTER=atexit(plain);at_quick_exit(collecting)'
  done
done
# By every way, in one of these.
linker=lld layout="-pie -Wl,-z,notext" pic=-fPIE
check "exits" "exits_quickly aborts forks raises" 'REGISTER=later(1,collecting);later(1,plain)'
check "exits" "exits_quickly aborts forks raises" 'REGISTER=later_still(collecting);later_still(plain)'
check "exits_quickly" "exits" 'REGISTER=later_both(plain,collecting);later_both(plain,plain)'
check "exits" "exits_quickly" 'REGISTER=later_two(plain,collecting);later_two(plain,plain)'
check "exits" "exits_quickly" 'REGISTER=later_or_plain(collecting);later_or_plain(plain)' # it isn't known what it registers
check "exits" "exits_quickly" 'REGISTER=atexit(sink?plain:collecting)'
check "exits" "exits_quickly" 'REGISTER=void(*volatile f)(void)=collecting;atexit(f)'
check "exits" "exits_quickly" 'REGISTER=int(*volatile f)(void(*)(void))=atexit;f(collecting)'
check "exits" "exits_quickly" 'REGISTER=int(*volatile f)(long,void(*)(void))=later;f(1,collecting)'
check "exits" "exits_quickly" 'REGISTER=on_exit((void(*)(int,void*))collecting_with_argument,0)'
check "" "exits exits_quickly" 'REGISTER=on_exit((void(*)(int,void*))with_argument,0);__cxa_atexit(with_argument,0,0)'
check "exits" "exits_quickly" 'REGISTER=__cxa_atexit(collecting_with_argument,0,0)'
check "exits" "exits_quickly" 'REGISTER=int(*volatile f)(void(*)(void*),void*,void*)=__cxa_atexit;f(collecting_with_argument,0,0)'
check "exits" "exits_quickly" 'GLOBAL=int(*taken_by_data[1])(void(*)(void*),void*,void*)={__cxa_atexit}'
check "exits" "exits_quickly" DESTRUCTOR=collect
check "" "exits exits_quickly" DESTRUCTOR=plain
check "exits exits_quickly forks raises" "aborts" 'REGISTER=dlopen("x",1)'
check "exits exits_quickly aborts" "forks raises" 'REGISTER=fopencookie(0,"r",(cookie_io_functions_t){0})'
check "exits exits_quickly aborts forks raises" "" REGISTER= -Wl,--no-as-needed libother.so # whose malloc may be another
check "exits exits_quickly forks raises" "aborts" 'REGISTER=void*(*volatile f)(unsigned long)=malloc;f(1)' -Wl,--no-as-needed libother.so
check "exits exits_quickly aborts forks raises" "" REGISTER= own.o
check "aborts raises forks" "exits exits_quickly" 'REGISTER=signal(SIGABRT,collecting_handler)'
check "aborts raises forks" "exits exits_quickly" 'REGISTER=signal(number,handler)'
check "aborts raises forks" "exits exits_quickly" 'REGISTER=on_signal(number,handler)'
check "aborts raises forks" "exits exits_quickly" 'REGISTER=void(*(*volatile f)(int,void(*)(int)))(int)=signal;f(6,handler)'
check "raises forks" "exits exits_quickly aborts" 'REGISTER=signal(SIGINT,collecting_handler);on_signal(SIGINT,handler);on_signal(SIGTERM,handler)'
check "raises forks" "exits exits_quickly aborts" 'REGISTER=struct sigaction a={.sa_handler=handler};sigaction(SIGTERM,&a,0)'
check "aborts raises forks" "exits exits_quickly" 'REGISTER=on_signal(SIGINT,handler);on_signal(SIGABRT,collecting_handler)'
check "forks" "exits exits_quickly aborts raises" 'REGISTER=pthread_atfork(collecting,0,0)'

# In a stripped file, the code itself shows the registering calls.
check "exits" "exits_quickly" 'REGISTER=later_still(collecting);later_still(plain)'
"$LLVM/bin/llvm-objcopy" --strip-symbol=atexit --strip-symbol=later --strip-symbol=later_still app
expect_verdict kept app managed_exits --gc-entry=collect
expect_verdict dropped app managed_exits_quickly --gc-entry=collect
