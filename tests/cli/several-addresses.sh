#!/bin/bash
# The same library at different addresses, in two processes at once, packed and raw; and position-independent programs
# that read their own stack maps, packed and raw, with pages of every size. Each finds the same, in its own addresses.
. "$TOP/tests/cli/common.sh"

many_functions 60 >many.ll
compile ./many.ll many.o -relocation-model=pic
build_plain_library
for define in "" -DLIBRARY; do
  # shellcheck disable=SC2086 # nothing, or a word
  "$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -O1 -fPIC $define -I"$TOP/runtime" -c "$TOP/tests/cli/found.c" -o "found$define.o"
done
"$LLVM/bin/clang" -rdynamic -o found found-DLIBRARY.o plain/libstackpack.a -ldl

expect_all_found() { # FILE FOUND: as many lines as records, and one more
  [[ $(wc -l <"$2") == $(($(dump_json "$1" | wc -l) + 1)) && $(wc -l <"$2") -gt 500 ]] || fail "$1: not all is found"
}

# Two processes, each alive as long as the other one.
together() { # LIBRARY
  ./found "$1" 0 >here 2>here.address &
  local first=$!
  ./found "$1" 300 >there 2>there.address &
  wait $first || fail "$1: $(<here.address)"
  wait $! || fail "$1: $(<there.address)"
}

for linker in lld bfd; do
  link_with $linker liblist.so -shared -Wl,-z,notext many.o
  expect_status 0 "$stackpack" pack -o libpacked.so liblist.so
  for library in ./liblist.so ./libpacked.so; do
    together $library
    expect_different here.address there.address
    expect_same here there
    expect_all_found $library here
    mv here "$library.found"
  done
  expect_same liblist.so.found libpacked.so.found

  for page in 4096 16384 65536 2097152; do
    for kind in "-no-pie" "-pie -Wl,-z,notext"; do
      sampled 5 || continue
      # shellcheck disable=SC2086 # a list of words
      link_with $linker app $kind -Wl,-z,max-page-size=$page found.o many.o plain/libstackpack.a -ldl
      expect_status 0 "$stackpack" pack --always -o packed app
      for file in app packed; do
        expect_status 0 ./$file ./$file
        mv out $file.found
        expect_all_found $file $file.found
      done
      expect_same app.found packed.found
      expect_status 0 "$stackpack" verify app packed
      # Whole pages are cut out, and these are large: the file shrinks by as many as there were.
      raw=$(section_size app .llvm_stackmaps)
      saved=$(($(stat -c %s app) - $(stat -c %s packed)))
      echo "$linker $kind, pages of $page: raw $raw, the file is $saved bytes smaller"
      ((saved >= raw - 2 * page - 16384)) || fail "$linker $kind, pages of $page: the file isn't smaller"
    done
  done
done
