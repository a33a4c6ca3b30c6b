#!/bin/sh
# The program by a compiler that links with stackpack-ld. stackpack-ld splits stack maps before the link and packs them
# after it, so an existing build only adds this flag. For gcc the flag is -B/usr/local/libexec/stackpack/, a folder in
# which stackpack-ld has the name `ld`.
set -eu
: "${CC:=clang}" "${LLC:=$(printf '%s\n' llc /usr/lib/llvm-*/bin/llc | sort --version-sort | tail -n 1)}" "${CFLAGS:=-O2}" "${LINK_FLAG:=--ld-path=$(command -v stackpack-ld)}"

$LLC -O2 -function-sections -filetype=obj -o managed.o managed.ll
# shellcheck disable=SC2046,SC2086 # lists of words
$CC $CFLAGS $(pkg-config --cflags stackpack) -no-pie -Wl,--gc-sections "$LINK_FLAG" \
  -Wl,--stackpack-option=--always,--stackpack-option=--gc-entry=heap_allocate \
  -Wl,-rpath,"$(pkg-config --variable=libdir stackpack)" -o program collector.c managed.o $(pkg-config --libs stackpack)
