#!/bin/bash
# Both libraries export exactly the functions that the public headers declare; the shared one's have a version. So does the
# archive of a build with link-time optimization, and of one for another machine.
. "$TOP/tests/cli/common.sh"

printf '#include "%s"\n' stackpack_check.h stackpack_unwind.h >headers.c
"$LLVM/bin/clang" -std=c11 -I"$TOP/runtime" -fsyntax-only -Xclang -ast-dump=json headers.c >header.json
python3 - >declared <<'PYTHON'
import json

# A declaration has its file only if the one before was in another: so names distinguish the header's.
for node in json.load(open("header.json"))["inner"]:
    if node["kind"] == "FunctionDecl" and node.get("storageClass") != "static" and node["name"].startswith("stackpack_"):
        print(node["name"])
PYTHON
sort -o declared declared
(($(wc -l <declared) >= 30)) || fail "the header declares too little"

sanitizer='^(__asan_|__odr_asan)' # variables that sanitizers make in each file
nm --dynamic --defined-only "$BUILD/libstackpack.so" | awk '$2 != "A" { print $3 }' | grep -vE "$sanitizer" >exported
sed -n 's/@@STACKPACK_0\.9$//p' exported | sort >versioned
[[ $(wc -l <exported) == $(wc -l <versioned) ]] || { cat exported >&2; fail "symbols without the version"; }
diff declared versioned >&2 || fail "the shared library doesn't export what the header declares"
expect_archive() { # ARCHIVE
  readelf --symbols --wide "$1" | awk '($5 == "GLOBAL" || $5 == "WEAK") && $7 != "UND" { print $6, $8 }' |
    grep -vE " ${sanitizer#^}" >symbols
  sed -n 's/^DEFAULT //p' symbols | sort >exported
  diff declared exported >&2 || fail "$1 doesn't export what the header declares"
  ! grep -v '^DEFAULT ' symbols | grep -v '^HIDDEN stackpack_private_' >&2 || fail "$1: names that a user's own could collide with"
}
expect_archive "$BUILD/libstackpack.a"

expect_built_archive() { # COMPILER CFLAGS
  env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u OBJCOPY make -C "$TOP" "BUILD=$PWD/built" "CC=$1" "CFLAGS=$2" "$PWD/built/libstackpack.a" \
    >make.log 2>&1 || { cat make.log >&2; fail "$1 $2: no archive"; }
  expect_archive built/libstackpack.a
  ! readelf --section-headers --wide built/libstackpack.a | grep -m 1 'gnu\.lto' || fail "$1 $2: members have code of the compiler's own"
  rm -r built
}
expect_built_archive "$CC" "-O0 -flto -ffat-lto-objects"
! command -v aarch64-linux-gnu-gcc >/dev/null || expect_built_archive aarch64-linux-gnu-gcc -O0
