#!/bin/bash
# A file with holes, as a linker makes it whose script puts segments far apart, is packed in time and room for its bytes alone;
# the holes are free. So are bytes after the program; and a large file other than a program is refused at once.
. "$TOP/tests/cli/common.sh"

blocks() { # FILE: the kilobytes that it takes on the disk
  du -k "$1" | cut -f 1
}

many_functions 60 >many.ll
make_program lld raw ./many.ll -Wl,--section-start=.llvm_stackmaps=0x8000000
(($(stat -c %s raw) > 100000000)) || fail "the sample isn't large"
(($(blocks raw) < 1000)) || skip "no holes in this file system"
expect_status 0 "$stackpack" pack --keep-raw=kept -o packed raw
expect_packed packed
expect_same_run raw packed
expect_status 0 "$stackpack" verify raw packed
echo "$(blocks raw) -> $(blocks packed) KB"
(($(blocks packed) <= $(blocks raw))) || fail "the packed file takes more room"
expect_status 0 "$stackpack" unpack --raw kept -o unpacked packed
expect_same raw unpacked
(($(blocks unpacked) <= $(blocks raw) + 8)) || fail "the unpacked file takes more room"

# Appended bytes; a file that ends in a hole.
make_program lld small ./many.ll
truncate -s 200M small
expect_status 0 within 60 "$stackpack" pack -o packed small
(($(stat -c %s packed) > 200000000 && $(blocks packed) < $(blocks small))) || fail "$(blocks packed) KB"
expect_same_run small packed

truncate -s 3G zeros
expect_refusal 'zeros: not an ELF file' within 10 "$stackpack" pack zeros
