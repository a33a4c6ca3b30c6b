#!/bin/bash
# gdb's command `info roots` prints the roots that the library gives the collector, one by one: in a process and in its core,
# packed and raw, stripped, and moved (PIE). It says where a file can't be asked. Backtraces have managed frames marked.
. "$TOP/tests/samples/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "the listing reads registers of x86-64"
ulimit -c unlimited

# ---- As the collector sees it, in each sample; then the core, by the stripped program and by others ----

# Stops at the start of a collection, or of another walk, which ends at the function LAST. There are so many frames, roots and derived
# references at least.
expect_roots() { # SAMPLE LEAST FUNCTION HITS LAST OPTION...
  local core=core.$1.$4 file files=(./stripped)
  [[ $1 != semispace ]] || files+=("$programs/semispace" "$programs/semispace-raw")
  LAST=$5 in_gdb process -ex "break $3" -ex "ignore 1 $4" -ex "run ${*:6}" -ex 'thread apply all info roots all' -ex "generate-core-file $core" \
    -ex delete -ex "source $TOP/tests/samples/debugger_listing.py" -ex kill "$programs/$1"
  take_listing process "$1" "$2"
  expect_listed process
  strip -o stripped "$programs/$1"
  for file in "${files[@]}"; do
    in_gdb from_core -ex 'thread apply all info roots all' "$file" "$core"
    expect_listed from_core
  done
}

expect_roots semispace "10 10 0" copier_start 3000 copier_finish --stress --size 1 # deep in a list
expect_roots semispace "1 4 2" copier_start 4000 copier_finish --stress --size 1
expect_roots handles "3 3 0" copier_start 200 copier_finish --stress --size 20 --levels 7
expect_roots threads "4 4 0" copier_start 100 copier_finish --stress --lists 4 --length 12
expect_roots fibers "1 1 0" copier_start 100 copier_finish --stress --fibers 10 --size 8
expect_roots deopt "1 0 0" stackpack_unwinder_call 30 return_to
expect_roots deopt-O0 "2 0 0" stackpack_unwinder_call 30 return_to
expect_roots trace "3 0 0" exception_throw_at 0 stackpack_process_close "'+ 1 / 6 - 2 2'"

# Suspended fibers: `info roots at` their contexts.
expect_suspended_roots() { # LEAST HITS
  local file
  LAST=copier_finish in_gdb process -ex 'break copier_start' -ex "ignore 1 $2" -ex 'run --stress --fibers 10 --size 8' "${suspended[@]}" \
    -ex 'generate-core-file core.fibers' -ex delete -ex "source $TOP/tests/samples/debugger_listing.py" -ex kill "$programs/fibers"
  take_suspended process "$1"
  strip -o stripped "$programs/fibers"
  for file in ./stripped "$programs/fibers-raw"; do
    in_gdb from_core -ex 'source commands' "$file" core.fibers
    expect_suspended from_core
  done
}
expect_suspended_roots "30 20 0" 600 # in the midst of a recursion
expect_suspended_roots "10 20 8" 2500 # with derived references

# A context's expressions; the selected frame stays. Contexts without a stack.
# shellcheck disable=SC2016 # of gdb
in_gdb output -ex 'up 2' -ex 'info roots at $pc "$sp + 0" rbp=$rbp' -ex frame "$programs/fibers" core.fibers
[[ $(grep -c '^#2 .* in copier_allocate ' output) == 2 ]] || fail "another frame is selected: $(<output)"
grep -qE 'managed frames with [1-9][0-9]* roots, .*; the walk ends at the outermost frame$' output || fail "no roots: $(<output)"
for context in "0 0" "4 5" "$(awk '{ print $4 }' commands | head -n 1) 5" "-1 -1"; do
  in_gdb output -ex "info roots at $context" "$programs/fibers" core.fibers
  grep -q ' managed frames with .*; the walk ' output || fail "at $context: no end: $(<output)"
  ! grep -qE 'Traceback|Python Exception|; the walk ends at the outermost' output || fail "at $context: $(<output)"
done
in_gdb output -ex 'info roots at 1' -ex 'info roots at 1 2 r99=3' -ex 'info roots at 1 2 rbp' -ex 'info roots at 1 2 rip=3' "$programs/fibers" core.fibers
grep -q '^Usage: info roots ' output || fail "a context without a stack pointer: $(<output)"
[[ $(grep -c '^not REGISTER=VALUE with another register of this machine: ' output) == 3 ]] || fail "wrong registers: $(<output)"

# ---- Backtraces: managed frames are marked; names and places come from the table where debug information is gone ----

strip -o stripped "$programs/trace"
"$programs/trace" '+ 1 / 6 - 2 2' | sed -nE 's/^(#[0-9]+| +\(inlined into) +(\S+ at [^)]*).*/\2/p' >expected
in_gdb output -ex backtrace -ex 'backtrace 2' -ex 'backtrace -no-filters' -ex 'disable frame-filter global stackpack' -ex backtrace stripped core.trace.0
sed -nE 's/^(#[0-9]+ +\S+ in|   ) (\S+) \[managed\] \(\)/\2/p' output >shown
diff <(cat expected; grep -m 4 . expected) shown || fail "another backtrace than the program's own: $(<output)"
[[ $(grep -c '^#0 .* in ?? ()$' output) == 5 ]] || fail "frames without a name: $(<output)"
in_gdb output -ex backtrace "$programs/trace" core.trace.0
sed -nE 's/^#[0-9]+ +(\S+ in )?(\S+) \[managed\] \(.*\) at (.*)/\2 at \3/p' output | diff expected - || fail "by debug information: $(<output)"
grep -qE '^#[0-9]+ .* in main \(argc' output || fail "no native frame: $(<output)"
in_gdb output -ex 'info roots all' -ex 'info frame-filter' -ex 'break main' -ex run -ex 'info frame-filter' -ex kill "$programs/semispace-plain"
grep -q '^  100 *No *stackpack' output || fail "a filter without stack maps: $(<output)"
PATH=/usr/bin:/bin in_gdb output -ex backtrace "$programs/trace" core.trace.0
grep -qE '^#[0-9]+ .* in calculate \(' output || fail "no backtrace without the command: $(<output)"

