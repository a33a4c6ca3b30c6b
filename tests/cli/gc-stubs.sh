#!/bin/bash
# Calls by words that look constant: stubs whose section lacks an entry size, and a section named like a global offset table but
# changed by the program. A GC entry that ends like a stub. And a static program of the C
# library can be followed whole.
. "$TOP/tests/cli/common.sh"

cat >managed.c <<'C'
long sorts(long), copies(long), by_slot(long), tells(long);
__attribute__((noinline)) long managed_sorts(long x) { return sorts(x) + 1; }
__attribute__((noinline)) long managed_copies(long x) { return copies(x) + 1; }
__attribute__((noinline)) long managed_by_slot(long x) { return by_slot(x) + 1; }
__attribute__((noinline)) long managed_tells(long x) { return tells(x) + 1; }
long run(long n) { return managed_sorts(n) + managed_copies(n) + managed_by_slot(n) + managed_tells(n); }
C
compile_managed managed.c managed.o
cat >native.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile int sink;
__attribute__((noinline)) void collect_and_tell(void) { sink++; write(1, "", 0); }
long tells(long x) { collect_and_tell(); return x; }
__attribute__((noinline)) void collect(void) { sink++; }
static int compare(const void *a, const void *b) { collect(); return *(const char *)a - *(const char *)b; }
int (*volatile comparison)(const void *, const void *) = compare;
static char text[8];
void *volatile taken[] = {(void *)qsort, (void *)strcpy, (void *)atoi};
long sorts(long x) { qsort(text, 4, 1, comparison); return x; }
long copies(long x) { strcpy(text, x > 3 ? "a" : "b"); return x + atoi(text); }
static long harmless(long x) { return x; }
static long changed(long x) { collect(); return x; }
__attribute__((section(".got.own"))) long (*slot)(long) = harmless;
long by_slot(long x) { return slot(x) + 1; }
__attribute__((constructor)) static void set(void) { slot = changed; }
C
"$LLVM/bin/clang" -O1 -fno-builtin -fPIC -fno-semantic-interposition -fvisibility=hidden -c native.c
"$LLVM/bin/clang" -O1 -fPIE -c "$gc/main.c"

for options in "-no-pie" "-pie -Wl,-z,notext" "-pie -Wl,-z,notext -Wl,-z,now"; do
  # shellcheck disable=SC2086 # a list of words
  link_with bfd app managed.o native.o main.o $options
  for kind in as-linked without-sizes; do
    [[ $kind == as-linked ]] || python3 - app <<'P'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
start, = struct.unpack_from("<Q", data, 40)
size, count, names = struct.unpack_from("<HHH", data, 58)
headers = [start + size * i for i in range(count)]
text = struct.unpack_from("<Q", data, headers[names] + 24)[0]
stubs = 0
for header in headers:
    name = text + struct.unpack_from("<I", data, header)[0]
    if data[name:data.index(0, name)].startswith(b".plt"):
        struct.pack_into("<Q", data, header + 56, 0)
        stubs += 1
assert stubs > 0, "no stubs"
open(sys.argv[1], "wb").write(data)
P
    expect_verdict kept app managed_sorts --gc-entry=collect
    expect_verdict dropped app managed_copies --gc-entry=collect
    expect_verdict kept app managed_by_slot --gc-entry=collect
    # It ends in the jump to a function elsewhere, as a stub does.
    expect_verdict kept app managed_tells --gc-entry=collect_and_tell
  done
done

# A function that ends with a noreturn call, by any stub, ends there; and a variable of the C library is outside the set of
# functions that a pointer may call.
cat >managed.c <<'C'
long stops(long), writes(long), by_pointer(long);
__attribute__((noinline)) long managed_stops(long x) { return stops(x) + 1; }
__attribute__((noinline)) long managed_writes(long x) { return writes(x) + 1; }
__attribute__((noinline)) long managed_by_pointer(long x) { return by_pointer(x) + 1; }
long run(long n) { return managed_stops(n) + managed_writes(n) + managed_by_pointer(n); }
C
compile_managed managed.c managed.o
cat >native.c <<'C'
#include <stdio.h>
#include <stdlib.h>
extern void *__libc_stack_end;
volatile int sink;
static long harmless(long x) { return x; }
long (*volatile pointer)(long) = harmless;
__attribute__((noinline)) long stops(long x) { if (x < 9) return x; ENDS; }
__attribute__((noinline)) void collect(void) { sink++; }
long writes(long x) { return x + (fputs("x", stderr) > 0) + (__libc_stack_end != NULL); }
long by_pointer(long x) { return pointer(x) + 1; }
void late(void) { collect(); }
C
for ends in 'abort()' 'exit(1)' '_Exit(1)'; do
  for options in "-no-pie" "-pie -Wl,-z,notext" "-pie -Wl,-z,notext -Wl,-z,now" "-pie -Wl,-z,notext -fcf-protection -Wl,-z,ibtplt"; do
    for linker in bfd lld; do
      [[ $linker$options != lld*ibtplt* ]] || options=${options/-Wl,-z,ibtplt/-Wl,-z,force-ibt}
      # shellcheck disable=SC2086 # a list of words
      "$LLVM/bin/clang" -O1 -fno-builtin -fPIE ${options##*notext } -Wno-unused-command-line-argument "-DENDS=$ends" -c native.c
      # shellcheck disable=SC2086
      link_with $linker app managed.o native.o main.o $options
      for function in stops writes by_pointer; do expect_verdict dropped app managed_$function --gc-entry=collect; done
    done
  done
done

"$LLVM/bin/clang" -static -x c -o /dev/null - <<<'int main(void) { return 0; }' 2>err || skip "no static C library"
link_with lld static managed.o native.o main.o -static
expect_status 0 "$stackpack" pack --always --strict --gc-entry=collect -o packed static
[[ $(./packed) == "$(./static)" ]] || fail "another output when packed"
