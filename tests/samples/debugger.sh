#!/bin/bash
# gdb's command `info roots` prints the roots that the library gives the collector, one by one: in a process and in its core,
# packed and raw, stripped, and moved (PIE). It says where a file can't be asked.
. "$TOP/tests/samples/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "the listing reads registers of x86-64"
commands=$TOP/bindings/gdb/stackpack-gdb.py
ulimit -c unlimited
PATH=$BUILD:$PATH

in_gdb() { # OUTPUT GDB-ARGUMENT...
  PYTHONDONTWRITEBYTECODE=1 gdb --batch -nx -ex 'set debuginfod enabled off' -ex "source $commands" "${@:2}" -ex "python pass" >"$1" 2>&1 </dev/null ||
    { cat "$1"; fail "gdb failed"; }
}

# The same lines as those of debugger_listing.py. (The order of a record's pairs is free.)
roots_of() { # OUTPUT of info roots all
  sed -nE 's/^#[0-9]+ +(0x[0-9a-f]+) in .*/pc \1/p
    s/^  \S+ +(0x[0-9a-f]+): (0x[0-9a-f]+)  reference$/\1 \2 \2/p
    s/^  \S+ +(0x[0-9a-f]+): (0x[0-9a-f]+)  derived from \S+ (0x[0-9a-f]+), [-+][0-9]+$/\1 \2 \3/p' "$1" |
    awk '$1 == "pc" { pc = $2; next } { print "root", pc, $0 }'
}

# ---- As the collector sees it: deep in a list, and among derived references; then the core, by each file of the program ----

strip -o stripped "$programs/semispace"
for collections in 3000 4000; do
  in_gdb process -ex 'break stack_update' -ex "ignore 1 $collections" -ex 'run --stress --size 1' -ex 'info roots all' -ex "generate-core-file core.$collections" \
    -ex delete -ex "source $TOP/tests/samples/debugger_listing.py" -ex kill "$programs/semispace"
  grep '^root ' process | sort >listed
  [[ -s listed ]] || fail "the collector lists nothing: $(<process)"
  roots_of process | sort >printed
  diff listed printed || fail "other roots than the collector lists"
  for file in "$programs/semispace" "$programs/semispace-raw" ./stripped; do
    in_gdb from_core -ex 'info roots all' "$file" core.$collections
    roots_of from_core | sort >printed
    diff listed printed || fail "other roots than the collector lists"
    grep -q 'managed frames with .*; the walk ends at the outermost frame$' from_core || fail "$file: another end: $(<from_core)"
  done
done
(($(grep -c . listed) == 4 && $(awk '$4 != $5' listed | grep -c .) == 2)) || fail "no derived references: $(<listed)"

# The selected frame; a native one.
in_gdb output -ex 'frame function arrays_run' -ex 'stackpack frame' -ex 'info roots' -ex 'frame 0' -ex 'info roots' "$programs/semispace" core.4000
[[ $(grep -c ' in arrays_run: a statepoint, 4 roots$' output) == 2 ]] || fail "not the selected frame: $(<output)"
grep -q ' in stack_update: native' output || fail "no native frame: $(<output)"

# ---- A broken stack: where gdb guesses, and a root that refers to nothing ----

# shellcheck disable=SC2016 # of gdb
in_gdb output -ex 'break stack_update' -ex 'ignore 1 3000' -ex 'run --stress --size 1' -ex 'frame 8' -ex 'set *(long *)($sp + 8) = 119' \
  -ex 'frame 20' -ex 'set *(long *)($sp - 8) = 4660' -ex 'info roots all' -ex kill "$programs/semispace"
grep -q '0x77  reference  (implausible: no memory there)$' output || fail "a plausible root: $(<output)"
grep -q '^#20 .*0x1234 in .*: in no file' output || fail "frames beyond a broken one count as sure: $(<output)"

# ---- Unusable files, a line each ----

in_gdb output -ex 'info roots all 9' -ex 'info roots some' "$programs/semispace" core.4000
grep -qx "no thread 9" output || fail "a thread that isn't there: $(<output)"
grep -qxF 'Usage: info roots [all [THREAD]]' output || fail "wrong words: $(<output)"
in_gdb output -ex 'info roots'
grep -qx 'no process or core' output || fail "roots of nothing: $(<output)"
in_gdb output -ex 'info roots all' "$programs/semispace-O0" core.4000
grep -q 'semispace-O0: another build than the one in memory$' output || fail "another build: $(<output)"
grep -q ' unknown, there may be roots; ' output || fail "frames of another build count as native: $(<output)"
for change in "file shoff" "section .note.gnu.build-id offset" "section .note.gnu.build-id size"; do
  cp "$programs/semispace" broken && set_field broken "$change" 18446744073709551615
  in_gdb output -ex 'info roots all' broken core.4000
  ! grep -q Traceback output || fail "$change: $(<output)"
  grep -q '; the walk ' output || fail "$change: no end: $(<output)"
done
PATH=/usr/bin:/bin in_gdb output -ex 'info roots all' "$programs/semispace" core.4000
grep -q "^stackpack: the command stackpack doesn't run: " output || fail "no command: $(<output)"

# ---- A position-independent program, packed and stripped ----

compile_main main.o -fPIE
compile list list.o -relocation-model=pic
link_with lld raw main.o list.o -pie -Wl,-z,notext
expect_status 0 "$stackpack" pack --always -o packed raw
strip -o packed.stripped packed
in_gdb process -ex 'break collect' -ex run -ex 'info roots all' -ex 'generate-core-file core' -ex kill packed
without_names() { sed -nE 's/^(#[0-9]+ +0x[0-9a-f]+) in .*(: a statepoint)/\1\2/p; /^  \[/p' "$1"; }
without_names process >named
grep -q '^#.*: a statepoint, [1-9].* root' named || fail "no roots: $(<process)"
in_gdb output -ex 'info roots all' packed.stripped core
without_names output >nameless
expect_same named nameless
