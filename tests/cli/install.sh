#!/bin/bash
# What is installed: all at the places that the variables say, with relative links; uninstalling removes all files. The
# installed commands run.
. "$TOP/tests/cli/common.sh"

install_tree
prefix=installed/opt/stackpack
(cd $prefix && find . ! -type d | sort) >files
for file in bin/stackpack bin/stackpack-ld include/stackpack.h include/stackpack_check.h include/stackpack_unwind.h lib/libstackpack.a lib/libstackpack.so \
  lib/libstackpack.so.0 lib/pkgconfig/stackpack.pc lib/cmake/stackpack/stackpackConfig.cmake \
  lib/cmake/stackpack/stackpackConfigVersion.cmake libexec/stackpack/ld share/man/man1/stackpack.1 \
  share/man/man1/stackpack-ld.1 share/man/man3/stackpack.3 share/bash-completion/completions/stackpack \
  share/zsh/site-functions/_stackpack share/stackpack/stackpack-gdb.py share/fish/vendor_completions.d/stackpack.fish libexec/stackpack/ld.{bfd,gold,lld,mold}; do
  grep -qxF "./$file" files || fail "$file isn't installed"
done
while read -r link; do
  [[ $(readlink "$link") != /* && -e $link ]] || fail "$link leads nowhere, or out of the tree"
done < <(find $prefix -type l)
! find installed -type f ! -perm -444 | grep . || fail "not for everyone to read"
if grep -r "$PWD\|$TOP/" installed --include='*.pc' --include='*.cmake'; then fail "a path of this machine"; fi

# The shared library is found by its name and by its soname.
[[ $(readlink $prefix/lib/libstackpack.so.0) == libstackpack.so.[0-9]*.[0-9]*.[0-9]* ]] || fail "the shared library has no version"
readelf --dynamic --wide $prefix/lib/libstackpack.so >dynamic
grep -qF 'soname: [libstackpack.so.0]' dynamic || fail "the soname"
stackpack --version >version
[[ $(pkg-config --modversion stackpack) == "$(sed 's/stackpack //' version)" ]] || fail "the versions"
[[ $(pkg-config --variable=libdir stackpack) == */opt/stackpack/lib ]] || fail "libdir"
loaded=$(echo $prefix/share/gdb/auto-load/opt/stackpack/lib/libstackpack.so.[0-9]*.[0-9]*.[0-9]*-gdb.py)
[[ $(basename "$loaded") == "$(readlink $prefix/lib/libstackpack.so.0)-gdb.py" ]] || fail "gdb doesn't find its commands: $loaded"
[[ $(realpath "$(command -v stackpack)") == "$PWD"/installed/* ]] || fail "which stackpack is it?"
stackpack --help >/dev/null
stackpack-ld --stackpack-help >/dev/null

touch $prefix/bin/other
make_installed uninstall
[[ $(find installed ! -type d) == "$prefix/bin/other" ]] || { find installed; fail "uninstalling left files, or took another's"; }
for folder in libexec share lib/cmake; do
  [[ ! -e $prefix/$folder/stackpack ]] || fail "uninstalling left $folder/stackpack"
done
make_installed uninstall # finds nothing, and succeeds

# The folders can be chosen one by one.
rm -r installed
places=(BINDIR=/programs LIBDIR=/usr/lib/x86_64-linux-gnu INCLUDEDIR=/headers DATADIR=/data LIBEXECDIR=/usr/lib/tools)
install_tree "${places[@]}"
for file in programs/stackpack usr/lib/x86_64-linux-gnu/libstackpack.so.0 headers/stackpack.h data/man/man1/stackpack.1 \
  usr/lib/tools/stackpack/ld usr/lib/x86_64-linux-gnu/pkgconfig/stackpack.pc; do
  [[ -e installed/$file ]] || fail "$file isn't there"
done
export PKG_CONFIG_LIBDIR=$PWD/installed/usr/lib/x86_64-linux-gnu/pkgconfig
[[ $(pkg-config --cflags stackpack) == *"$PWD/installed/headers"* ]] || fail "pkg-config has another folder for headers"
make_installed uninstall "${places[@]}"
[[ -z $(find installed ! -type d) ]] || fail "uninstalling left files"

# A folder that would be taken apart, or that is relative, is refused before anything is written or removed.
expect_refused() { # PATTERN TARGET VARIABLE...
  ! (make_installed "${@:2}") >/dev/null 2>&1 || fail "make ${*:2} succeeds"
  [[ $(grep -c "$1" install.log) == 1 && $(grep -c ' Stop\.$' install.log) == 1 ]] || { cat install.log >&2; fail "make ${*:2}: another complaint"; }
}
rm -rf installed
for target in install uninstall; do
  for variable in "PREFIX=/opt/two words" "DESTDIR=$PWD/two words" 'LIBDIR=/opt/a&b' "MANDIR=/it's" "BUILD=$PWD/two words" BUILD=a:b DATADIR=/a:b; do
    expect_refused "${variable%%=*}=.* no blanks" $target "$variable"
  done
  for variable in PREFIX=local LIBDIR=lib64 'PREFIX=~/local'; do
    expect_refused "${variable%%=*}=.* absolute" $target "$variable"
  done
done
expect_refused 'BUILD=.* no blanks' clean "BUILD=$PWD/two words"
! find . -name '*words*' -o -name installed | grep . >&2 || fail "something is installed"
