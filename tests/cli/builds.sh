#!/bin/bash
# The example builds, each from a clean copy and with the installed tree alone: the program is packed, with the options
# that were given, equals the linked one, and runs. Building again does nothing; a changed source is packed again.
. "$TOP/tests/cli/common.sh"

install_tree
unset MAKEFLAGS MFLAGS MAKELEVEL LD_LIBRARY_PATH # a program notes where the library is
export CC PATH=$LLVM/bin:$PATH NINJA_STATUS=''
CFLAGS="-O2 $(library_flags) -fno-sanitize=signed-integer-overflow" # what it calls could lead to the collector
LDFLAGS=$(library_flags)
export CFLAGS LDFLAGS

fresh() { # FOLDER: a copy, of what a checkout has
  rm -rf "$1"
  mkdir "$1"
  cp "$TOP"/samples/builds/{managed.ll,collector.c,Makefile,CMakeLists.txt,meson.build,by-flag.sh} "$1"
}

logged() { # COMMAND...
  "$@" >log 2>&1 || { cat log >&2; fail "$*"; }
}

# The program of a build: packed, and the same that is linked without packing it.
expect_program() { # PROGRAM [SUM]
  expect_packed "$1"
  expect_status 0 "$1"
  expect_output "^${2:-338350}$"
  grep -qx '100 collections, 200 frames' err || { cat err >&2; fail "$1: other collections"; }
  expect_status 0 stackpack dump --format=json "$1"
  [[ $(wc -l <out) == 2 ]] || { cat out >&2; fail "$1: the policy's option has dropped other records"; }
}

expect_verified() { # RAW PACKED
  expect_status 0 stackpack verify --gc-entry=heap_allocate "$1" "$2"
  expect_output ': 1 records? more'
}

# Another source: 100 squares of twice the numbers.
change() { # FOLDER
  sed -i 's/return value \* value/return 4 * value * value/' "$1/collector.c"
}

# ---- make ----
fresh make
logged make -C make
expect_program make/program
logged make -C make
grep -q 'up to date' log || { cat log >&2; fail "make does something again"; }
# shellcheck disable=SC2046,SC2086 # lists of words
(cd make && "$CC" $CFLAGS -no-pie -Wl,--gc-sections -o raw managed.o collector.o $(pkg-config --libs stackpack))
expect_verified make/raw make/program
change make
logged make -C make
expect_program make/program 1353400
# A file that `pack` refuses is absent afterwards.
rm make/program
! make -C make PACK_OPTIONS=--gc-entry=none\ --strict >log 2>&1 || fail "make doesn't fail"
[[ ! -e make/program ]] || fail "make leaves a program that wasn't packed"

# ---- CMake ----
for shared in OFF ON; do
  for generator in Ninja "Unix Makefiles"; do
    fresh cmake
    logged cmake -S cmake -B cmake/build -G "$generator" -DBUILD_SHARED_LIBS=$shared
    logged cmake --build cmake/build
    expect_program cmake/build/program
    readelf --dynamic --wide cmake/build/program >dynamic
    [[ $shared == "$(grep -q libstackpack dynamic && echo ON || echo OFF)" ]] || fail "BUILD_SHARED_LIBS=$shared"
    change cmake
    logged cmake --build cmake/build
    expect_program cmake/build/program 1353400
  done
done
sed -i '/^stackpack_pack/d' cmake/CMakeLists.txt
logged cmake -S cmake -B cmake/raw -DBUILD_SHARED_LIBS=ON
logged cmake --build cmake/raw
expect_verified cmake/raw/program cmake/build/program

# CMake's errors, and its supported versions.
wrong() { # PATTERN LINE...
  local pattern=$1
  fresh wrong
  shift
  sed -i '/^stackpack_pack/d' wrong/CMakeLists.txt
  printf '%s\n' "$@" >>wrong/CMakeLists.txt
  ! cmake -S wrong -B wrong/build >log 2>&1 || fail "CMake takes $*"
  grep -qE "$pattern" log || { cat log >&2; fail "another complaint about $*"; }
}
wrong 'no target "other"' 'stackpack_pack(other)'
wrong 'what is "--report"' 'stackpack_pack(program --report)'
wrong "isn't linked" 'add_library(plain STATIC collector.c)' 'stackpack_pack(plain)'
wrong 'version' 'find_package(stackpack 0.3 REQUIRED)'
wrong 'version' 'find_package(stackpack 1.0 REQUIRED)'
wrong 'component "other" isn.t installed' 'find_package(stackpack REQUIRED COMPONENTS static other)'
for version in 0.9 0.9.0 '0.9.0 EXACT' 0.2...1.0 ''; do
  fresh cmake
  sed -i "s/find_package(stackpack 0.9/find_package(stackpack $version/" cmake/CMakeLists.txt
  logged cmake -S cmake -B cmake/build
done
# A file that would grow is left unpacked, with a message.
sed -i 's/--always //' cmake/CMakeLists.txt
logged cmake -S cmake -B cmake/build
logged cmake --build cmake/build
grep -q 'program: warning: not packed, as the file would grow from [0-9]* to [0-9]* bytes' log || fail "of growth CMake says: $(<log)"
# `pack` refuses: the build fails, and fails again.
sed -i 's/OPTIONS .*)/OPTIONS --gc-entry=none --strict)/' cmake/CMakeLists.txt
logged cmake -S cmake -B cmake/build
for _ in 1 2; do
  ! cmake --build cmake/build >log 2>&1 || fail "CMake takes a program that couldn't be packed for built"
done

# Distributions leave out the archive, or have the command in another package.
without() { # FILE COMMAND...
  mv "installed/opt/stackpack/$1" away
  "${@:2}"
  mv away "installed/opt/stackpack/$1"
}
shared_by_default() {
  fresh cmake
  logged cmake -S cmake -B cmake/build
  logged cmake --build cmake/build
  expect_program cmake/build/program
  readelf --dynamic --wide cmake/build/program | grep libstackpack >/dev/null || fail "no archive: not linked with the shared library"
  wrong 'component "static" isn.t installed' 'find_package(stackpack REQUIRED COMPONENTS static)'
}
without lib/libstackpack.a shared_by_default
without bin/stackpack wrong "the command stackpack isn't installed" 'stackpack_pack(program)'
for components in "" "COMPONENTS shared command" "COMPONENTS static OPTIONAL_COMPONENTS other"; do
  fresh cmake
  sed -i "s/find_package(stackpack 0.9/& $components/" cmake/CMakeLists.txt
  logged cmake -S cmake -B cmake/build
done

# ---- Meson ----
fresh meson
logged meson setup meson/build meson
logged ninja -C meson/build
expect_program meson/build/program
expect_verified meson/build/program-linked meson/build/program
change meson
logged ninja -C meson/build
expect_program meson/build/program 1353400

# ---- A flag for the compiler ----
flag_build() { # COMPILER LINK-FLAG
  fresh flag
  (cd flag && CC=$1 LINK_FLAG=$2 logged ./by-flag.sh)
  expect_program flag/program
}
flag_build "$CC" "-B$PWD/installed/opt/stackpack/libexec/stackpack/"
if [[ -z $LDFLAGS ]]; then # this clang has its own sanitizers
  flag_build "$LLVM/bin/clang" "--ld-path=$(command -v stackpack-ld)"
fi
