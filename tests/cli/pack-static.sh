#!/bin/bash
# A static executable lacks a dynamic section and has few program headers; it is packed like any other, and the tools' findings
# are the same as before.
. "$TOP/tests/cli/common.sh"

for linker in lld bfd; do
  for options in -static ""; do
    # shellcheck disable=SC2086 # may be empty
    make_program $linker app list $options
    pack_and_compare app packed
    expect_no_complaints app packed
    [[ $(wc -l <packed.json) == 8 ]] || fail "$(wc -l <packed.json) records, not 8"
  done
done

# A static program's C library finds the program headers of the packed file: glibc for AArch64 and RISC-V looks behind the old ELF
# header.
. "$TOP/tests/matrix/cells.sh"
cat >headers.c <<'END'
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
long run(long n);
void *allocate(long size) { return calloc(1, size); }
void collect(void) {}
static int print(struct dl_phdr_info *info, size_t size, void *closure) {
  return printf("%d of %zu\n", info->dlpi_phnum, size) > 0 || closure != NULL;
}
int main(void) { return run(5) == 0 || dl_iterate_phdr(print, NULL) == 0; }
END
many_functions 60 >many.ll
for machine in "${other_machines[@]}"; do
  can_run "$machine" || skip "no cross compiler or emulator for $machine"
  choose_machine "$machine"
  "$LLVM/bin/clang" "${clang_options[@]}" -O1 -c headers.c -o headers.o
  compile ./many.ll many.o "${llc_options[@]}"
  "$LLVM/bin/clang" "${clang_options[@]}" -fuse-ld=lld -static -Wl,--image-base=0x200000 -o app headers.o many.o
  expect_status 0 "$stackpack" pack --reader=elsewhere -o packed app
  expect_status 0 run packed
  expect_output "^$(readelf -h packed | sed -n 's/ *Number of program headers: *//p') of "
done
