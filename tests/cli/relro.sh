#!/bin/bash
# Stack maps among the data that ld.so makes read-only after relocation (PT_GNU_RELRO): packed, and that range stays
# whole, so that ld.so can still protect it.
. "$TOP/tests/cli/common.sh"

many_functions 60 >many.ll
compile_main main.o -fPIE
for sample in list ./many.ll; do
  name=$(basename "$sample" .ll)
  compile "$sample" "$name.o" -relocation-model=pic
  objcopy --set-section-flags .llvm_stackmaps=alloc,load,data "$name.o"
  # Linkers know constant data that is to be relocated by its section's name: mold by the end, the others this one.
  objcopy --rename-section .llvm_stackmaps=.jcr "$name.o" "$name.jcr.o"
  objcopy --rename-section .llvm_stackmaps=.maps.rel.ro "$name.o" "$name.maps.rel.ro.o"
done
echo 'SECTIONS { .llvm_stackmaps : { *(.llvm_stackmaps) } } INSERT AFTER .data.rel.ro;' >relro.lds

# The first and the last address of PT_GNU_RELRO, and of the section.
relro_range() { # FILE
  local -a words
  read -ra words < <(readelf -lW "$1" | grep GNU_RELRO)
  echo $((words[2])) $((words[2] + words[5]))
}

expect_inside_relro() { # FILE SECTION
  local from to start
  read -r from to < <(relro_range "$1")
  start=$(section_number "$1" "$2" 3)
  ((from <= start && start + $(section_size "$1" "$2") <= to)) || fail "$1: $2 isn't inside PT_GNU_RELRO"
}

check() { # LINKER SECTION OBJECT LINK OPTION...
  local linker=$1 section=$2 object=$3
  shift 3
  link_with "$linker" app main.o "$object" "$@" 2>log || { cat log; fail "$linker: can't link"; }
  expect_inside_relro app "$section"
  expect_status 0 "$stackpack" pack --always --section "$section" -o packed app
  has_section packed .stackpack || fail "no section .stackpack"
  expect_inside_relro packed .stackpack
  [[ $(relro_range app) == "$(relro_range packed)" ]] || fail "PT_GNU_RELRO has changed"
  expect_same_run app packed
  dump_json app --section "$section" >raw.json
  dump_json packed >packed.json
  [[ -s raw.json ]] || fail "no records"
  expect_same raw.json packed.json
  echo "$linker $section $object $*: $(section_size app "$section") -> $(section_size packed .stackpack)"
}

for linker in lld bfd gold mold; do
  "$LLVM/bin/clang" -fuse-ld=$linker -Wl,--version >log 2>&1 || { echo "no linker $linker"; continue; }
  section=.jcr
  [[ $linker != mold ]] || section=.maps.rel.ro
  for name in list many; do
    for kind in -no-pie -pie "-pie -Wl,-z,now"; do
      # shellcheck disable=SC2086 # a list of words
      check $linker $section $name$section.o $kind
      # shellcheck disable=SC2086
      [[ $linker != bfd ]] || check bfd .llvm_stackmaps $name.o $kind -Wl,-T,relro.lds
    done
  done
done

# Where .tbss comes first in that range, mold says that its bytes start with the file's: they differ from the pages where
# program headers need room, and from the stack maps.
cat >relro.c <<'C'
_Thread_local long local;
#define FOUR(x) x, x, x, x
const long *const volatile table[65536] = {FOUR(FOUR(FOUR(&(const long){1})))};
C
"$LLVM/bin/clang" -fPIC -ftls-model=local-exec -c relro.c
compile ./many.ll many.o -relocation-model=pic
for linker in lld bfd gold mold; do
  link_with $linker app -pie -Wl,-z,notext main.o many.o relro.o 2>log || { cat log; fail "$linker: can't link"; }
  pack_and_compare app packed
  (($(stat -c %s packed) < $(stat -c %s app))) || fail "$linker: the file doesn't shrink"
done
