#!/bin/bash
# Prints the prefix (such as /usr/lib/llvm-22) of the newest installed LLVM, 18 or newer, that has clang, llc and opt.
# Where all are missing, it fails with a line on stderr, and an empty stdout.
set -eu

for prefix in $(printf '%s\n' /usr/lib/llvm-* | sort --version-sort --reverse); do
  version=${prefix##*-}
  if [[ $version =~ ^[0-9]+$ ]] && ((version >= 18)) && [[ -x $prefix/bin/clang && -x $prefix/bin/llc && -x $prefix/bin/opt ]]; then
    echo "$prefix"
    exit 0
  fi
done
echo "find-llvm.sh: no LLVM 18 or newer with clang, llc and opt in /usr/lib (see install-deps.sh)" >&2
exit 1
