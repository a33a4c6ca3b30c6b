#!/bin/bash
# The handles sample: with a collection at every allocation, raw and packed, its result is the one computed without a heap,
# while managed code and C++ call each other.
. "$TOP/tests/cli/common.sh"

programs=$BUILD/samples
sources=$TOP/samples/handles
common=$TOP/samples/common
ulimit -c 0

# Exactly the records unneeded by collections are dropped.
expect_status 0 "$stackpack" verify --policy="$sources/gc.policy" "$programs/handles-raw" "$programs/handles"
expect_different "$programs/handles-raw" "$programs/handles"

# The program succeeds, prints the unpacked program's output, and updated handles and several rows at once.
check() { # PROGRAM OPTION...
  local program=$1 name=out.${*:2}
  expect_status 0 "$program" --statistics "${@:2}"
  ! grep -E '^collections: 0$|moved: 0 |walked: 0 |updated: 0 |rows \(at most [01] ' err ||
    fail "$*: the run shows too little"
  [[ -e ${name// /} ]] || cp out "${name// /}"
  expect_same out "${name// /}"
}
try() { # PROGRAM
  for options in "" "--stress --size 1 --levels 1" "--stress --size 40" "--stress --size 20 --levels 7" \
    "--size 300 --heap 32"; do
    # shellcheck disable=SC2086 # a list of words
    check "$1" $options
  done
}
try "$programs/handles-raw"
try "$programs/handles"

# The compiler separates references from plain pointers.
cat >mixed.cpp <<'EOF2'
#include "objects.h"
void *plain(list_ref list);
void *plain(list_ref list) { return list; }
EOF2
! "$LLVM/bin/clang++" -fsyntax-only -I"$sources" -I"$common" mixed.cpp 2>/dev/null ||
  fail "a reference was taken for a plain pointer"

# From here on with the thread sanitizer, whose report must be empty: there is one thread only.
build_watched libstackpack.a
flags=(-O1 -g -fsanitize=thread -I"$TOP/runtime" -I"$common" -I"$sources" -I.)
mkdir objects
for file in "$common"/{bounds,copier,numbers,options,die}.c; do
  "$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -fno-strict-aliasing -I"$TOP" "${flags[@]}" -c -o "objects/$(basename "$file" .c).o" "$file"
done
link() { # OUTPUT FILE...
  "$LLVM/bin/clang++" -std=c++17 "${flags[@]}" -B"$LLVM/bin/" -fuse-ld=lld -no-pie -o "$@" objects/*.o watched/libstackpack.a \
    "$programs/handles.d/managed.o" "$sources/entries.S" "$common"/{heap_allocate,managed_call}.S
}
link watched-raw "$sources/embedder.cpp" "$sources/vm.cpp"
expect_status 0 "$stackpack" pack --always --policy="$sources/gc.policy" --strict -o watched-packed watched-raw
export TSAN_OPTIONS=halt_on_error=1:exitcode=66
try ./watched-raw
try ./watched-packed

# Each mistake must show, as a fault, as the collector's complaint, or as a wrong result.
mistake() { # FILE SED_SCRIPT
  cp "$sources"/*.cpp "$sources"/*.h .
  sed -i "$2" "$1"
  expect_different "$sources/$1" "$1"
  link mistaken embedder.cpp vm.cpp
  ! TSAN_OPTIONS=handle_segv=0:handle_abort=0 timeout 60 ./mistaken --stress --size 40 >out 2>err ||
    fail "nothing shows the mistake: $2"
}
mistake vm.cpp 's/^  forward_handles();//'
mistake vm.cpp 's/row = youngest->outer; row;/row = youngest->outer; false;/' # the first row only
mistake vm.cpp 's/row = row->outer/row = row->outer ? row->outer->outer : nullptr/'
mistake handle.h '/: persistent)/,/visit(slot)/s/visit(slot)//'
mistake handle.h 's/resize(start)/resize(start \/ 2)/'
mistake row.h 's/function, &end,/function, \&frame.frame_pointer,/' # a row's end isn't noted
mistake embedder.cpp '0,/^  Transition transition/s/^  Transition transition.*//' # visit_tree notes no frame
