#!/bin/bash
# Bytes that were appended to a program, and are found from the file's end, stay its last bytes.
. "$TOP/tests/cli/common.sh"

cat >app.c <<'C'
#include <stdio.h>
#include <stdlib.h>
long run(long n);
void *allocate(long size) { return calloc(1, size); }
void collect(void) {}
int main(void) {
  char tail[32] = "";
  FILE *self = fopen("/proc/self/exe", "r");
  if (fseek(self, -7, SEEK_END) != 0 || fgets(tail, sizeof tail, self) == NULL) return 1;
  return printf("%ld %s\n", run(5), tail) < 0;
}
C
many_functions 20 >many.ll
compile ./many.ll many.o -relocation-model=pic
"$LLVM/bin/clang" -O1 -fPIE -c app.c
for options in "-fuse-ld=lld -no-pie" "-fuse-ld=bfd -no-pie -s" "-fuse-ld=lld -pie -Wl,-z,notext"; do
  # shellcheck disable=SC2086 # a list of words
  "$LLVM/bin/clang" $options -o app app.o many.o
  printf 'a payload of odd size: payload' >>app
  expect_status 0 "$stackpack" pack --keep-raw=kept -o packed app
  expect_packed packed
  expect_same_run app packed
  grep -q ' payload$' printed || fail "the payload isn't at the end"
  eu-elflint --gnu-ld packed >/dev/null 2>&1 || readelf --all packed >/dev/null || fail "not clean"
  expect_status 0 "$stackpack" verify app packed
  expect_status 0 "$stackpack" unpack --raw=kept -o again packed
  expect_same app again
done
