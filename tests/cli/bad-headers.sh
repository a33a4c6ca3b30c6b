#!/bin/bash
# Headers that lie: the tool survives every value of a field, and a refused file stays unchanged.
. "$TOP/tests/cli/common.sh"

make_program bfd app list
mkdir files
python3 - <<'PYTHON'
from set_field import changed

with open("app", "rb") as file:
    data = file.read()
section = [f"section .llvm_stackmaps {name}" for name in ("name", "type", "addr", "offset", "size")]
symbols = [f"section .symtab {name}" for name in ("offset", "size", "link", "entsize")]
names = [f"section .shstrtab {name}" for name in ("offset", "size")]
segments = [f"segment {n} {name}" for n in (0, 2) for name in ("offset", "vaddr", "filesz", "memsz", "align")]
header = [f"file {name}" for name in ("phoff", "shoff", "phentsize", "phnum", "shentsize", "shnum", "shstrndx")]
for field in header + section + symbols + names + segments:
    for value in ("0", "1", "7", str(len(data) - 1), str(2**63 - 1), str(2**64 - 4096), "-1", "+1"):
        with open(f"files/{field} = {value}", "wb") as file:
            file.write(changed(data, field, value))
PYTHON

for file in files/*; do
  cp "$file" before
  status=0
  within 20 "$stackpack" pack "$file" >out 2>err || status=$?
  if ((status == 2)); then
    only_line_matches "^stackpack: files/" err || fail "$file: not one line: $(<err)"
    expect_same "$file" before
  else
    ((status == 0)) || fail "$file: exit status $status: $(<err)" # 0: nothing that packing needs
  fi
done
