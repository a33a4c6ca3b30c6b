#!/bin/bash
# A core dump of a packed program can be looked into, with the packed file beside it: a crash analyser's backtrace.
. "$TOP/tests/cli/common.sh"

make_program lld app list
mkdir raw packed
mv app raw/app
expect_status 0 "$stackpack" pack -o packed/app raw/app
for folder in raw packed; do
  (
    cd $folder
    gdb --batch -nx -ex 'set debuginfod enabled off' -ex 'break collect' -ex run -ex 'generate-core-file core' -ex kill \
      app >make.log 2>&1
    gdb --batch -nx -ex 'set debuginfod enabled off' -ex backtrace app core 2>&1 | grep '^#' >backtrace
  )
done
expect_same raw/backtrace packed/backtrace
grep -qE '^#1 .* in sum ' packed/backtrace || fail "no backtrace: $(<packed/backtrace)"
