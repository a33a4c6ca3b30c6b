#!/bin/bash
# Managed code calls C, and C calls managed code: every example of a collector, in the documents and in samples/builds, stops
# there, or walks past it. None takes the frame of C for the stack's end. Unpacked and packed.
. "$TOP/tests/cli/common.sh"

export PATH=$LLVM/bin:$PATH
mapfile -t flags < <(library_flags)
((${#flags[@]} == 0)) || skip "the library has sanitizers, and the programs haven't"
[[ $(uname -m) == x86_64 ]] || skip "knows x86-64's stack only"
ulimit -c 0

build() { # NAME FILE...: of IR and C
  local name=$1
  shift
  clang -O2 -fno-omit-frame-pointer -no-pie -I"$TOP/runtime" -o "$name" "$@" "$BUILD/libstackpack.a" 2>log ||
    { cat log >&2; fail "can't build $name"; }
  expect_status 0 "$stackpack" pack --always --quiet -o "$name-packed" "$name"
}
statepoints() { # NAME: NAME.ll -> NAME.o
  opt -passes='function(mem2reg),rewrite-statepoints-for-gc' "$1.ll" -o "$1.bc"
  llc -O2 -filetype=obj "$1.bc" -o "$1.o"
}
expect_stop() { # NAME TEXT
  local program
  for program in "$1" "$1-packed"; do
    expect_status 134 "./$program"
    only_line_matches "^the walk stopped: $2\$" err || fail "$program: $(<err)"
  done
}
expect_result() { # NAME RESULT
  local program
  for program in "$1" "$1-packed"; do
    expect_status 0 "./$program"
    expect_output "^$2\$"
  done
}
native='native code; frames above it were not looked at'

# ---- The tutorial's collector ----
python3 - "$TOP/doc/tutorial.md" <<'PYTHON'
import re, sys
for name, body in re.findall(r"`([\w.-]+)`:\n\n```\w*\n(.*?)^```$", open(sys.argv[1]).read(), re.M | re.S):
    open(name, "w").write(body)
PYTHON
statepoints list
build nested list.o collector.c
expect_result nested 55250
mistake() { # SCRIPT TEXT
  sed "$1" collector.c >mistaken.c
  expect_different collector.c mistaken.c
  build mistaken list.o mistaken.c
  expect_stop mistaken "$2"
}
mistake 's/enter(run, n)/run(n)/' "$native"
mistake '/run_from_c/,/^}/{/LEAVE()/d;/BACK()/d}' "managed code has called C that doesn't begin with LEAVE"
mistake 's/enter(nested, 100)/nested(100)/' 'C has called managed code, and not by enter'

# ---- samples/builds ----
cp "$TOP/samples/builds/collector.c" .
llc -O2 -filetype=obj "$TOP/samples/builds/managed.ll" -o managed.o
build plain managed.o collector.c
expect_result plain 338350
{
  echo '#include <stdint.h>'
  echo 'int64_t sum_of_squares(int64_t n);'
  sed 's/return value \* value/return value == 7 ? 1 + sum_of_squares(2) : value * value/' collector.c
} >mistaken.c
build mistaken managed.o mistaken.c
expect_stop mistaken "$native"
sed 's/^int64_t square.*//' collector.c >mistaken.c
echo 'int64_t square(int64_t value) { return value == 7 ? 1 + enter(sum_of_squares, 2) : value * value; }' >>mistaken.c
build mistaken managed.o mistaken.c
for program in mistaken mistaken-packed; do expect_status 134 ./$program; done # `enter` refuses

# ---- The documents' update_stack ----
cp "$TOP/tests/cli/walk/nest.ll" .
statepoints nest
python3 - "$TOP/doc/collectors.md" "$TOP/man/stackpack.3" <<'PYTHON'
import re, sys
blocks = re.findall(r"^```c\n(.*?)^```$", open(sys.argv[1]).read(), re.M | re.S)
first, walk = (next(b for b in blocks if word in b) for word in ("start_up", "update_stack"))
open("document-1.c", "w").write(first)
open("document-2.c", "w").write(walk)
manual = re.search(r"^\.nf\n(#include <stackpack.h>.*?)^\.fi$", open(sys.argv[2]).read(), re.M | re.S).group(1)
open("manual.c", "w").write(manual.replace("\\e", "\\").replace("\\-", "-"))
PYTHON
for example in "document-1.c document-2.c" manual.c; do
  for nested in 0 1; do
    # shellcheck disable=SC2086 # a list of words
    build nest$nested nest.o -DNESTED=$nested "$TOP/tests/cli/walk/nest.c" $example
  done
  expect_result nest0 42
  expect_stop nest1 "$native"
done
