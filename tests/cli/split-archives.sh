#!/bin/bash
# Archives are split member by member: their index, names, dates and order stay right, for every tool that reads them; thin
# ones become ordinary ones. Members that lack stack maps stay byte for byte; unsplittable ones are refused and left alone.
. "$TOP/tests/cli/common.sh"

PATH=$LLVM/bin:$PATH
compile_main main.o
compile list list.o -function-sections
cp list.o a-name-of-more-than-fifteen-letters.o
echo 'void in_bitcode(void) {}' | clang -flto -x c -c -o bitcode.o -
printf 'an odd size: .llvm_stackmaps\0' >text.o
objcopy --redefine-sym run=other --redefine-sym sum=other_sum --redefine-sym cons=other_cons --redefine-sym numbers=other_numbers \
  --redefine-sym reverse=other_reverse a-name-of-more-than-fifteen-letters.o
members=(text.o a-name-of-more-than-fifteen-letters.o list.o main.o)

expect_archive() { # BEFORE AFTER
  expect_different "$1" "$2"
  ar tv --target=elf64-x86-64 "$1" | awk '{ $3 = ""; print }' | sed 's|[^ ]*/\([^ /]*\)$|\1|' >before
  ar tv --target=elf64-x86-64 "$2" | awk '{ $3 = ""; print }' >after
  diff before after || fail "other members, dates or modes"
  nm --print-armap "$1" 2>/dev/null | sed -n '/^Archive index/,/^$/p' | sed 's| in .*/| in |' >before
  nm --print-armap "$2" 2>/dev/null | sed -n '/^Archive index/,/^$/p' >after
  diff before after || fail "another index"
  [[ $(wc -l <after) -gt 5 ]] || fail "no index"
  rm -rf extracted
  mkdir extracted
  (cd extracted && llvm-ar x ../"$2")
  for member in text.o main.o; do expect_same $member extracted/$member; done
  "$stackpack" split -q -o expected.o list.o
  expect_same expected.o extracted/list.o
  for linker in lld bfd gold mold; do
    link_with $linker app main.o "$2" 2>log || { cat log; fail "$linker can't link"; }
    dump_json app >app.json
    [[ $(wc -l <app.json) == $(wc -l <raw.json) ]] || fail "$linker: other records"
    expect_same_run raw app
  done
  cp "$2" again.a
  expect_status 0 "$stackpack" split "$2"
  expect_output 'nothing to split'
  expect_same again.a "$2"
}
link_with lld raw main.o list.o
dump_json raw >raw.json

ar rcsU gnu.a "${members[@]}"
expect_status 0 "$stackpack" split -o split.a gnu.a
expect_archive gnu.a split.a
ZERO_AR_DATE=1 SYM64_THRESHOLD=0 llvm-ar rcs wide.a "${members[@]}"
grep -q /SYM64/ wide.a || fail "no index of 64 bits"
expect_status 0 "$stackpack" split -o split-wide.a wide.a
expect_archive wide.a split-wide.a
mkdir sub && cp "${members[@]}" sub
ar rcsTDU thin.a sub/text.o sub/a-name-of-more-than-fifteen-letters.o sub/list.o sub/main.o
cp thin.a before.a
expect_status 0 "$stackpack" split -o folder.a thin.a
expect_same before.a thin.a
expect_archive thin.a folder.a
for member in "${members[@]}"; do expect_same $member sub/$member; done
# GNU ar puts the members of an ordinary archive into a thin one, and GNU ld and gold link them; a long name becomes the archive's.
ar rcsTDU nested.a gnu.a
expect_status 0 "$stackpack" split -o flat.a nested.a
[[ $(ar t flat.a | tr '\n' ' ') == "text.o gnu.a list.o main.o " ]] || fail "other members: $(ar t flat.a)"
(cd extracted && ar x ../flat.a)
expect_same expected.o extracted/list.o
for linker in bfd gold lld mold; do
  link_with $linker app main.o flat.a
  expect_same_run raw app
done
dump_json nested.a >nested.json
dump_json gnu.a | sed 's/a-name-of-more-than-fifteen-letters.o/gnu.a/' >gnu.json
expect_same gnu.json nested.json
cp gnu.a kept.a
ar rcsDU gnu.a main.o list.o text.o a-name-of-more-than-fifteen-letters.o
ar dDU gnu.a text.o
expect_refusal 'nested.a: .* changed' "$stackpack" split nested.a
mv kept.a gnu.a

# ---- Unchanged files ----
ar rcs none.a main.o text.o
for file in none.a main.o text.o bitcode.o raw; do
  cp $file before
  expect_status 0 "$stackpack" split $file
  expect_output 'nothing to split'
  expect_same before $file
  expect_status 0 "$stackpack" split -q -o copied $file
  [[ ! -s out ]] || fail "-q prints something"
  expect_same before copied
done

# ---- Several files, and errors ----
mkdir many
cp list.o one.o
expect_status 0 "$stackpack" split --output-directory=many one.o list.o main.o gnu.a
[[ $(ls many | tr '\n' ' ') == "gnu.a list.o main.o one.o " ]] || fail "other files: $(ls many)"
expect_same expected.o many/one.o
expect_status 2 "$stackpack" split --output-directory=many list.o sub/list.o
mkdir in-place
for i in {1..60}; do cp list.o in-place/list-$i.o && cp a-name-of-more-than-fifteen-letters.o in-place/other-$i.o; done
"$stackpack" split -q -o expected-other.o a-name-of-more-than-fifteen-letters.o
expect_status 0 "$stackpack" split -q in-place/*
for i in {1..60}; do expect_same expected.o in-place/list-$i.o && expect_same expected-other.o in-place/other-$i.o; done
expect_status 2 "$stackpack" split -o out.o list.o one.o
head -c 4000 gnu.a >cut.a
printf '.llvm_stackmaps\0' >>cut.a
expect_refusal 'cut.a: ' "$stackpack" split cut.a
expect_status 2 "$stackpack" split -q cut.a one.o no-such.o
[[ $(wc -l <err) == 2 ]] || fail "two files can't be split"
expect_same expected.o one.o
rm sub/list.o
expect_refusal 'thin.a: the member sub/list.o ' "$stackpack" split thin.a
llvm-ar rcs --format=bsd bsd.a list.o
expect_refusal "bsd.a: .*BSD" "$stackpack" split bsd.a
objcopy --globalize-symbol=__LLVM_StackMaps list.o named.o
cp named.o before
expect_refusal 'named.o: .* symbol' "$stackpack" split named.o
expect_same before named.o
