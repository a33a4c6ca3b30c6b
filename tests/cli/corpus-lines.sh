#!/bin/bash
# The source lines of a real program's 3,550 calls are those that addr2line finds.
. "$TOP/tests/cli/common.sh"
expect_corpus lua-objects.tar.zst

mkdir objects
tar --zstd -xf "$CORPUS/lua-objects.tar.zst" -C objects
mapfile -t objects < <(find objects -name '*.o' | sort)
link_with lld lua "${objects[@]}" -lm -ldl
expect_status 0 "$stackpack" pack lua
expect_lines_of_addr2line lua
(($(wc -l <lines) > 3000)) || fail "only $(wc -l <lines) lines"
