#!/bin/bash
# A large position-independent file gets smaller by its stack maps and by their relocations, too, to within four pages, for each
# page size; it runs, and goes on running when binutils, elfutils, LLVM or patchelf have rewritten it.
. "$TOP/tests/cli/common.sh"

# The sections of dynamic relocations of a file, in bytes.
relocations_size() { # FILE
  echo $(($(section_size "$1" .rela.dyn || true) + 0$(section_size "$1" .relr.dyn)))
}

expect_smaller() { # RAW PACKED PAGE
  local raw relocations saved
  raw=$(section_size "$1" .llvm_stackmaps)
  relocations=$(($(relocations_size "$1") - $(relocations_size "$2")))
  saved=$(($(stat -c %s "$1") - $(stat -c %s "$2")))
  echo "raw $raw, relocations $relocations, the file is $saved bytes smaller"
  ((relocations > 3 * 4096)) || fail "only $relocations bytes of relocations"
  ((saved >= raw + relocations - 4 * $3)) || fail "the file should be smaller by about $((raw + relocations)) bytes"
}

# Less than a page of the file's mapped bytes is left in the relocations' place.
expect_no_hole() { # PACKED PAGE
  local end
  end=$(($(section_offset "$1" .rela.dyn) + $(section_size "$1" .rela.dyn)))
  readelf --section-headers --wide "$1" | sed 's/^ *\[[ 0-9]*\] //' | awk '$6 ~ /^[0-9a-f]+$/ && $5 !~ /^0+$/ { print $4 }' |
    while read -r offset; do echo $((16#$offset)); done | sort -n | awk -v end="$end" -v page="$2" '
      $1 >= end { next_at = $1; exit }
      END { if (next_at - end >= page + 4096) { print next_at - end " bytes after the relocations"; exit 1 } }' ||
    fail "$1: the relocations left a hole"
}

expect_rewritable() { # RAW PACKED
  local change
  expect_no_complaints "$1" "$2"
  dump_without_names "$2" >packed.json
  for change in strip "strip -g" eu-strip "$LLVM/bin/llvm-strip" objcopy "$LLVM/bin/llvm-objcopy" \
    "patchelf --set-rpath /nowhere/lib" "patchelf --add-needed libm.so.6"; do
    # shellcheck disable=SC2086 # a list of words
    if cp "$1" changed && ! $change changed 2>/dev/null; then
      continue # it can't do that to the raw file, either
    fi
    cp "$2" changed
    # shellcheck disable=SC2086
    $change changed || fail "$change fails on $2"
    expect_same_run "$1" changed || fail "after $change"
    dump_without_names changed >changed.json
    cmp packed.json changed.json || fail "another dump after $change"
    expect_status 0 "$stackpack" verify "$1" changed
  done
}

many_functions 900 >many.ll
compile ./many.ll many.o -relocation-model=pic
compile_main main.o -fPIE
for linker in lld bfd; do
  for page in 4096 16384; do
    for kind in plain stripped; do
      sampled 3 || continue
      echo "$linker $page $kind"
      options=(-pie "-Wl,-z,notext,-z,max-page-size=$page")
      [[ $kind == plain ]] || options+=(-s)
      link_with $linker app main.o many.o "${options[@]}"
      pack_and_compare app packed
      expect_smaller app packed $page
      expect_no_hole packed $page
      [[ $kind == stripped ]] || expect_rewritable app packed
      expect_status 0 "$stackpack" pack -o kept --keep-raw=raw.stackmaps app
      expect_same packed kept
      expect_status 0 "$stackpack" unpack --raw=raw.stackmaps -o again kept
      expect_same app again
    done
  done
done

# A library's, too. If the stack maps are right before the relocations, the pages of one of the two stay: a part of the file between
# two cuts that has no section would be a segment that `strip` breaks.
compile_main main.o
echo 'SECTIONS { .llvm_stackmaps : { *(.llvm_stackmaps) } } INSERT AFTER .dynstr;' >before.ld
for link in "lld raw.so" "bfd raw.so" "bfd raw.so -Wl,-T,before.ld"; do
  # shellcheck disable=SC2086 # a list of words
  link_with $link -shared -Wl,-z,notext,-soname,libmany.so many.o
  link_with "${link%% *}" app -rdynamic main.o raw.so -Wl,-rpath,"\$ORIGIN"
  expect_status 0 "$stackpack" pack -o packed.so raw.so
  [[ $link == *before.ld ]] || expect_smaller raw.so packed.so 4096
  cp raw.so libmany.so
  ./app >raw.txt
  cp packed.so libmany.so
  ./app >packed.txt
  expect_same raw.txt packed.txt
  expect_status 0 "$stackpack" verify raw.so packed.so
  for change in strip eu-strip "$LLVM/bin/llvm-strip" objcopy "patchelf --set-rpath /nowhere/lib"; do
    cp raw.so libmany.so
    # shellcheck disable=SC2086 # a list of words
    if ! $change libmany.so || ! ./app >raw.txt; then
      continue # it can't do that to the raw file, either
    fi
    cp packed.so libmany.so
    # shellcheck disable=SC2086
    $change libmany.so
    ./app >packed.txt || fail "after $change"
    expect_same raw.txt packed.txt
    expect_status 0 "$stackpack" verify packed.so libmany.so
  done
done

# But where a symbol says that somebody else may read the table, up to its old end, its pages stay, and nothing is put there:
# the bytes after the relocations that are left are zeros.
cat >end.ld <<'SCRIPT'
SECTIONS { table_end = .; } INSERT AFTER .rela.dyn;
SCRIPT
cat >end.c <<'C'
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
extern const volatile char table_end[] __attribute__((visibility("hidden")));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const Elf64_Dyn _DYNAMIC[] __attribute__((visibility("hidden")));
static void read_rest(void) {
  uint64_t start = 0, size = 0, base = (uintptr_t)__ehdr_start;
  for (const Elf64_Dyn *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
    start = entry->d_tag == DT_RELA ? entry->d_un.d_ptr : start;
    size = entry->d_tag == DT_RELASZ ? entry->d_un.d_val : size;
  }
  for (const volatile char *at = (const char *)(start < base ? base + start : start) + size; at < table_end; at++)
    if (*at != 0) {
      puts("something stands in the table");
      return;
    }
}
__attribute__((constructor)) static void read_end(void) {
  int zeros = 0;
  for (int i = 1; i <= 12288; i++)
    zeros += table_end[-i] == 0;
  puts(zeros > 0 ? "read" : "");
  read_rest();
}
C
"$LLVM/bin/clang" -O1 -fPIE -c end.c
link_with bfd app main.o many.o end.o -pie -Wl,-z,notext,-T,end.ld
[[ $(nm app | awk '$3 == "table_end" { print $1 }') == *[1-9a-f]* ]] || fail "no symbol table_end"
pack_and_compare app packed
[[ $(grep -c read printed) == 1 ]] || fail "the table's end wasn't read"
