#!/bin/bash
# Library functions without calls into the program, but in a program that changes their behaviour: by conversions of its own
# for printf, streams of its own, a handler of mathematical errors, or a function that zlib finds in place of its own.
. "$TOP/tests/cli/common.sh"

cat >managed.c <<'C'
long addresses(long), dates(long), errors(long), logs(long), options(long), maths(long), zips(long);
#define MANAGED(F) __attribute__((noinline)) long managed_##F(long x) { return F(x) + 1; }
MANAGED(addresses) MANAGED(dates) MANAGED(errors) MANAGED(logs) MANAGED(options) MANAGED(maths) MANAGED(zips)
long run(long n) {
  return managed_addresses(n) + managed_dates(n) + managed_errors(n) + managed_logs(n) + managed_options(n) + managed_maths(n) +
         managed_zips(n);
}
C
compile_managed managed.c managed.o
cat >native.c <<'C'
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <math.h>
#include <printf.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
volatile int sink;
volatile double number = 0.5;
__attribute__((noinline)) void collect(void) { sink++; }
static char text[64];
long addresses(long x) { return x + *inet_ntop(AF_INET, text, text + 8, 32); }
long dates(long x) { time_t t = x; return x + *ctime(&t); }
long errors(long x) { return x + *strerror((int)x + 1000); }
long logs(long x) { syslog(LOG_DEBUG, "%d", (int)x); return x; }
long options(long x) { char *words[] = {"a", "-b", NULL}; return getopt(2, words, "c") + x; }
long maths(long x) { return (long)acos(number * (double)x); }
unsigned long crc32(unsigned long, const void *, unsigned);
long zips(long x) { return (long)crc32(0, "a", 1) + x; }
static int conversion(FILE *f, const struct printf_info *i, const void *const *a) { collect(); return 0; }
static int arguments(const struct printf_info *i, size_t n, int *t, int *s) { return 0; }
static ssize_t writes(void *c, const char *b, size_t n) { collect(); return (ssize_t)n; }
#ifdef MATHERR
int matherr(void *e) { collect(); return 0; }
#endif
#ifdef CHECKSUM
unsigned long crc32_z(unsigned long sum, const void *b, size_t n) { collect(); return n; }
#endif
long run(long);
int main(void) {
#ifdef CONVERSION
  register_printf_specifier('d', conversion, arguments);
#endif
#ifdef STREAM
  stderr = fopencookie(NULL, "w", (cookie_io_functions_t){.write = writes});
#endif
  return run(3) == 0;
}
C
# A library of zlib's name, as zlib's headers may be missing.
cat >z.c <<'C'
unsigned long crc32_z(unsigned long sum, const void *bytes, unsigned long size) { return sum + size; }
unsigned long crc32(unsigned long sum, const void *bytes, unsigned size) { return crc32_z(sum, bytes, size); }
C
"$LLVM/bin/clang" -fuse-ld=lld -shared -fPIC -Wl,-soname,libz.so.1 -o libz.so z.c

check() { # DEFINITION FUNCTIONS-THAT-MAY-COLLECT OPTIONS...
  local function
  echo "${1:-nothing}"
  "$LLVM/bin/clang" -w -O1 -fno-builtin ${1:+"-D$1"} -c native.c
  link_with lld app managed.o native.o libz.so -lm "${@:3}"
  for function in addresses dates errors logs options maths zips; do
    case " $2 " in
    *" $function "*) expect_verdict kept app "managed_$function" --gc-entry=collect ;;
    *) expect_verdict dropped app "managed_$function" --gc-entry=collect ;;
    esac
  done
}

check '' ''
check CONVERSION 'addresses dates errors logs options'
check STREAM options
check MATHERR maths -Wl,--export-dynamic-symbol=matherr
check CHECKSUM zips -Wl,--export-dynamic-symbol=crc32_z

# This project's own library: look-ups call back no function of the program; a visit and another library of that name may.
printf 'long stackpack_find(long x) { return x; }\nlong stackpack_visit(long x) { return x; }\n' >stackpack.c
cat >managed.c <<'C'
long stackpack_find(long), stackpack_visit(long);
__attribute__((noinline)) long managed_find(long x) { return stackpack_find(x) + 1; }
__attribute__((noinline)) long managed_visit(long x) { return stackpack_visit(x) + 1; }
C
compile_managed managed.c managed.o
printf 'long managed_find(long), managed_visit(long);\nvoid collect(void) {}\nvoid (*volatile taken)(void) = collect;\nint main(void) { return (int)(managed_find(1) + managed_visit(1)); }\n' >main.c
for version in STACKPACK_0.9 OTHER_1; do
  echo "$version { *; };" >versions
  "$LLVM/bin/clang" -fuse-ld=lld -shared -fPIC -Wl,-soname,libstackpack.so.0,--version-script=versions -o libstackpack.so stackpack.c
  "$LLVM/bin/clang" -O1 -c main.c
  link_with lld app managed.o main.o libstackpack.so
  expect_verdict "$([[ $version == OTHER_1 ]] && echo kept || echo dropped)" app managed_find --gc-entry=collect
  expect_verdict kept app managed_visit --gc-entry=collect
done

# A terminal's functions call nothing; but two of them end the program on a failure, and so call what it registered.
cat >managed.c <<'C'
int tgetnum(const char *), setupterm(const char *, int, int *), restartterm(const char *, int, int *);
__attribute__((noinline)) long managed_tgetnum(const char *x) { return tgetnum(x) + 1; }
__attribute__((noinline)) long managed_setupterm(const char *x) { return setupterm(x, 1, (int *)0) + 1; }
__attribute__((noinline)) long managed_restartterm(const char *x) { return restartterm(x, 1, (int *)0) + 1; }
C
compile_managed managed.c managed.o
printf 'int tgetnum(void) { return 0; }\nint setupterm(void) { return 0; }\nint restartterm(void) { return 0; }\n' >terminals.c
echo 'NCURSES6_TINFO_5.0.19991023 { *; };' >versions
"$LLVM/bin/clang" -fuse-ld=lld -shared -fPIC -Wl,-soname,libtinfo.so.6,--version-script=versions -o libtinfo.so terminals.c
printf 'int atexit(void (*)(void));\nlong managed_tgetnum(char *), managed_setupterm(char *), managed_restartterm(char *);\nvolatile int sink;\nvoid collect(void) { sink++; }\nint main(void) { return atexit(collect) + (int)(managed_tgetnum("x") + managed_setupterm("x") + managed_restartterm("x")); }\n' >main.c
"$LLVM/bin/clang" -O1 -c main.c
link_with lld app managed.o main.o libtinfo.so
expect_verdict dropped app managed_tgetnum --gc-entry=collect
expect_verdict kept app managed_setupterm --gc-entry=collect
expect_verdict kept app managed_restartterm --gc-entry=collect
