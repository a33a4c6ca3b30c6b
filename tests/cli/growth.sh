#!/bin/bash
# Work stays in proportion to a file's size: twice as much of a structure, twice as many instructions. (`make grow` tries
# more kinds and sizes, and memory.)
. "$TOP/tests/cli/common.sh"

command -v valgrind >/dev/null || skip "no valgrind"
# Valgrind can't run a program that has sanitizers.
if [[ -z $(library_flags) ]]; then python3 "$TOP/tests/growth/grow.py" --short "$stackpack"; fi

# One line names the table that refers to the same bytes again.
PYTHONPATH=$TOP/tests/growth python3 - <<'END'
import kinds
for kind in ("symbols-one-name", "sections-one-name", "relocations-one-table", "version-needs", "bit-maps-full", "unwind-one-call-table", "map-sections"):
    kinds.KINDS[kind](1 << 16).write(kind)
END
expect_refusal 'symbols-one-name: names of symbols that lead to more than 4 times the file' "$stackpack" dump symbols-one-name
expect_refusal 'sections-one-name: names of sections that lead to more' "$stackpack" stats sections-one-name
expect_refusal 'relocations-one-table: section headers that lead to more' "$stackpack" pack -o packed relocations-one-table
expect_refusal 'version-needs: version needs that lead to more' "$stackpack" callgraph version-needs
expect_refusal 'bit-maps-full: relative relocations that lead to more' "$stackpack" callgraph bit-maps-full
expect_refusal 'bit-maps-full: relative relocations that lead to more' "$stackpack" pack -o packed bit-maps-full
expect_refusal 'map-sections: more than 64 sections .llvm_stackmaps' "$stackpack" dump map-sections
expect_refusal 'unwind-one-call-table: unwind entries that lead to more' "$stackpack" callgraph unwind-one-call-table
