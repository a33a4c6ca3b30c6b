#!/bin/bash
# A large position-independent executable: packed, the stack maps are free of relocations for ld.so, so a process shares their
# pages; the file is smaller by the section's decrease.
. "$TOP/tests/cli/common.sh"

# With "pages", it prints how many KiB of the process were written to, and so are private copies.
cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long run(long n);
void *allocate(long size) { return calloc(1, size); }
void collect(void) {}

int main(int argc, char **argv) {
  if (argc < 2 || strcmp(argv[1], "pages") != 0)
    return printf("run(5) = %ld\n", run(5)) < 0;
  char line[512];
  long all = 0, here;
  FILE *smaps = fopen("/proc/self/smaps", "r");
  while (smaps != NULL && fgets(line, sizeof line, smaps) != NULL)
    if (sscanf(line, "Anonymous: %ld", &here) == 1)
      all += here;
  return printf("%ld\n", all) < 0;
}
C

section_address() { # FILE SECTION
  section_number "$1" "$2" 3
}

many_functions 500 >many.ll
compile ./many.ll many.o -relocation-model=pic
"$LLVM/bin/clang" -O1 -fPIE -c main.c
for linker in lld bfd; do
  link_with $linker app main.o many.o -pie -Wl,-z,notext
  raw=$(section_size app .llvm_stackmaps)
  start=$(section_address app .llvm_stackmaps)
  ((raw > 500000)) || fail "only $raw bytes of stack maps"
  pack_and_compare_large app packed

  grep -q TEXTREL <(readelf -d app) || fail "$linker: there was no DT_TEXTREL"
  ! readelf -d packed | grep TEXTREL || fail "$linker: DT_TEXTREL is left"
  readelf -rW packed | awk 'length($1) == 16 && $1 ~ /^[0-9a-f]+$/ { print $1 }' >offsets
  [[ -s offsets ]] || fail "$linker: no relocations at all"
  while read -r offset; do
    ((0x$offset < start || 0x$offset >= start + raw)) || fail "$linker: a relocation at $offset, in the old section"
  done <offsets

  # LLVM puts the functions' addresses in one array of 24-byte entries: three pages here.
  before=$(run app pages) after=$(run packed pages)
  echo "$linker: $before KiB written to at start-up, $after KiB when packed"
  ((before - after >= 8)) || fail "$linker: $before KiB, and $after KiB when packed"
done
