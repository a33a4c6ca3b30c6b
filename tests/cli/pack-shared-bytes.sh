#!/bin/bash
# Stack maps that share bytes with another PT_LOAD, at other addresses: to cut them out would change the program's data there.
# Refused, and the file stays unchanged.
. "$TOP/tests/cli/common.sh"

many_functions 60 >many.ll
compile_main main.o
compile ./many.ll many.o
for linker in lld bfd; do
  link_with $linker app main.o many.o
  python3 - app <<'PYTHON' || fail "no PT_GNU_STACK"
import struct
import sys
from pathlib import Path

sys.path.insert(0, f'{__import__("os").environ["TOP"]}/tests/cli')
from set_field import SECTION, get, section_start

PT_LOAD, PT_GNU_STACK = 1, 0x6474E551
data = bytearray(Path(sys.argv[1]).read_bytes())
page = get(data, section_start(data, ".llvm_stackmaps"), SECTION["offset"]) // 4096 * 4096 + 4096
headers = [64 + 56 * n for n in range(struct.unpack_from("<H", data, 56)[0])]
stack = [header for header in headers if struct.unpack_from("<I", data, header)[0] == PT_GNU_STACK]
struct.pack_into("<IIQQQQQQ", data, stack[0], PT_LOAD, 4, page, 0x70000000, 0x70000000, 4096, 4096, 4096)
Path(sys.argv[1]).write_bytes(data)
PYTHON
  cp app before
  expect_refusal "app: the stack maps are part of segment [0-9]+ \(type 0x1\), too" "$stackpack" pack app
  expect_same app before
done
