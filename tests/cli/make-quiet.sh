#!/bin/bash
# `make`, `make demo` and `make install` are silent about the tests' libraries, if pkg-config lacks these.
. "$TOP/tests/cli/common.sh"

for target in all demo install; do
  expect_status 0 env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL PKG_CONFIG_LIBDIR="$PWD" make --dry-run -C "$TOP" "BUILD=$PWD/new" $target
  [[ ! -s err ]] || { cat err >&2; fail "make $target complains"; }
done
