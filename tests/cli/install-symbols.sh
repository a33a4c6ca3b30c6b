#!/bin/bash
# Both libraries export exactly the functions that the public headers declare; the shared one's have a version.
. "$TOP/tests/cli/common.sh"

printf '#include "%s"\n' stackpack_check.h stackpack_unwind.h >headers.c
"$LLVM/bin/clang" -std=c11 -I"$TOP/runtime" -fsyntax-only -Xclang -ast-dump=json headers.c >header.json
python3 - >declared <<'PYTHON'
import json

# A declaration's file is written only where it isn't that of the one before: so names tell, which are in no other header.
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
readelf --symbols --wide "$BUILD/libstackpack.a" | awk '($5 == "GLOBAL" || $5 == "WEAK") && $7 != "UND" { print $6, $8 }' |
  grep -vE " ${sanitizer#^}" >symbols
sed -n 's/^DEFAULT //p' symbols | sort >exported
diff declared exported >&2 || fail "the archive doesn't export what the header declares"
! grep -v '^DEFAULT ' symbols | grep -v '^HIDDEN stackpack_private_' >&2 || fail "names that a user's own could collide with"
