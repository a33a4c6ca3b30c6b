#!/bin/bash
# `dump` can be asked for functions, by names and patterns in the linker's form or the language's, and for addresses.
. "$TOP/tests/cli/common.sh"

cat >names.cc <<'END'
extern "C" void collect();
namespace heap {
struct Table {
  void insert(int);
  template <typename T> void each(T);
};
__attribute__((noinline)) void Table::insert(int) { collect(); collect(); }
template <typename T> __attribute__((noinline)) void Table::each(T) { collect(); collect(); }
template void Table::each<long>(long);
} // namespace heap
extern "C" void plain() { collect(); collect(); }
extern "C" long run(long n) { heap::Table().insert(1); heap::Table().each(n); plain(); return n; }
END
compile_managed names.cc names.o -x c++
cat >rust.ll <<'END'
declare void @collect()
define void @_RNvC7mycrate4grow() gc "statepoint-example" {
  call void @collect()
  call void @collect()
  ret void
}
define void @_ZN7mycrate4main17h0123456789abcdefE() gc "statepoint-example" {
  call void @_RNvC7mycrate4grow()
  ret void
}
END
compile ./rust.ll rust.o
compile_main main.o
link_with lld app main.o names.o rust.o
dump_json app >all.json

expect_functions() { # EXPECTED-NAMES OPTION...
  expect_status 0 "$stackpack" dump --format=json "${@:2}" app
  mv out some.json
  grep -oE '"function":"[^"]*"' some.json | uniq | cut -d '"' -f 4 | sort | paste -s -d ' ' >names
  [[ $(<names) == "$1" ]] || fail "${*:2}: $(<names), not $1"
  # Each is printed as a whole, and as in the dump of all.
  for name in $1; do grep -F "\"function\":\"$name\"" all.json; done | sort >expected
  sort some.json | diff expected - || fail "${*:2}: other records"
}

insert=_ZN4heap5Table6insertEi each=_ZN4heap5Table4eachIlEEvT_
expect_functions plain --function=plain
expect_functions $insert --function=$insert
expect_functions $insert --function='heap::Table::insert(int)'
expect_functions $insert --function=heap::Table::insert
expect_functions "$each $insert" --function='heap::*'
expect_functions "$insert plain" --function=plain --function=heap::Table::insert
expect_functions _RNvC7mycrate4grow --function=mycrate::grow
expect_functions _ZN7mycrate4main17h0123456789abcdefE --function=mycrate::main
expect_refusal "app: no function with records is called 'lain'" "$stackpack" dump --function=lain app

# A function has several names: aliases, and functions that a linker folded with it. Any of them means it.
cat >alias.c <<'END'
void collect(void);
void named_second(void) { collect(); collect(); }
void named_first(void) __attribute__((alias("named_second")));
static void named_third(void) __attribute__((alias("named_second"), used));
END
compile_managed alias.c alias.o
link_with lld aliases main.o names.o alias.o
for name in named_first named_second named_third 'named_t*'; do
  for file in aliases alias.o; do
    expect_status 0 "$stackpack" dump --format=json --function="$name" $file
    [[ $(grep -c '"function":"named_first"' out) == 2 && $(wc -l <out) == 2 ]] || fail "$name in $file: $(<out)"
  done
  [[ $name == *'*' ]] || expect_status 1 "$stackpack" lookup alias.o "$name+0x0"
done

# In text, names are their programmers'.
expect_status 0 "$stackpack" dump app
expect_output '^0x[0-9a-f]+ heap::Table::insert\(int\), a frame of '
expect_output '^0x[0-9a-f]+ void heap::Table::each<long>\(long\), '
expect_output '^0x[0-9a-f]+ mycrate::grow, '
expect_output '^0x[0-9a-f]+ plain, '

# Addresses: of a record, of a place in a function, and ranges.
read -r first second start < <(python3 - <<'PYTHON'
from records import *
load("all.json")
a, b = of("plain")
print(a["address"], b["address"], a["function_address"])
PYTHON
)
for address in "$first" "$(printf '0x%x' "$first")"; do
  expect_status 0 "$stackpack" dump --format=json --address="$address" app
  [[ $(wc -l <out) == 1 ]] || fail "$(wc -l <out) records at $address"
  grep -q "^{\"address\":$first," out || fail "another record"
done
expect_functions plain --address="$start"
expect_functions plain --address="$(printf '0x%x' $((first + 1)))"
expect_functions plain --address="$first-$second"
expect_functions "$insert plain" --address="$first-$second" --function=$insert
expect_status 0 "$stackpack" dump --format=json --address="$((first + 1))-$second" app
[[ $(wc -l <out) == 1 ]] || fail "$(wc -l <out) records"
expect_refusal 'app: no record at 16, ' "$stackpack" dump --address=16 app
expect_refusal 'app: no record in 0x1-0x20, ' "$stackpack" dump --address=0x1-0x20 app
expect_refusal "'plain' is no address .*, and no place in an object, as FUNCTION.0x12" "$stackpack" dump --address=plain app
