#!/bin/bash
# The list of inputs that a linker writes for make and ninja (CMake asks for it) has the inputs instead of their split copies:
# these are gone after the link, so that every build would link again, or fail.
. "$TOP/tests/cli/common.sh"

compile_main main.o
compile list list.o
many_functions 5 | sed 's/@run(/@other_run(/' >many.ll
compile ./many.ll many.o
mkdir -p 'a folder$' lib
cp list.o 'a folder$/list.o'
ar rc lib/libmany.a many.o
export PATH=$LLVM/bin:$PATH
mkdir 'temporary $#'
for linker in ld.lld ld.bfd mold; do
  for option in --dependency-file= --dependency-file,; do
    inputs=(main.o list.o "$PWD/many.o" -Llib -lmany "-Wl,${option}app.d" -o app)
    "$LLVM/bin/clang" --ld-path="$(command -v $linker)" -no-pie "${inputs[@]}" 2>log || { cat log; fail "$linker"; }
    cp app.d expected
    TMPDIR="lib/..//temporary \$#/" STACKPACK_LD=$linker "$LLVM/bin/clang" --ld-path="$BUILD/stackpack-ld" -no-pie "${inputs[@]}" 2>log || { cat log; fail "$linker"; }
    expect_same expected app.d
    grep -qE '(^| )list\.o' app.d && grep -q "$PWD/many.o" app.d && grep -q lib/libmany.a app.d || { cat app.d; fail "$linker: no list"; }
  done
  touch -d '1 hour' app
  make --silent --question --file app.d app || fail "$linker: make would link again"
done

# Names are quoted, as lld does it.
"$LLVM/bin/clang" --ld-path="$BUILD/stackpack-ld" -no-pie main.o 'a folder$/list.o' -Wl,--dependency-file=app.d -o app
grep -qF 'a\ folder$$/list.o' app.d || { cat app.d; fail "another name"; }
touch -d '1 hour' app
make --silent --question --file app.d app || fail "make would link again"
