#!/bin/bash
# Objects whose relocations are in LLVM's compact form, CREL: they are split, linked by stackpack-ld, and packed with the
# relocations that --emit-relocs keeps. Broken ones are refused.
. "$TOP/tests/cli/common.sh"

crel=(-Wa,--crel,--allow-experimental-crel)
many_functions 50 >many.ll
"$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc many.ll -o list.bc
for form in crel rela; do
  options=("${crel[@]}")
  [[ $form == crel ]] || options=()
  "$LLVM/bin/clang" -O1 -w -ffunction-sections "${options[@]}" -c -x ir list.bc -o list.$form.o 2>log || skip "this LLVM writes no CREL"
  compile_main main.$form.o "${options[@]}" -w
  expect_status 0 "$stackpack" split -o split.$form.o list.$form.o
done
grep -q CREL <("$LLVM/bin/llvm-readelf" -S list.crel.o) || skip "this LLVM writes no CREL"

# The same relocations as with entries, for whole and split objects.
relocations() { # FILE
  "$LLVM/bin/llvm-readobj" --relocations "$1" | sed -n 's/^    \(0x.*\)/\1/p' | sort
}
expect_same <(relocations list.crel.o) <(relocations list.rela.o)
relocations split.crel.o >shown
expect_same shown <(relocations split.rela.o)
(($(wc -l <shown) > 20)) || fail "few relocations"

link_with lld app main.rela.o list.rela.o
for native in crel rela; do
  for managed in crel rela; do
    "$LLVM/bin/clang" "--ld-path=$BUILD/stackpack-ld" "-Wl,--stackpack-ld=$LLVM/bin/ld.lld" -no-pie -o linked main.$native.o list.$managed.o
    expect_same_run app linked
    expect_packed linked
    link_with lld kept main.$native.o list.$managed.o -Wl,--emit-relocs
    expect_status 0 "$stackpack" pack --always -o packed kept
    expect_same_run app packed
    relocations packed >shown # none of the stack maps' is left that does something
    ! grep -q __LLVM_StackMaps shown || fail "relocations of the stack maps"
    "$LLVM/bin/llvm-readobj" --relocations packed >shown 2>&1 || { cat shown; fail "broken relocations"; }
    ! grep -q warning: shown || { cat shown; fail "broken relocations"; }
  done
done

# Bytes that break the form, in the section with the stack maps' relocations.
read -r offset size < <("$LLVM/bin/llvm-readelf" -SW list.crel.o | awk '/ \.crel\.llvm_stackmaps / { sub(/.*\]/, ""); print "0x" $4, "0x" $5 }')
for at in 0 $((size - 1)); do
  cp list.crel.o broken.o
  set_byte broken.o $((offset + at)) 255
  expect_status 2 "$stackpack" split -o out.o broken.o
  only_line_matches '^stackpack: broken.o: section [0-9]+ ' err || { cat err; fail "a broken byte $at"; }
done
