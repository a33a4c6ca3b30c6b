#!/bin/bash
# A program's list of variables that hold references moves into the packed table: the runtime finds the same variables in it as
# in the program's own array; this one is cleared, and its relocations are gone.
. "$TOP/tests/cli/common.sh"

# Variables near each other and far apart, one twice, a weak one that nobody defines, one in .bss.
cat >roots.c <<'C'
#include "stackpack.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#define HIDDEN __attribute__((visibility("hidden")))
#define ROOT(n) __attribute__((section("gc_roots"), used)) static uint64_t *root_##n = &variable_##n
uint64_t variable_a HIDDEN = 0xa, variable_b HIDDEN = 0xb, variable_c HIDDEN;
static uint64_t far[20000];
extern uint64_t variable_nowhere __attribute__((weak)) HIDDEN;
ROOT(a); ROOT(b); ROOT(c); ROOT(nowhere);
__attribute__((section("gc_roots"), used)) static uint64_t *root_again = &variable_b;
__attribute__((section("gc_roots"), used)) static uint64_t *roots_far[] = {&far[17], &far[19999], &far[400], &far[3]};
extern const char __start_gc_roots[] HIDDEN, __stop_gc_roots[] HIDDEN;

static int compare(const void *a, const void *b) {
  return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : *(const uint64_t *)a > *(const uint64_t *)b;
}

/* Prints which variables the runtime finds, writes to each, and prints whether the array is cleared. */
int print_roots(void);
int print_roots(void) {
  static struct stackpack_module modules[4];
  static struct stackpack_process process;
  uint64_t found[16];
  size_t count = 0;
  if (stackpack_process_open(&process, modules, 4) != STACKPACK_OK)
    return 1;
  struct stackpack_global_roots roots = stackpack_global_roots(&modules[0].table, __start_gc_roots, __stop_gc_roots);
  for (uint64_t address; count < 16 && stackpack_global_roots_next(&roots, &address); count++) {
    found[count] = address - (uint64_t)&variable_a;
    *(uint64_t *)address += 1;
  }
  qsort(found, count, sizeof *found, compare);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || found[i] != found[i - 1])
      printf("%" PRId64 "\n", (int64_t)found[i]);
  size_t words = 0;
  for (const uint64_t *word = (const uint64_t *)__start_gc_roots; word < (const uint64_t *)__stop_gc_roots; word++)
    words += *word != 0;
  fprintf(stderr, "%zu words in the array, a is %" PRIu64 "\n", words, variable_a);
  return 0;
}
C
cat >call.c <<'C'
int print_roots(void);
int main(void) { return print_roots(); }
C
many_functions 20 | sed 's/@run(/@other_run(/' >many.ll
cat >natives.c <<'C'
void *allocate(long size) { (void)size; return 0; }
void collect(void) {}
C

build_plain_library

build() { # OUTPUT LINKER OPTION...
  local output=$1 linker=$2 pie=-fno-pie model=static
  shift 2
  [[ " $* " != *" -pie "* && " $* " != *" -shared "* ]] || { pie=-fPIC model=pic; }
  "$LLVM/bin/clang" -O1 $pie -I"$TOP/runtime" -c roots.c natives.c call.c
  compile ./many.ll many.o -relocation-model=$model
  if [[ " $* " == *" -shared "* ]]; then
    link_with "$linker" "$output.so" roots.o natives.o many.o plain/libstackpack.a "$@"
    link_with "$linker" "$output" call.o "./$output.so" -Wl,-rpath,.
  else
    link_with "$linker" "$output" roots.o natives.o many.o call.o plain/libstackpack.a "$@"
  fi
}

kinds=("fixed lld" "fixed bfd" "pie lld -pie -Wl,-z,notext" "pie bfd -pie -Wl,-z,notext"
  "relr lld -pie -Wl,-z,notext -Wl,-z,pack-relative-relocs" "library lld -shared -Wl,-z,notext")
for kind in "${kinds[@]}"; do
  sampled 2 || continue
  read -r name linker options <<<"$kind"
  # shellcheck disable=SC2086 # a list of words
  build app $linker $options
  file=app
  [[ $name != library ]] || file=app.so
  ./app >raw.roots 2>raw.words
  [[ $(wc -l <raw.roots) == 7 ]] || { cat raw.roots; fail "$kind: seven variables"; }
  grep '^8 words in the array' raw.words >/dev/null || { cat raw.words; fail "$kind: the array before"; }
  cp $file before
  expect_status 0 "$stackpack" pack --always --global-roots=gc_roots --keep-raw=kept $file
  expect_output "$file: 7 global roots$"
  ./app >packed.roots 2>packed.words
  expect_same raw.roots packed.roots
  grep '^0 words in the array, a is 11$' packed.words >/dev/null || { cat packed.words; fail "$kind: the array after"; }
  [[ $name == fixed ]] || expect_no_relocations_in $file gc_roots
  expect_status 0 "$stackpack" verify --global-roots=gc_roots before $file
  for format in text json; do
    "$stackpack" dump --format=$format --global-roots=gc_roots before | tail -n 8 >raw.dump
    "$stackpack" dump --format=$format $file | tail -n 8 >packed.dump
    expect_same raw.dump packed.dump
    grep -ciE 'global.?root' packed.dump >count
  done
  [[ $(<count) == 7 ]] || { cat packed.dump; fail "$kind: seven global roots in the dump"; }
  expect_status 0 "$stackpack" pack --global-roots=gc_roots $file # again
  expect_status 0 "$stackpack" pack --always -o without before
  expect_refusal 'without: is packed already, without global roots: ' "$stackpack" pack --global-roots=gc_roots without
  expect_status 1 "$stackpack" verify before $file
  expect_output 'global roots'
  # The independent reader finds the same addresses in the table.
  python3 "$TOP/tests/oracle/packed_decoder.py" --global-roots $file >decoded
  a=$((16#$(nm $file | awk '$3 == "variable_a" { print $1 }')))
  while read -r address; do echo $((address - a)); done <decoded | sort -n >decoded.roots
  sort -n packed.roots >sorted.roots
  expect_same sorted.roots decoded.roots
  expect_status 0 "$stackpack" unpack --raw kept -o after $file
  expect_same before after
  # By default the list stays unchanged.
  expect_status 0 "$stackpack" pack --always -o $file before
  ./app >plain.roots 2>plain.words
  expect_same raw.roots plain.roots
  grep '^8 words' plain.words >/dev/null || fail "$kind: the array of a program that was packed without its roots"
done

# Other data than a list of variables is refused, and the file stays unchanged.
build app lld
cp app before
expect_refusal "app: no section gc_rots for global roots" "$stackpack" pack --always --global-roots=gc_rots app
expect_refusal "app: section \.comment isn't loaded data" "$stackpack" pack --always --global-roots=.comment app
expect_refusal "app: entry 0 of section \.eh_frame, .*is no aligned word|app: section \.eh_frame is no array" \
  "$stackpack" pack --always --global-roots=.eh_frame app
expect_same before app

# A variable that another module may replace: its address is fixed at run time only.
sed -i 's/^uint64_t variable_a HIDDEN/uint64_t variable_a/; s/0xa, variable_b/0xa; uint64_t variable_b/' roots.c
build app lld -shared -Wl,-z,notext
cp app.so before
expect_refusal "app.so: a global root \(at offset 0x[0-9a-f]+ of section gc_roots\) that another module may replace" \
  "$stackpack" pack --always --global-roots=gc_roots app.so
expect_same before app.so
