#!/bin/bash
# However the linker lays out segments: code and read-only data in one or apart, large pages, packed tightly, at
# another address, with relocations kept; the program is packed, runs, and the tools' findings are the same as before.
. "$TOP/tests/cli/common.sh"

many_functions 60 >many.ll
compile_main main.o
compile ./many.ll many.o
while read -r linker options; do
  sampled 3 || continue
  echo "$linker $options"
  # shellcheck disable=SC2086 # a list of words
  link_with "$linker" app $options main.o many.o 2>link.log || { cat link.log; fail "can't link"; }
  pack_and_compare app packed
  expect_no_complaints app packed
done <<'END'
lld
lld -static
lld -Wl,--no-rosegment
lld -Wl,-z,separate-code
lld -Wl,-z,separate-loadable-segments
lld -Wl,-z,max-page-size=65536
lld -Wl,-z,max-page-size=2097152 -Wl,--image-base=0x10000000
lld -Wl,-z,norelro
lld -Wl,--emit-relocs
lld -Wl,--image-base=0x10000000
lld -Wl,-Ttext=0x900000,-Tdata=0xa00000
lld -static -Wl,--no-rosegment
bfd
bfd -static
bfd -Wl,-z,unique-symbol
bfd -Wl,-z,noseparate-code
bfd -Wl,-z,separate-code
bfd -Wl,-z,max-page-size=65536
bfd -Wl,-z,max-page-size=2097152
bfd -Wl,-z,norelro
bfd -Wl,--emit-relocs
bfd -Wl,-Ttext-segment=0x10000000
bfd -static -Wl,-z,noseparate-code
END

# Data with an alignment that is larger than a page's keeps it, at the cost of less than a page.
cat >aligned.c <<'C'
_Alignas(1 << 21) char heap[1 << 20];
__attribute__((constructor)) static void check(void) {
  unsigned long address = (unsigned long)heap;
  __asm__("" : "+r"(address));
  if (address % (1 << 21) != 0)
    __builtin_trap();
}
C
"$LLVM/bin/clang" -fPIC -c aligned.c
compile ./many.ll many.pic.o -relocation-model=pic
for linker in lld bfd gold mold; do
  "$LLVM/bin/clang" -fuse-ld=$linker -Wl,--version >log 2>&1 || { echo "no linker $linker"; continue; }
  for kind in "-no-pie" "-pie -Wl,-z,notext"; do
    sampled 3 || continue
    echo "$linker $kind, aligned data"
    # shellcheck disable=SC2086 # a list of words
    link_with $linker app $kind main.o many.pic.o aligned.o
    pack_and_compare_large app packed
    new=$(comm -13 <(complaints app) <(complaints packed))
    [[ -z $new ]] || fail "new complaints: $new"
  done
done

# Segments that ignore pages (lld's -N) leave too little to cut out: refused with the reason.
link_with lld app -static -Wl,-N main.o many.o
cp app before
expect_refusal 'app: .*(align|page)' "$stackpack" pack app
expect_same app before
