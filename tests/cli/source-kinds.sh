#!/bin/bash
# `dump --source` agrees with llvm-symbolizer about programs of several languages, levels of debug information and compilers;
# of link-time optimisation; and of dwz, which moves entries to other places and files.
. "$TOP/tests/cli/common.sh"

sources=$TOP/tests/cli/source
gcc -O2 -g -c "$sources/main.c" -o main.o
build_with() { # OUTPUT CLANG OPTION...
  compile_debug "$sources/inlined.c" inlined.o "${@:2}"
  compile_debug "$sources/shapes.cc" shapes.o "${@:2}"
  link_with lld "$1" inlined.o shapes.o main.o -Wl,--build-id
}

for options in -gdwarf-4 -gdwarf-5 "-gdwarf-5 -ffunction-sections" "-gdwarf-4 -fdebug-types-section" -g1; do
  # shellcheck disable=SC2086 # a list of words
  build_with "app$options" $options
  expect_source_of_llvm "app$options" "app$options"
  (($(wc -l <addresses) >= 7)) || fail "too few records: $options"
done
mv app-gdwarf-4 app
expect_source_of_llvm app app
cp source.json plain.json

# Code that the linker generates, from bitcode.
for unit in inlined.c shapes.cc; do
  "$LLVM/bin/clang" -O1 -g -S -emit-llvm -o unit.ll "$sources/$unit"
  sed -i -E '/^define /s/( !dbg ![0-9]+ \{)$/ gc "statepoint-example"\1/' unit.ll
  "$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc unit.ll -o "$unit.o"
done
link_with lld optimised inlined.c.o shapes.cc.o main.o
expect_source_of_llvm optimised optimised

dwz app -o within
expect_source_of_llvm within within
expect_same plain.json source.json

# Two programs with a file of shared entries: llvm-symbolizer finds no names there.
cp app one
cp app two
dwz -m shared.debug one two
expect_status 0 "$stackpack" dump --source --format=json one
expect_same plain.json out
[[ ! -s err ]] || fail "output on stderr: $(<err)"
mkdir away
cp one away
(cd away && expect_status 2 "$stackpack" dump --source --format=json one &&
  only_line_matches "^stackpack: one: a part of the debug information can't be read: $PWD/shared.debug$" err) || fail "a lost file isn't named"
cp within away/shared.debug # of another build
(cd away && expect_status 2 "$stackpack" dump --source one) || fail "another file is taken"
