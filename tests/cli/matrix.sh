#!/bin/bash
# Every linker, with every kind of file and the options that change a file's layout, on this machine. The table of it all
# is written to $BUILD/matrix.md (see tests/MATRIX.md).
. "$TOP/tests/matrix/cells.sh"

run_machine "$(uname -m)" | tee "$BUILD/matrix.md"
