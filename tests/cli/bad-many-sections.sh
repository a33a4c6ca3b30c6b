#!/bin/bash
# 20,000 section headers for the same stack maps: refused, and not read 20,000 times. FIFOs: opening one would block.
. "$TOP/tests/cli/common.sh"

read -ra flags <<<"$(library_flags)"
many_functions 60 >many.ll
make_program lld app ./many.ll
python3 - app <<'PYTHON'
import struct, sys

data = bytearray(open(sys.argv[1], "rb").read())
offset, = struct.unpack_from("<Q", data, 40)
size, count, names = struct.unpack_from("<HHH", data, 58)
headers = [bytes(data[offset + i * size : offset + (i + 1) * size]) for i in range(count)]
table = struct.unpack_from("<QQ", headers[names], 24)
text = bytes(data[table[0] : sum(table)])
maps = next(h for h in headers if text[struct.unpack_from("<I", h)[0] :].startswith(b".llvm_stackmaps\0"))
struct.pack_into("<Q", data, 40, len(data))
struct.pack_into("<H", data, 60, 20000)
open("many", "wb").write(data + b"".join(headers) + maps * (20000 - count))
PYTHON
cat >reader.c <<'C'
#include "stackpack.h"
#include <stdio.h>
int main(int argc, char **argv) {
  struct stackpack_file file;
  return argc == 2 ? puts(stackpack_error_text(stackpack_file_open(&file, argv[1]))) < 0 : 1;
}
C
"$LLVM/bin/clang" -I"$TOP/runtime" "${flags[@]}" -o reader reader.c "$BUILD/libstackpack.a" -lpthread
expect_status 0 within 5 ./reader many
expect_output "^(not a little-endian ELF64 file|stack maps that break)"
for command in dump "stats" "pack --always -o out"; do
  # shellcheck disable=SC2086 # a list of words
  expect_refusal 'many: ' within 5 "$stackpack" $command many
done

mkfifo fifo
expect_status 0 within 5 ./reader fifo
expect_output "^not a little-endian ELF64 file"
expect_refusal 'fifo: ' within 5 "$stackpack" dump fifo
expect_refusal 'fifo: a FIFO' within 5 "$stackpack" pack --policy=fifo -o out app
