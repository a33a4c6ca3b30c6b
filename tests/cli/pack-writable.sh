#!/bin/bash
# Stack maps in a writable section, as some compilers ask for to please linkers: among the data, perhaps with .bss
# after them in the same segment.
. "$TOP/tests/cli/common.sh"

many_functions 60 >many.ll
compile_main main.o
compile ./many.ll many.o
objcopy --set-section-flags .llvm_stackmaps=alloc,load,data many.o
for linker in lld bfd; do
  for options in "" "-Wl,-z,norelro" "-Wl,-z,now" "-static"; do
    # shellcheck disable=SC2086 # a list of words
    link_with $linker app $options main.o many.o
    expect_status 0 readelf --section-headers --wide app
    expect_output '\.llvm_stackmaps .* WA '
    pack_and_compare app packed
  done
done

# GNU ld puts them among the addresses that a large .tbss seems to have, but each thread has its own.
cat >local.c <<'END'
_Thread_local char local[100000];
_Thread_local long second = 2;
__attribute__((constructor)) static void check(void) {
  for (unsigned i = 0; i < sizeof local; i++)
    if (local[i] != 0 || second != 2)
      __builtin_trap();
}
END
"$CC" -O1 -c local.c -o local.o
for linker in lld bfd; do
  link_with $linker app main.o many.o local.o
  pack_and_compare app packed
done

# objcopy makes the stack maps, as the last section with bytes, longer than their place, which .bss follows.
link_with bfd app main.o many.o
objcopy --pad-to=0x800000 app
expect_refusal 'app: \.bss has addresses of the stack maps, too$' "$stackpack" pack app
