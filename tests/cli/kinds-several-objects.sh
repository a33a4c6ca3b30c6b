#!/bin/bash
# Every object file brings a stack map of its own, and the linker lays them one after another; the functions of all of
# them are there. The same with padding between them, where the sections are aligned to more than they need.
. "$TOP/tests/cli/common.sh"

compile_main main.o
compile list list.o
for sample in deopt pairs frames patchpoints; do
  sed "s/@run/@run_$sample/" "$samples/$sample.ll" >$sample.ll
  compile ./$sample.ll $sample.o
done
objects=(main.o pairs.o list.o patchpoints.o deopt.o frames.o)
for alignment in 8 64 512; do
  for object in "${objects[@]:1}"; do objcopy --set-section-alignment .llvm_stackmaps=$alignment $object; done
  for linker in lld bfd; do
    link_with $linker app "${objects[@]}"
    (($(section_size app .llvm_stackmaps) >= alignment * 4)) || fail "the section isn't aligned to $alignment"
    pack_and_compare app packed
    expect_records packed.json <<'PYTHON'
assert len(records) == 5 + 8 + 10 + 5 + 8
for function in ("sum", "run_deopt", "values", "with_base", "objects", "maps"):
    assert of(function), function
PYTHON
  done
done
