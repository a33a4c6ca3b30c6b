#!/bin/bash
# The version of stackpack.h is that of the newest changes, of the packages, of the crate, of the binary interface's name and of the
# examples; the version of the packed table is that of its documents.
. "$TOP/tests/cli/common.sh"

# The first match of an extended regular expression's group in a file is the version.
expect_version() { # VERSION FILE EXPRESSION
  local found
  found=$(sed -nE "s/^.*$3.*\$/\1/p" "$TOP/$2" | head -n 1)
  [[ $found == "$1" ]] || fail "$2 has '$found', and not $1"
}

version=$(sed -n 's/^#define STACKPACK_VERSION "\(.*\)"/\1/p' "$TOP/runtime/stackpack.h")
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "stackpack.h has no version, but '$version'"
expect_version "$version" CHANGELOG.md '^## (.*)'
expect_version "$version" debian/changelog '^stackpack \((.*)\)'
expect_version "$version" bindings/rust/Cargo.toml '^version = "(.*)"'
series=${version%.*}
expect_version "$series" runtime/libstackpack.map '^STACKPACK_(.*) \{'
expect_version "$series" man/stackpack.3 'STACKPACK_([0-9.]*[0-9])'
expect_version "$series" samples/builds/CMakeLists.txt 'find_package\(stackpack (.*) REQUIRED'

table=$(sed -nE 's/^  PACKED_VERSION = ([0-9]+),$/\1/p' "$TOP/format/packed.h")
[[ -n $table ]] || fail "packed.h has no version"
expect_version "$table" format/FORMAT.md '^Format version ([0-9]+)'
expect_version "$table" format/FORMAT.md 'this release read version ([0-9]+) alone'
expect_version "$table" CHANGELOG.md 'Packed tables have version ([0-9]+)'
