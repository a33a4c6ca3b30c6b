#!/bin/bash
# The trace sample, stripped, prints the positions that llvm-symbolizer finds. A program without positions says why. (For other
# machines: machines.sh.)
. "$TOP/tests/samples/common.sh"

check_trace "$BUILD" strip
