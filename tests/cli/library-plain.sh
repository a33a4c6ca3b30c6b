#!/bin/bash
# Memory shows that most libraries lack stack maps: their files stay closed. Unreadable stack maps are an error, for each place
# where the dynamic linker puts their functions' addresses.
. "$TOP/tests/cli/common.sh"

read -ra flags <<<"$(library_flags)"
for interposed in "" -DINTERPOSED; do
  "$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -O1 -fPIE $interposed -I"$TOP/runtime" -c "$TOP/tests/cli/plain.c" -o main.o
  link_with lld "app$interposed" main.o "$BUILD/libstackpack.a" "${flags[@]}" -ldl -lpthread -rdynamic -pie -Wl,--wrap=open
done

# A library whose stack map has a version, so many functions, discarded except for the last one, and so many
# records by its header.
library() { # OUTPUT VERSION FUNCTIONS RECORDS
  cat >library.c <<EOF
void managed(void) {}
void own_code(void) {}
__asm__(".pushsection writable_maps, \"aw\", %progbits\n"
        ".balign 8\n"
        ".byte $2, 0, 0, 0\n"
        ".4byte $3, 0, $4\n"
        ".rept $3 - 1\n.8byte 0, 8, 1\n.endr\n"
        ".8byte managed, 8, 1\n"
        ".8byte 1\n.4byte 4\n.2byte 0, 0\n.4byte 0, 0\n"
        ".popsection");
EOF
  "$LLVM/bin/clang" -std=c17 -O1 -fPIC -c library.c -o library.o
  "$LLVM/bin/llvm-objcopy" --rename-section writable_maps=.llvm_stackmaps library.o
  link_with lld "$1" library.o -shared
}

library newer.so 4 1 1
library older.so 2 1 1
library broken.so 3 1 9
library discarded.so 3 40 99
printf 'int plain;\n' | "$LLVM/bin/clang" -fPIC -x c -c - -o plain.o
link_with lld plain.so plain.o -shared

for app in app app-DINTERPOSED; do
  ./$app ./plain.so >out
  ! grep -q "open.*plain.so" out || fail "$app: plain.so was opened: $(cat out)"
  grep -q "^error 1, 0 modules, answer 1$" out || fail "$app: plain.so: $(cat out)"
  for file in newer.so older.so broken.so discarded.so; do
    ./$app ./plain.so ./$file >out
    ! grep -q "open.*plain.so" out || fail "$app: plain.so was opened: $(cat out)"
    grep -q "^error 5, 1 modules, answer 3$" out || fail "$app: $file: $(cat out)"
  done
  # Whether memory is readable is asked in a way that valgrind takes without a word.
  if command -v valgrind >/dev/null && ((${#flags[@]} == 0)); then
    expect_status 0 valgrind -q ./$app ./plain.so
    [[ ! -s err ]] || { head err >&2; fail "$app: valgrind complains"; }
  fi
done
