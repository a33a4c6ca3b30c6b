#!/bin/bash
# patchelf, which moves program headers and sections about, gets along with stackpack, before packing and afterwards.
. "$TOP/tests/cli/common.sh"

many_functions 50 >many.ll
for linker in lld bfd; do
  make_program $linker small list
  make_program $linker large ./many.ll
  for app in small large; do
    expect_status 0 "$stackpack" pack -o packed $app
    dump_json packed >packed.json
    interpreter=$(patchelf --print-interpreter $app)
    for change in "--set-rpath /nowhere/lib" "--add-needed libm.so.6" \
      "--set-interpreter ${interpreter%/*}/.//./././.${interpreter#"${interpreter%/*}"}"; do
      cp packed patched
      # shellcheck disable=SC2086 # a list of words
      patchelf $change patched
      expect_same_run $app patched
      dump_json patched >patched.json
      expect_same packed.json patched.json

      cp $app patched
      # shellcheck disable=SC2086
      patchelf $change patched
      pack_and_compare patched again
    done
  done
done

# In a position-independent program with few dynamic symbols, immovable relocations are near the program headers: the
# headers that patchelf adds have room in front of them.
many_functions 400 >many.ll
compile ./many.ll many.o -relocation-model=pic
compile_main main.o -fPIC
for linker in lld bfd gold mold; do
  link_with $linker app -pie -Wl,-z,notext main.o many.o
  expect_status 0 "$stackpack" pack -o packed app
  dump_json packed >packed.json
  for change in "--set-rpath /nowhere/lib" "--set-soname name"; do
    cp packed patched
    # shellcheck disable=SC2086
    patchelf $change patched
    expect_same_run app patched
    dump_json patched >patched.json
    expect_same packed.json patched.json
  done
done

# mold leaves out the file offsets of sections that lack bytes. One that has more bytes in memory than the file has makes
# patchelf fail, or read beyond the file, where nobody has put that right.
"$LLVM/bin/clang" -fuse-ld=mold -no-pie -Wl,-z,max-page-size=2097152 -o app main.o many.o
expect_status 0 "$stackpack" pack --always -o packed app
cp packed patched
patchelf --set-rpath /nowhere/lib patched
expect_same_run app patched
readelf --section-headers --wide packed | sed 's/^ *\[[ 0-9]*\] //' | awk '$2 == "NOBITS" { print $1, $4 }' >empty
grep -q '^\.bss ' empty || fail "no .bss"
! grep ' 0*$' empty || fail "a section stands at the file's start"

# Large pages leave much room where sections have moved; patchelf must put writable sections elsewhere. And it takes
# AArch64's pages for 64 KiB.
for cell in "x86_64 65536" "x86_64 16384" "aarch64 4096" "aarch64 65536"; do
  read -r machine page <<<"$cell"
  can_run "$machine" || continue
  emulator=() clang_options=()
  if [[ $machine != "$(uname -m)" ]]; then
    emulator=(qemu-"$machine" -0 program -L "/usr/$machine-linux-gnu") clang_options=(--target="$machine-linux-gnu")
  fi
  compile list list.o -mtriple="$machine-linux-gnu"
  compile_main main.o "${clang_options[@]}"
  for linker in lld bfd; do
    "$LLVM/bin/clang" "${clang_options[@]}" -fuse-ld=$linker -no-pie "-Wl,-z,max-page-size=$page" -o app main.o list.o
    expect_status 0 "$stackpack" pack --always -o packed app
    "${emulator[@]}" ./app >expected 2>&1
    for length in 10 700 5000; do
      cp packed patched
      patchelf --set-rpath "/$(head -c $length /dev/zero | tr '\0' a)" patched
      "${emulator[@]}" ./patched >shown 2>&1 || fail "$cell, $linker: ends with $? after patchelf (a path of $length bytes)"
      expect_same expected shown
    done
  done
done
