#!/bin/bash
# A collector is compiled with the installed tree and pkg-config's flags alone: with the shared library, with the
# archive, as a wholly static program, and in C++. The header is strict C11, and C++ of any age.
. "$TOP/tests/cli/common.sh"

install_tree
prefix=installed/opt/stackpack
mapfile -t flags < <(library_flags)
read -ra cflags < <(pkg-config --cflags stackpack)
read -ra libs < <(pkg-config --libs stackpack)
read -ra static_libs < <(pkg-config --static --libs stackpack)
case $CC in
*clang*) cxx=${CC/clang/clang++} ;;
*gcc*) cxx=${CC/gcc/g++} ;;
*) cxx=c++ ;;
esac
cp "$TOP/samples/builds/"{managed.ll,collector.c} .
"$LLVM/bin/llc" -O2 -filetype=obj -o managed.o managed.ll
"$CC" -O2 "${flags[@]}" "${cflags[@]}" -c -o collector.o collector.c

expect_collector() { # PROGRAM
  expect_status 0 ./"$1"
  expect_output '^338350$'
  grep -qx '100 collections, 200 frames' err || fail "$1: other collections"
}

# As linked, and packed.
expect_both() { # PROGRAM
  expect_collector "$1"
  expect_status 0 stackpack pack --always "$1"
  expect_packed "$1"
  expect_collector "$1"
}

"$CC" "${flags[@]}" -no-pie -o shared managed.o collector.o "${libs[@]}"
readelf --dynamic --wide shared | grep 'NEEDED.*libstackpack\.so\.0' >needed || fail "isn't linked with the shared library"
expect_both shared
LD_LIBRARY_PATH='' expect_status 127 ./shared # it was the installed one

"$CC" "${flags[@]}" -no-pie -o archive managed.o collector.o "$prefix/lib/libstackpack.a"
LD_LIBRARY_PATH='' expect_both archive
if ((${#flags[@]} == 0)); then # sanitizers have no static programs
  "$CC" -static -o static managed.o collector.o "${static_libs[@]}"
  LD_LIBRARY_PATH='' expect_both static
fi

cat >reader.cc <<'CC'
#include <stackpack.h>
#include <cstdint>
#include <cstdio>
int main(int, char **argv) {
  stackpack_file file;
  if (stackpack_file_open(&file, argv[1]) != STACKPACK_OK)
    return 1;
  stackpack_record record;
  stackpack_location base, derived;
  std::size_t pairs = 0;
  for (std::uint32_t i = 0; i < stackpack_table_records(&file.table); i++)
    if (stackpack_table_record(&file.table, i, &record) == STACKPACK_FOUND) {
      struct stackpack_pairs list = stackpack_pairs(&record);
      while (stackpack_pairs_next(&list, &base, &derived))
        pairs++;
    }
  std::printf("%zu records, %zu pairs\n", stackpack_table_records(&file.table), pairs);
  stackpack_file_close(&file);
}
CC
for standard in c++11 c++20; do
  "$cxx" -std=$standard -Wall -Wextra -Werror -pedantic "${flags[@]}" "${cflags[@]}" -o reader reader.cc "${libs[@]}" \
    2>log || { cat log; fail "no $standard"; }
  expect_status 0 ./reader archive
  expect_output '^3 records, 2 pairs$'
done
echo '#include <stackpack.h>' >header.c
for compiler in "$CC" "$LLVM/bin/clang"; do
  for standard in c11 c17 gnu17; do
    "$compiler" -std=$standard -Wall -Wextra -Wconversion -Werror -pedantic "${cflags[@]}" -fsyntax-only header.c ||
      fail "the header isn't clean in $standard"
  done
done
