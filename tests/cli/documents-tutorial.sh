#!/bin/bash
# The tutorial, unchanged: its files are written, its commands run, and they print its output.
. "$TOP/tests/cli/common.sh"

install_tree
export PATH=$LLVM/bin:$PATH
mapfile -t flags < <(library_flags)
((${#flags[@]} == 0)) || skip "the installed library has sanitizers, and the tutorial's programs haven't"
python3 "$TOP/tests/cli/documents.py" "$TOP/doc/tutorial.md"
