#!/bin/bash
# The library with musl, whose list of modules has the kernel's vDSO unnamed, like the executable elsewhere.
. "$TOP/tests/cli/common.sh"

command -v musl-gcc >/dev/null || skip "no musl-gcc"
[[ $(uname -m) == x86_64 ]] || skip "the sample's code is x86-64's"
cat >main.c <<'C'
#include "runtime/stackpack.h"
#include <stdio.h>
long run(long n);
void *allocate(long size);
void *allocate(long size) { return size > 0 ? NULL : NULL; }
void collect(void);
void collect(void) {}
int main(void) {
  static struct stackpack_process process;
  static struct stackpack_module modules[4];
  const enum stackpack_error error = stackpack_process_open(&process, modules, 4);
  printf("%s; %d modules, %d records\n", stackpack_error_text(error), (int)stackpack_process_modules(&process),
         (int)stackpack_table_records(&modules[0].table));
  return 0;
}
C
compile list list.o
for static in "" -static; do
  # shellcheck disable=SC2086 # nothing, or an option
  musl-gcc -std=c17 -D_GNU_SOURCE -fno-strict-aliasing -I"$TOP" -idirafter /usr/include -no-pie $static -o app main.c list.o \
    "$TOP"/format/*.c "$TOP"/elf/*.c "$TOP"/runtime/*.c
  expect_status 0 ./app
  expect_output '^no error; 1 modules, 8 records$'
done