# The selected frame; a native one.
in_gdb output -ex 'frame function arrays_run' -ex 'stackpack frame' -ex 'info roots' -ex 'frame 0' -ex 'info roots' "$programs/semispace" core.semispace.4000
[[ $(grep -c ' in arrays_run: a statepoint, 4 roots$' output) == 2 ]] || fail "not the selected frame: $(<output)"
grep -q ' in copier_start: native' output || fail "no native frame: $(<output)"

# ---- A broken stack: where gdb guesses, and a root that refers to nothing ----

# shellcheck disable=SC2016 # of gdb
in_gdb output -ex 'break stack_update' -ex 'ignore 1 3000' -ex 'run --stress --size 1' -ex 'frame 8' -ex 'set *(long *)($sp + 8) = 119' \
  -ex 'frame 20' -ex 'set *(long *)($sp - 8) = 4660' -ex 'info roots all' -ex kill "$programs/semispace"
grep -q '0x77  reference  (implausible: no memory there)$' output || fail "a plausible root: $(<output)"
grep -q '^#20 .*0x1234 in .*: in no file' output || fail "frames beyond a broken one count as sure: $(<output)"
grep -q ', [1-9][0-9]* unknown, there may be roots; the walk ' output || fail "no doubt: $(<output)"

# ---- Unusable files, a line each ----

in_gdb output -ex 'info roots all 9' -ex 'info roots some' -ex 'stackpack frame 2' "$programs/semispace" core.semispace.4000
grep -qx "no thread 9" output || fail "a thread that isn't there: $(<output)"
grep -qxF 'Usage: info roots [all [THREAD] | at PC SP [REGISTER=VALUE]...]' output || fail "wrong words: $(<output)"
[[ $(grep -c '^#' output) == 1 ]] && grep -q '^Usage: stackpack frame; ' output || fail "another frame than the one that was asked for: $(<output)"
in_gdb output -ex 'info roots'
grep -qx 'no process or core' output || fail "roots of nothing: $(<output)"
in_gdb output -ex 'info roots all' "$programs/semispace-O0" core.semispace.4000
grep -q 'semispace-O0: another build than the one in memory$' output || fail "another build: $(<output)"
grep -q ' unknown, there may be roots; ' output || fail "frames of another build count as native: $(<output)"
for change in "file shoff" "section .note.gnu.build-id offset" "section .note.gnu.build-id size"; do
  cp "$programs/semispace" broken && set_field broken "$change" 18446744073709551615
  in_gdb output -ex 'info roots all' broken core.semispace.4000
  ! grep -q Traceback output || fail "$change: $(<output)"
  grep -q '; the walk ' output || fail "$change: no end: $(<output)"
done
PATH=/usr/bin:/bin in_gdb output -ex 'info roots all' "$programs/semispace" core.semispace.4000
grep -q "^stackpack: the command stackpack doesn't run: " output || fail "no command: $(<output)"

# ---- Names that aren't text for gdb: backtraces are as without the filter, and marked where that is possible ----

expect_name() { # NAME-IN-IR SHOWN-IN-LOCALE-C SHOWN
  local locale shown=$2
  sed "s/@sum(/@\"$1\"(/g" "$samples/list.ll" >named.ll
  make_program lld named ./named.ll
  for locale in C C.UTF-8; do
    LC_ALL=$locale in_gdb output -ex 'break collect' -ex run -ex backtrace -ex 'info roots all' -ex kill named
    grep -qE "^#1 .* in $shown \[managed\] \(\) at " output || fail "$locale: $1 isn't marked: $(<output)"
    grep -qE '^2 managed frames with [1-9]' output || fail "$locale: no roots: $(<output)"
    ! grep -E 'Python|codec' output || fail "$locale: $1: $(<output)"
    shown=$3
  done
}
expect_name 's\\C3\\BCm' 's\\xfcm' 'süm'
expect_name 's\\FFm' 's\\xffm' 's\\xffm'
mkdir sümme
cp named sümme
for locale in C C.UTF-8; do
  LC_ALL=$locale in_gdb output -ex 'break collect' -ex run -ex 'backtrace 3' -ex 'info roots all' -ex 'set host-charset UTF-8' -ex 'info roots all' -ex kill sümme/named
  ! grep -E 'Python|codec' output || fail "$locale: a file's name: $(<output)"
  grep -qE '^2 managed frames with [1-9]' output || fail "$locale: no roots with the character set of the file's name: $(<output)"
  [[ $locale != C ]] || grep -q "^stackpack: a file's name is no text in gdb's character set ANSI.*: see .set host-charset.$" output ||
    fail "the character set isn't named: $(<output)"
done

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
