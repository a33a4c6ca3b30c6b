#!/bin/bash
# `unpack` puts back the file of `pack --keep-raw`: the original file, byte for byte, for every kind of file.
. "$TOP/tests/cli/common.sh"

check() { # FILE: packed as usual, unpacked to what it was; beside -o and in place
  expect_status 0 "$stackpack" pack --always -o usual "$1"
  expect_status 0 "$stackpack" pack --always --keep-raw=kept -o packed "$1"
  expect_same usual packed
  expect_packed packed
  expect_status 0 "$stackpack" unpack packed --raw kept -o unpacked
  expect_output 'unpacked'
  expect_same "$1" unpacked
  [[ $(stat -c %a unpacked) == "$(stat -c %a "$1")" ]] || fail "unpacked has another mode"
  expect_same usual packed
  [[ ! -x kept ]] || fail "what was kept can be executed"

  cp "$1" here
  rm kept
  expect_status 0 "$stackpack" pack --always --quiet --keep-raw kept here
  expect_same usual here
  cp here again
  expect_status 0 "$stackpack" pack --always --quiet --keep-raw kept again # there is nothing to keep: it stays
  expect_same here again
  expect_status 0 "$stackpack" unpack --quiet --raw=kept here
  [[ ! -s out ]] || fail "unpack --quiet says something"
  expect_same "$1" here
}

many_functions 60 >many.ll
compile_main main.o -fPIE
for sample in list ./many.ll; do
  name=$(basename "$sample" .ll)
  compile "$sample" "$name.o" -relocation-model=pic
  objcopy --set-section-flags .llvm_stackmaps=alloc,load,data "$name.o" "$name.writable.o"
done
for linker in lld bfd; do
  for name in list many; do
    for options in "-no-pie" "-no-pie -s" "-static" "-pie -Wl,-z,notext" "-pie -s -Wl,-z,notext" \
      "-pie -Wl,-z,notext,-z,pack-relative-relocs"; do
      object=$name.o
      [[ $options != *relocs ]] || object=$name.writable.o
      # shellcheck disable=SC2086 # a list of words
      link_with $linker app main.o $object $options 2>link.log || { cat link.log; fail "can't link"; }
      check app
      ./app >printed || [[ $options == *relocs ]] || fail "the sample doesn't run" # RELR needs a newer libc
    done
    link_with $linker liblist.so -shared -Wl,-z,notext $name.o
    check liblist.so
  done
done

# A release: stack maps compress well, and the rest of the original is kept once.
many_functions 400 >large.ll
make_program lld large ./large.ll
expect_status 0 "$stackpack" pack --always --keep-raw=kept -o packed large
raw=$(section_size large .llvm_stackmaps) kept=$(stat -c %s kept) file=$(stat -c %s large)
echo "raw $raw, kept $kept, file $file"
((kept < raw / 8 && kept < file / 8)) || fail "kept in $kept bytes, of $raw bytes of stack maps"

# Same program, same bytes.
expect_status 0 "$stackpack" pack --always --keep-raw=kept.again -o packed large
expect_same kept kept.again
