#!/bin/bash
# Records come by address, for each order of the object files and of the functions in memory.
. "$TOP/tests/cli/common.sh"

compile_main main.o
many_functions 20 >many.ll
sed 's/@run/@unused/' many.ll >unused.ll
compile ./unused.ll many.o
compile list list.o
for linker in lld bfd; do
  link_with $linker one main.o list.o many.o
  link_with $linker other main.o many.o list.o
  for program in one other; do
    pack_and_compare $program packed
    mv packed.json $program.json
    expect_records $program.json <<'PYTHON'
assert len(records) == 20 * 10 + 1 + 8
addresses = [record["address"] for record in records]
assert addresses == sorted(addresses) and len(set(addresses)) == len(addresses)
PYTHON
  done
done
