#!/bin/bash
# Lua's own GC entries let go of at least 30 % of its records; the rest runs as before.
. "$TOP/tests/cli/common.sh"
expect_corpus lua-objects.tar.zst

mkdir objects
tar --zstd -xf "$CORPUS/lua-objects.tar.zst" -C objects
mapfile -t objects < <(find objects -name '*.o' | sort)
printf 'gc-entry luaC_step\ngc-entry luaC_fullgc\n' >policy
for layout in -no-pie "-pie -Wl,-z,notext"; do
  # shellcheck disable=SC2086 # a list of words
  link_with lld lua "${objects[@]}" -lm -ldl $layout
  expect_status 0 "$stackpack" pack --policy=policy --strict --report -o packed lua
  grep '^lua: dropped' out
  percent=$(sed -nE 's/^lua: dropped .*\(([0-9]+)\.[0-9] %\)$/\1/p' out)
  ((percent >= 30)) || { cat out >&2; fail "only $percent % dropped"; }
  expect_same_run lua packed "$samples/exercise.lua"
  expect_status 0 "$stackpack" verify --policy=policy lua packed
done
