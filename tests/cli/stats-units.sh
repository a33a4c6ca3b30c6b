#!/bin/bash
# `stats` takes each function's compilation unit from debug information, of DWARF 4 and 5; else from the symbol table; in
# stripped files units are unknown. Broken debug information costs the names of units alone.
. "$TOP/tests/cli/common.sh"

mkdir -p src/one src/two
cat >src/one/first.c <<'C'
void collect(void);
static __attribute__((noinline)) long inner(long n) { collect(); return n + 1; }
__attribute__((noinline)) long first(long n) { collect(); n = inner(n); collect(); return n; }
static __attribute__((noinline)) long outer(long n) { collect(); return n + first(n); }
long first_entry(long n) { return outer(n); }
C
sed 's/first/second/g; s/inner/inner/' src/one/first.c >src/two/second.c
cat >src/run.c <<'C'
#include <stdint.h>
long first_entry(long n), second_entry(long n);
void collect(void);
static __attribute__((noinline)) long both(long n) { collect(); return first_entry(n) + second_entry(n); }
int64_t run(int64_t n) { collect(); n = both(n); collect(); return n; }
C

build() { # OUTPUT OPTION
  local file objects=()
  for file in one/first two/second run; do
    compile_managed "src/$file.c" "${file##*/}.o" "$2"
    objects+=("${file##*/}.o")
  done
  [[ -e main.o ]] || compile_main main.o
  link_with lld "$1" main.o "${objects[@]}"
}

expect_units() { # FILE PYTHON-DICTIONARY of functions' units
  expect_status 0 "$stackpack" stats --format=json "$1"
  python3 - "$2" <<'PYTHON' || fail "$1: other units"
import json, sys
stats = json.load(open("out"))
found = {}
for function in stats["functions"]:
    found.setdefault(function["name"], set()).add(function["unit"])
expected = eval(sys.argv[1])
assert found == expected, found
assert {unit["name"] for unit in stats["units"]} == set.union(*expected.values())
PYTHON
}
named='{"first": {"one/first.c"}, "second": {"two/second.c"}, "inner": {"one/first.c", "two/second.c"},
  "first_entry": {"one/first.c"}, "second_entry": {"two/second.c"}, "outer": {"one/first.c", "two/second.c"},
  "both": {"run.c"}, "run": {"run.c"}}'
for option in -gdwarf-4 -gdwarf-5 -gline-tables-only; do
  build app $option
  expect_units app "$named"
  "$stackpack" pack --quiet app
  expect_units app "$named"
done
[[ ! -s err ]] || fail "a warning: $(<err)"

# Without debug information: the local functions, and functions between two local ones of one file.
build app -g0
expect_units app '{"first": {None}, "second": {None}, "inner": {"first.c", "second.c"}, "first_entry": {"first.c"},
  "second_entry": {"second.c"}, "outer": {"first.c", "second.c"}, "both": {"run.c"}, "run": {None}}'
"$LLVM/bin/llvm-objcopy" --strip-all app bare
expect_units bare '{None: {None}}'
expect_status 0 "$stackpack" stats bare
! grep -q 'compilation unit' out || fail "there is no unit to tell of"

build app -g
# Broken: even if the reader fails, the sums are there.
for section in .debug_line .debug_info .debug_abbrev .debug_str; do
  offset=$(section_offset app $section) size=$(section_size app $section)
  for step in 3 7 64; do
    sampled 3 || continue
    cp app broken
    python3 - "$offset" "$size" $step <<'PYTHON'
import sys
offset, size, step = map(int, sys.argv[1:])
data = bytearray(open("broken", "rb").read())
for i in range(offset + step, offset + size, step):
    data[i] ^= 0xA5 + i % 7
open("broken", "wb").write(data)
PYTHON
    expect_status 0 "$stackpack" stats --format=json broken
    [[ ! -s err ]] || only_line_matches 'broken: warning: .*; some functions. compilation units are missing$' err || fail "it says: $(<err)"
    python3 "$TOP/tests/cli/stats_sums.py" out broken "$(section_size app .llvm_stackmaps)" || fail "wrong sums"
  done
done

# Or unreadable.
expect_status 0 bash -c 'ulimit -n 4; exec "$@"' - "$stackpack" stats --format=json app
only_line_matches "app: warning: debug information can't be read: Too many open files; some" err || fail "it says: $(<err)"
