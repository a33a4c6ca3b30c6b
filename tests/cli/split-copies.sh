#!/bin/bash
# A function with copies in several objects, made in different ways, is linked once: with split objects the copy
# that is linked has its own records, and a collector that moves every object at every allocation finds all references.
. "$TOP/tests/cli/common.sh"

wrapper=$BUILD/stackpack-ld
builds=$TOP/samples/builds
export PATH=$LLVM/bin:$PATH
mkdir split
sed 's/modules\[1\]/modules[4]/; s/modules, 1)/modules, 4)/' "$builds/collector.c" >collector.c
read -ra flags < <(library_flags) || true
"$CC" -O1 -fPIC "${flags[@]}" -I"$TOP/runtime" -c collector.c

# Both have @cons, of the given linkage, and a function that calls it: sum_of_squares, or other_sum.
for linkage in linkonce_odr weak; do
  comdat=''
  [[ $linkage == weak ]] || comdat=comdat
  { [[ -z $comdat ]] || echo '$cons = comdat any'; cat "$builds/managed.ll"; } |
    sed "s/^define ptr addrspace(1) @cons(\(.*\) gc /define $linkage ptr addrspace(1) @cons(\1 $comdat gc /" >$linkage.ll
  sed 's/@sum_of_squares/@other_sum/' $linkage.ll >$linkage.other.ll
  for level in 0 2; do
    llc -O$level -function-sections -relocation-model=pic -filetype=obj -o $linkage.O$level.o $linkage.ll
    llc -O$((2 - level)) -function-sections -relocation-model=pic -filetype=obj -o $linkage.other.O$((2 - level)).o $linkage.other.ll
  done
done

# The records of @cons at each level, from programs with one copy.
cons_records() { # PROGRAM
  dump_json "$1" | sed -nE '/"function":"cons"/s/"(address|function_address)":[0-9]+,//gp'
}
link_program() { # OUTPUT ARGUMENT...
  STACKPACK_OPTIONS=--always clang --ld-path="$wrapper" -no-pie -Wl,--stackpack-ld="$linker" "${flags[@]}" -o "$@" "$BUILD/libstackpack.a" >link.log 2>&1 ||
    { cat link.log >&2; fail "can't link $1"; }
}
expect_program() { # PROGRAM
  expect_packed "$1"
  expect_status 0 "./$1"
  expect_output '^338350$'
  grep -qx '100 collections, [0-9]* frames' err || { cat err >&2; fail "$1: other collections"; }
}
linker=ld.lld
for level in 0 2; do
  link_program alone collector.o linkonce_odr.O$level.o
  expect_program alone
  cons_records alone >cons.O$level
done
expect_different cons.O0 cons.O2

for linker in ld.lld ld.bfd ld.gold mold; do
  for linkage in linkonce_odr weak; do
    for level in 0 2; do
      sampled 3 || continue
      own=$linkage.O$level.o other=$linkage.other.O$((2 - level)).o
      link_program first collector.o $own $other -Wl,-u,other_sum
      expect_program first
      cons_records first >cons
      grep -Fxf cons.O$level cons >/dev/null || fail "$linker $linkage: the first copy of cons has other records"
      # A weak copy stays, though it is uncalled; --gc-sections leaves it out.
      link_program second collector.o $other $own -Wl,-u,other_sum -Wl,--gc-sections
      expect_program second
      cons_records second >cons
      expect_same cons.O$((2 - level)) cons
    done
  done
done

# In archives, the second copy's member is taken for another function.
linker=ld.lld
llvm-ar rcs libfirst.a linkonce_odr.other.O2.o
llvm-ar rcs libsecond.a linkonce_odr.O0.o
link_program archived collector.o -Wl,-u,other_sum -L. -lfirst -lsecond
expect_program archived
cons_records archived >cons
expect_same cons.O2 cons

# In a library and its user: the user's copy is called in both; the library's has its own records all the same.
for linkage in linkonce_odr weak; do
  link_program library.so -shared -z notext $linkage.O0.o
  link_program user -rdynamic collector.o $linkage.other.O2.o -Wl,-u,other_sum ./library.so -Wl,-rpath,.
  expect_program user
  cons_records user >cons
  expect_same cons.O2 cons
  cons_records library.so >cons
  expect_same cons.O0 cons
done

# When split is left out, the maps of both copies are linked: the test's subject.
objects=(linkonce_odr.O0.o linkonce_odr.other.O2.o)
expect_status 0 "$stackpack" split --output-directory=split "${objects[@]}"
clang -fuse-ld=lld -no-pie "${flags[@]}" -o raw collector.o "${objects[@]}" "$BUILD/libstackpack.a"
(cd split && clang -fuse-ld=lld -no-pie "${flags[@]}" -o raw ../collector.o "${objects[@]}" "$BUILD/libstackpack.a")
(($(section_size split/raw .llvm_stackmaps) < $(section_size raw .llvm_stackmaps))) || fail "no copy's maps are left out"
