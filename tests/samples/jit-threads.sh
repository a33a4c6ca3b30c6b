#!/bin/bash
# The jit sample under the thread sanitizer: threads look up and walk while code is added and removed, free of data races.
. "$TOP/tests/samples/common.sh"

[[ -x $programs/jit ]] || skip "no headers of LLVM's C interface"
# LLVM's library and managed code are compiled as always.
sources=$TOP/samples/jit
build_for_threads() { # OUTPUT
  "$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -fno-strict-aliasing -fasynchronous-unwind-tables -I"$TOP" -O1 -g -fsanitize=thread -I"$TOP/runtime" \
    -I"$TOP/samples/common" -isystem "$LLVM/include" -B"$LLVM/bin/" -fuse-ld=lld -no-pie -rdynamic -o "$1" "$sources"/{main,jit}.c \
    "$TOP"/samples/common/{bounds,copier,numbers,options,die}.c "$TOP"/samples/common/{heap_allocate,managed_call}.S \
    "$programs/jit.d/managed.o" "$TOP"/format/*.c "$TOP"/elf/*.c "$TOP"/runtime/*.c "$TOP"/runtime/unwind/*.c \
    -pthread -L"$LLVM/lib" -Wl,-rpath,"$LLVM/lib" -lLLVM
}
build_for_threads watched-raw 2>log || skip "no thread sanitizer: $(tail -n 1 log)"
expect_status 0 "$stackpack" pack --always -o watched watched-raw
export TSAN_OPTIONS=halt_on_error=1:exitcode=66
for program in watched-raw watched; do
  expect_status 0 ./$program --threads 3 --functions 100 --live 32 --depth 6 --stress
done
