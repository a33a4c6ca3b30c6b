#!/bin/bash
# Headers that lie about the call graph's input: each run ends by itself; a refusal is one line.
. "$TOP/tests/cli/common.sh"

make_gc_program app "$LLVM/bin/clang" "-O2 -fno-pie" lld
mkdir files
python3 - <<'PYTHON'
from set_field import changed

with open("app", "rb") as file:
    data = file.read()
sections = ".dynsym", ".dynstr", ".dynamic", ".rela.plt", ".gnu.version", ".gnu.version_r", ".eh_frame", ".text", ".plt", ".got.plt", ".symtab"
for section in sections:
    for name in "type", "addr", "offset", "size", "link", "entsize":
        for value in "0", "1", str(2**63 - 1), "-1":
            field = f"section {section} {name}"
            with open(f"files/{field} = {value}", "wb") as file:
                file.write(changed(data, field, value))
PYTHON
for file in files/*; do
  status=0
  within 10 "$stackpack" callgraph "$file" >out 2>err || status=$?
  ((status == 0)) || { ((status == 2)) && [[ $(wc -l <err) == 1 ]]; } || { cat err >&2; fail "exit status $status: $file"; }
  ! grep -qE 'Sanitizer|runtime error' err || { cat err >&2; fail "$file"; }
done
expect_refusal '.*names a symbol that isn' "$stackpack" pack --always --gc-entry=collect -o out "files/section .dynsym type = 1"
