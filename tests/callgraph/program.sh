#!/bin/bash
# A program whose managed code comes to a collection in every way but a plain call: by tables and objects, callbacks of the C
# library, signal handlers, constructors and destructors, atexit, threads and their ends, longjmp, fork, a shared library that
# calls back. All return addresses on the stack at its GC entry keep their records, in the executable and in the library, and
# purely computing functions lose theirs. Built in two ways, or more (ROUNDS, up to 5).
. "$TOP/tests/callgraph/common.sh"

sources=$TOP/tests/callgraph/program

# C code with a statepoint for every call.
compile_managed() { # SOURCE LEVEL MODEL
  "$LLVM/bin/clang" "$2" -fPIC -S -emit-llvm "$sources/$1.c" -o $1.ll
  sed -i -E '/^define /s/ \{$/ gc "statepoint-example" {/' $1.ll
  "$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc $1.ll -o $1.bc
  "$LLVM/bin/llc" "$2" -relocation-model="$3" -filetype=obj $1.bc -o $1.o
}

# GC entries of another module's are imported: everything called there may reach one.
pack_with_entry() { # FILE
  expect_status 0 "$stackpack" pack --always --gc-entry=collect --report -o packed/$1 raw/$1
}

make_recorder
make_answers
while read -r level linker kind model compiler; do
  rm -rf raw packed seen
  mkdir raw packed
  compile_managed managed $level $model
  compile_managed library $level pic
  $compiler $level -fno-omit-frame-pointer -fPIE -c "$sources/native.c" -o native.o
  link_with $linker raw/liblibrary.so library.o -shared -Wl,-z,notext,-soname,liblibrary.so
  link_with $linker raw/app managed.o native.o raw/liblibrary.so $kind -rdynamic "-Wl,-z,notext,-rpath,\$ORIGIN" -lpthread -ldl
  record "$(places raw/app collect)" seen raw/app
  expect_whole_walks raw/app seen
  pack_with_entry app
  expect_sound raw/app packed/app seen
  (($(wc -l <packed.addresses) < $(wc -l <raw.addresses))) || fail "nothing was dropped"
  for function in checksum checksums; do
    grep -q "\"function\":\"$function\"" <(dump_json packed/app) && fail "a record of $function is kept, which only computes"
  done
  cp raw/liblibrary.so packed
  expect_same_run raw/app packed/app
  grep -q "^library's choice" printed || fail "the program didn't get to its end"

  # The experiment notices a false promise.
  expect_status 0 "$stackpack" pack --always --gc-entry=collect --no-gc=kill_self --no-gc=wait_for_timer -o packed/wrong raw/app
  addresses packed/wrong >wrong.addresses
  (($(comm -23 seen.records wrong.addresses | wc -l) == 2)) || fail "two records that are needed should be missing"

  # The library lacks a function of the name; one of its imports may reach it.
  expect_status 0 "$stackpack" pack --always --gc-entry=notified --gc-entry=replaced -o packed/liblibrary.so raw/liblibrary.so
  expect_sound raw/liblibrary.so packed/liblibrary.so seen
  expect_same_run raw/app packed/app
done < <(head -n "${ROUNDS:-$((every > 1 ? 1 : 2))}" <<END
-O0 lld -no-pie static gcc
-O2 bfd -pie pic $LLVM/bin/clang
-O2 lld -pie pic gcc
-O2 bfd -no-pie static $LLVM/bin/clang
-O0 mold -pie pic gcc
END
)
