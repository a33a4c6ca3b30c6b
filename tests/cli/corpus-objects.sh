#!/bin/bash
# Lua's objects, and an archive of them: their dumps equal that of the linked program and llvm-readobj, record by record; the
# functions' sizes add up to the program's counts.
. "$TOP/tests/cli/common.sh"
expect_corpus lua-objects.tar.zst

mkdir objects
tar --zstd -xf "$CORPUS/lua-objects.tar.zst" -C objects --strip-components=1
link_with lld lua objects/*.o -lm -ldl
dump_json lua >lua.json
for object in $(grep -l '\.llvm_stackmaps' objects/*.o); do
  expect_status 0 "$stackpack" dump --format=json "$object"
  cp out "${object%.o}.json"
done
count=$(python3 "$TOP/tests/cli/objects_compare.py" lua.json "$LLVM/bin/llvm-readobj" objects/*.json) || fail "other records than the program's"
[[ $count == $(wc -l <lua.json) ]] || fail "$count records"

ar rcs lua.a objects/*.o
ar rcsT thin.a objects/*.o
for archive in lua.a thin.a; do
  expect_status 0 "$stackpack" dump --format=json $archive
  sed -E 's/"member":"[^"]*",//' out >archive.json
  sort archive.json >archive.sorted
  sort objects/*.json | diff - archive.sorted || fail "$archive: other records than its members'"
done
expect_status 0 "$stackpack" stats --format=csv lua.a
[[ $(awk -F, '{ sum += $(NF - 6) } END { print sum }' out) == "$count" ]] || fail "functions of an archive"

# Source lines, as in the program.
lines() { # FILE
  "$stackpack" dump --source --function=lua_settop "$1" | grep ' at '
}
expect_same <(lines objects/lapi.o) <(lines lua)
