#!/bin/bash
# Debug information in a file of its own is found where debuggers look for it, if it belongs to the program: by build ID,
# and by the link that objcopy leaves.
. "$TOP/tests/cli/common.sh"

compile_debug "$TOP/tests/cli/source/inlined.c" inlined.o -g
compile_debug "$TOP/tests/cli/source/second.c" second.o -g
"$LLVM/bin/clang" -O1 -c "$TOP/tests/cli/source/main.c" -o main.o
link_with lld app inlined.o second.o main.o -Wl,--build-id
expect_source_of_llvm app app
mv source.json expected.json

expect_found() { # PROGRAM [DUMP OPTION...]
  expect_status 0 "$stackpack" dump --source --format=json "${@:2}" "$1"
  [[ ! -s err ]] || fail "$*: $(<err)"
  expect_same expected.json out
}

expect_not_found() { # PATTERN PROGRAM [DUMP OPTION...]
  expect_status 0 "$stackpack" dump --source --format=json "${@:3}" "$2"
  only_line_matches "^stackpack: $2: no debug information$1" err || fail "${*:2}: $(<err)"
  expect_different expected.json out
}

mkdir bin
for copy in objcopy "$LLVM/bin/llvm-objcopy"; do
  $copy --only-keep-debug app app.debug
  $copy --strip-debug --add-gnu-debuglink=app.debug app bin/app

  # The link: beside the program, in .debug there, and in the tree of debug files; by way of a symbolic link, too.
  expect_not_found '$' bin/app
  cp app.debug bin
  expect_found bin/app
  ln -sf bin/app link
  expect_found link
  mkdir bin/.debug
  mv bin/app.debug bin/.debug
  expect_found bin/app
  mkdir -p "tree$PWD/bin"
  mv bin/.debug/app.debug "tree$PWD/bin"
  expect_not_found '$' bin/app
  expect_found bin/app --debug-dir=elsewhere --debug-dir=tree
  expect_status 0 "$stackpack" pack bin/app
  expect_found bin/app --debug-dir=tree

  # Another file than the linked one.
  cp app.debug bin/app.debug
  echo >>bin/app.debug
  expect_not_found ': .*/bin/app\.debug .*checksum.*' bin/app
  rm -r bin/app.debug bin/.debug tree

  # The build ID.
  "$LLVM/bin/llvm-objcopy" --strip-debug app bin/app
  id=$(readelf --notes app | sed -n 's/.*Build ID: //p')
  mkdir -p tree/.build-id/"${id:0:2}"
  cp app.debug tree/.build-id/"${id:0:2}/${id:2}.debug"
  expect_not_found '$' bin/app
  expect_found bin/app --debug-dir=tree
  expect_status 0 "$stackpack" pack bin/app
  expect_found bin/app --debug-dir=tree
  link_with lld other inlined.o main.o second.o -Wl,--build-id
  cp other tree/.build-id/"${id:0:2}/${id:2}.debug"
  expect_not_found ': .* has another build ID' bin/app --debug-dir=tree
  rm -r tree
done

# Compressed, and with the program's own sections for debug information left empty.
objcopy --only-keep-debug --compress-debug-sections=zlib app app.debug
objcopy --strip-debug --add-gnu-debuglink=app.debug app stripped
expect_found stripped
