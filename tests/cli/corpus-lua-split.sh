#!/bin/bash
# Lua's objects and a main that needs few of them: linked by stackpack-ld with --gc-sections, the code has the size of a build
# free of stack maps, and each linked function has its records of the whole program, one by one.
. "$TOP/tests/cli/common.sh"
expect_corpus lua-objects.tar.zst

export PATH=$LLVM/bin:$PATH
mkdir objects bare
tar --zstd -xf "$CORPUS/lua-objects.tar.zst" -C objects --strip-components=1
rm objects/lua.o
for object in objects/*.o; do objcopy -R .llvm_stackmaps -R .rela.llvm_stackmaps "$object" "bare/${object##*/}"; done
cat >few.c <<'C'
#include <stdio.h>
typedef struct lua_State lua_State;
lua_State *luaL_newstate(void);
void lua_pushinteger(lua_State *, long long);
long long lua_tointegerx(lua_State *, int, int *);
void lua_close(lua_State *);
int main(void) {
  lua_State *state = luaL_newstate();
  lua_pushinteger(state, 42);
  printf("%lld\n", lua_tointegerx(state, -1, NULL));
  lua_close(state);
}
C
clang -O1 -ffunction-sections -c few.c
for linker in ld.lld ld.bfd ld.gold mold; do
  path=$(command -v $linker)
  clang --ld-path="$path" -no-pie -o whole few.o objects/*.o -lm
  clang --ld-path="$path" -no-pie -Wl,--gc-sections -o bare.gc few.o bare/*.o -lm
  STACKPACK_LD=$path clang --ld-path="$BUILD/stackpack-ld" -no-pie -Wl,--gc-sections -o few few.o objects/*.o -lm
  expect_packed few
  [[ $(./few) == 42 ]] || fail "$linker: doesn't run"
  dump_json whole >whole.json
  dump_json few >few.json
  nm few | awk '$2 ~ /[tT]/ { print $3 }' >symbols
  count=$(python3 "$TOP/tests/cli/split_compare.py" whole.json few.json symbols) || fail "$linker: other records"
  echo "$linker: .text $(section_size whole .text), $(section_size few .text) with --gc-sections, $(section_size bare.gc .text) without stack maps; $count records"
  ((count == $(wc -l <few.json) && count > 500)) || fail "$linker: $count records"
  (($(section_size few .text) * 1000 <= $(section_size bare.gc .text) * 1005)) || fail "$linker: more code than without stack maps"
done

# The figures of doc/packing.md, within one in a hundred.
expect_figures() { # START-OF-THE-ROW PROGRAM DUMP
  local figures
  figures=$(grep -F "| $1 |" "$TOP/doc/packing.md" | grep -oE '[0-9,]{3,}' | tr -d ,) || fail "doc/packing.md has no row '$1'"
  awk -v figures="$figures" -v now="$(section_size "$2" .text) $(wc -l <"$3")" 'BEGIN {
    count = split(figures, was); split(now, is)
    for (i = 1; i <= 2; i++) if (count != 2 || was[i] < is[i] * 0.99 || was[i] > is[i] * 1.01) exit 1
  }' || fail "doc/packing.md, $1: $figures"
}
expect_figures 'split objects' few few.json
expect_figures 'the same, kept by a linker script' whole whole.json
