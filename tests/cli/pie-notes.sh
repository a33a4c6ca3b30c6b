#!/bin/bash
# Notes and .interp, moved for more program headers in a position-independent file, follow these immediately: a core dump, with
# the first page of each module, has the build ID, for any size of the module's tables; and objcopy makes a file of debug
# information free of warnings.
. "$TOP/tests/cli/common.sh"

compile_main main.o -fPIC
many_functions 60 >many.ll
compile ./many.ll many.o -relocation-model=pic
{
  for number in {1..2000}; do echo "int exported_function_number_$number(int n) { return n + $number; }"; done
  echo '#include <stdlib.h>'
  echo '__attribute__((constructor)) static void stop(void) { if (getenv("STOP") != NULL) abort(); }'
} >exported.c
"$LLVM/bin/clang" -fPIC -c exported.c

# The build ID in a core dump of a program whose file is gone.
id_in_core() { # PROGRAM
  rm -rf core.folder
  mkdir core.folder
  cp "$1" core.folder/program
  (cd core.folder && ulimit -c unlimited && STOP=1 ./program) >run.log 2>&1 || true
  rm core.folder/program
  eu-unstrip -n --core "$(echo core.folder/core*)" 2>&1 | awk '/program$/ { sub("@.*", "", $2); print $2 }'
}

for linker in lld bfd gold mold; do
  for kind in "-pie -rdynamic" "-shared"; do
    # shellcheck disable=SC2086 # a list of words
    link_with $linker raw $kind -Wl,-z,notext,--build-id main.o many.o exported.o 2>link.log || { cat link.log; fail "can't link"; }
    expect_status 0 "$stackpack" pack -o packed raw
    expect_status 0 "$stackpack" verify raw packed
    address=$(section_number packed .note.gnu.build-id 3)
    ((address < 4096)) || fail "$linker $kind: the build ID is at $address"
    for name in raw packed; do
      expect_status 0 objcopy --only-keep-debug $name $name.debug
      [[ ! -s err ]] || { cat err; fail "$linker $kind: objcopy complains of $name"; }
    done
    [[ $kind != -shared ]] || continue
    expect_same_run raw packed
    if [[ $(</proc/sys/kernel/core_pattern) == core* ]]; then
      id=$(id_in_core raw)
      [[ -n $id && $(id_in_core packed) == "$id" ]] || fail "$linker: the core dump tells $(id_in_core packed), not $id"
    fi
  done
done
