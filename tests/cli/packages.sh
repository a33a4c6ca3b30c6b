#!/bin/bash
# `make dist` gives the same bytes wherever it is made, and from its own archive, too, within whatever repository that is
# unpacked; it fails without one of the files. `make deb` makes packages that lintian accepts.
. "$TOP/tests/cli/common.sh"

make_alone() { # FOLDER TARGET [VARIABLE...]
  env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u BUILD make -C "$@" >make.log 2>&1 || { cat make.log >&2; fail "make $*"; }
}

version=$(sed -n 's/^#define STACKPACK_VERSION "\(.*\)"/\1/p' "$TOP/runtime/stackpack.h")
make_alone "$TOP" dist "BUILD=$PWD/first"
(umask 077 && make_alone "$TOP" dist "BUILD=$PWD/second" TZ=Asia/Tokyo)
expect_same "first/stackpack-$version.tar.xz" "second/stackpack-$version.tar.xz"
tar -xf "first/stackpack-$version.tar.xz"
git init -q .
make_alone "stackpack-$version" dist BUILD=build
expect_same "first/stackpack-$version.tar.xz" "stackpack-$version/build/stackpack-$version.tar.xz"
mkdir lacking
tar -xf "first/stackpack-$version.tar.xz" --strip-components=1 --directory=lacking
git -C lacking init -q
git -C lacking add .
rm lacking/LICENSE
! (make_alone lacking dist BUILD=build) 2>/dev/null || fail "an archive without a file that git tracks"

command -v dpkg-buildpackage dh lintian >/dev/null || skip "no dpkg-buildpackage, debhelper or lintian"
export DEB_BUILD_OPTIONS="noopt nocheck parallel=1" DEB_BUILD_PROFILES=noautodbgsym
make_alone "stackpack-$version" deb BUILD=build
for package in stackpack libstackpack0 libstackpack-dev; do
  [[ -s $(echo "stackpack-$version/build/deb/${package}_${version}_"*.deb) ]] || fail "no package $package"
done
lintian --allow-root --profile=debian --fail-on=error,warning "stackpack-$version"/build/deb/*.changes >lintian.log 2>&1 ||
  { cat lintian.log >&2; fail "lintian finds something"; }
unpacked() { # PACKAGE: its files, here
  dpkg-deb --fsys-tarfile "stackpack-$version/build/deb/$1_${version}_"*.deb | tar -x
}
unpacked stackpack
unpacked libstackpack-dev
# What stackpack(3) names.
for file in libstackpack-dev/doc/tutorial.md libstackpack-dev/examples/builds/collector.c; do
  [[ -n $(compgen -G "usr/share/doc/$file*") ]] || fail "no $file"
done
for archive in usr/lib/*/*.a; do
  ! grep -q '\.debug_' <(readelf --section-headers --wide "$archive") || fail "$archive has debug information"
done
command -v zsh >/dev/null || skip "no zsh"
folder=$(dirname "$(find usr -name _stackpack)")
grep -qxF "/$folder" <(zsh -fc 'print -l $fpath') || fail "zsh doesn't look in /$folder"
