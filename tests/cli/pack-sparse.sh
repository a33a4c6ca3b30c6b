#!/bin/bash
# Code that is dense at first and sparse at its end: the last record is alone in its piece of the text, far from a
# function with very many, and its function shares a layout with another one. All records are found.
. "$TOP/tests/cli/common.sh"

sparse() { # CALLS ALIGNMENT
  awk -v calls="$1" -v alignment="$2" 'BEGIN {
    print "declare void @collect()"
    print "declare ptr addrspace(1) @allocate(i64)"
    print "define i64 @run(i64 %n) gc \"statepoint-example\" {"
    print "  %o = call ptr addrspace(1) @allocate(i64 8)"
    for (i = 0; i < calls; i++) print "  call void @collect()"
    print "  store i64 1, ptr addrspace(1) %o\n  ret i64 %n\n}"
    for (f = 1; f <= 2; f++)
      printf "define void @alike%d() align %d gc \"statepoint-example\" {\n  call void @collect()\n  ret void\n}\n",
        f, alignment
  }'
}

for calls in 10 100 300 1000; do
  for alignment in 16 1024 8192; do
    sparse "$calls" "$alignment" >sparse.ll
    make_program lld sparse ./sparse.ll
    expect_status 0 "$stackpack" pack --always -o packed sparse
    expect_status 0 "$stackpack" verify sparse packed
    expect_status 0 python3 "$TOP/tests/oracle/packed_decoder.py" --compare="$stackpack" --check-look-ups=50 packed
  done
done
