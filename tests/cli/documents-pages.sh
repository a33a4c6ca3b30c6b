#!/bin/bash
# Every command line in the documents and manual pages can be typed unchanged: see documents_commands.py. (The tutorial has a
# test of its own.)
. "$TOP/tests/cli/common.sh"

install_tree
mapfile -t flags < <(library_flags)
((${#flags[@]} == 0)) || skip "the installed library has sanitizers, and the documents' programs haven't"
INSTALLED=$PWD/installed/opt/stackpack
export PATH=$LLVM/bin:$PATH CPATH=$INSTALLED/include INSTALLED PKG_CONFIG_PATH=$INSTALLED/lib/pkgconfig

# The documents' app.ll: a program large enough to shrink, with the collector of samples/builds.
mkdir folder folder/release folder/lib folder/bin
{
  cat "$TOP/samples/builds/managed.ll"
  many_functions 200 | sed -E '/^declare/d; s/@allocate\(/@heap_allocate(/; s/call void @collect\(\)/call i64 @square(i64 1)/
    s/@f7\(/@_ZN4heap6insertEl(/'
} >folder/app.ll
cp "$TOP/samples/builds/collector.c" folder/
mkdir -p folder/tests folder/samples/builds
cp "$TOP/tests/find-llvm.sh" folder/tests/
cp "$TOP"/samples/builds/{managed.ll,collector.c} folder/samples/builds/
echo 'gc-entry heap_allocate' >folder/gc.policy
compile folder/app.ll folder/app.o -function-sections
link_with lld folder/app folder/app.o folder/collector.c -L"$INSTALLED/lib" -lstackpack
"$stackpack" pack --quiet -o folder/app.packed folder/app
expect_packed folder/app.packed
"$LLVM/bin/llvm-ar" rcs folder/lib.a folder/app.o
for copy in before old release/app bin/app lib/app.so; do cp folder/app folder/$copy; done
cp folder/app.packed folder/after
cp folder/app.packed folder/new
printf '#!/bin/sh\ntest -x "%s"\n' "$TOP/install-deps.sh" >folder/install-deps.sh # which is run on bare systems
chmod +x folder/install-deps.sh
# shellcheck disable=SC2016 # backquotes of Markdown
sed -n '/^```make$/,/^```$/ { /^```/d; p }' "$TOP/doc/packing.md" >folder/Makefile
ADDRESS=$("$stackpack" dump --format=json folder/app | sed -En '1s/.*"address": ?([0-9]+).*/\1/p')
[[ -n $ADDRESS ]] || fail "no record"
ADDRESS=$(printf 0x%x "$ADDRESS")
export ADDRESS

run_pages() {
  python3 "$TOP/tests/cli/documents_commands.py" folder "$@"
}
mapfile -t documents < <(find "$TOP/doc" -name '*.md' ! -name tutorial.md | sort)
run_pages "$TOP/README.md" "${documents[@]}" "$TOP"/man/*.1

# A wrong option is found, in documents and in manual pages.
printf '    stackpack pack --no-such-option app\n' >wrong.md
printf '.nf\nstackpack stats \\-\\-no\\-such\\-option app\n.fi\n' >wrong.1
for page in wrong.md wrong.1; do
  ! run_pages $page >said 2>&1 || fail "$page should fail"
  grep -q 'no-such-option' said || fail "$page fails otherwise"
done
