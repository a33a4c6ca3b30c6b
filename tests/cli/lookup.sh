#!/bin/bash
# `lookup` prints the runtime library's answer to each address: a record as `dump` prints it, or one of the two other
# answers; for raw and for packed files, from the command line and from standard input.
. "$TOP/tests/cli/common.sh"

check_answers() { # PROGRAM
  dump_json "$1" --source >dump.json
  # Each record's address, and addresses beside it.
  python3 - >addresses <<'PYTHON'
from records import *
load("dump.json")
addresses = {r["address"] for r in records}
near = {a + d for a in addresses for d in (-2, -1, 1)} | {0, 1, 2**64 - 1}
print(*(hex(a) for a in sorted(addresses | near)))
PYTHON
  local status=0
  "$stackpack" lookup --source --format=json "$1" <addresses >answers.json 2>err || status=$?
  [[ $status == 1 && ! -s err ]] || fail "exit status $status: $(<err)"
  python3 - <<'PYTHON'
import json
from records import *

load("dump.json")
at = {}
for r in records:
    at.setdefault(r["address"], []).append(r)
functions = {r["function_address"]: r["function"] for r in records}
asked = [int(word, 16) for word in open("addresses").read().split()]
answers = [json.loads(line) for line in open("answers.json")]
assert [a["address"] for a in answers] == asked
kinds = set()
for answer in answers:
    kinds.add(answer["answer"])
    if answer["answer"] == "found":
        assert answer == {"address": answer["address"], "answer": "found", "records": at[answer["address"]]}, answer
        continue
    assert answer["address"] not in at, answer
    assert set(answer) == {"address", "answer", "function", "function_address", "source"}, answer
    if answer["answer"] == "not a safepoint":
        assert functions[answer["function_address"]] == answer["function"], answer
        assert answer["function_address"] <= answer["address"], answer
    else:
        assert answer["answer"] == "not managed" and answer["function"] is None, answer
assert kinds == {"found", "not managed", "not a safepoint"}, kinds
PYTHON
}

for sample in list deopt pairs frames patchpoints; do
  make_program lld $sample $sample
  check_answers $sample
  mv answers.json raw.json
  expect_status 0 "$stackpack" pack --always $sample
  check_answers $sample
  expect_same raw.json answers.json
done

# Text, of the words of the command line. Exit status 0 if each has a record.
address=$(dump_json pairs | python3 -c 'import json, sys; print(hex(next(r["address"] for r in map(json.loads, sys.stdin) if r["id"] == 2001)))')
expect_status 0 "$stackpack" lookup --source pairs "$address"
expect_output "^$address: found, in with_base\+0x[0-9a-f]+, a frame of 24 bytes, ID 2001$"
expect_output '^    \[rsp\+8\]    reference$'
expect_output '^    \[rsp\+16\]   derived from \[rsp\+8\]$'
expect_output '^    with_base at .*pairs\.ll:[0-9]+:[0-9]+$'
inside=$(printf '0x%x' $((address + 1)))
expect_status 1 "$stackpack" lookup pairs "$inside" 0x10 "${address#0x}"
[[ $(grep -c '^0x' out) == 3 ]] || fail "not three answers"
expect_output "^$inside: not a safepoint, in with_base\+0x[0-9a-f]+$"
expect_output "^0x10: not managed, outside of the file's addresses, 0x[0-9a-f]+ to 0x[0-9a-f]+$"
expect_output "^$address: found, "

# Digits alone are hexadecimal, too, as addr2line takes them.
expect_status 1 "$stackpack" lookup pairs 10 0X1F ffffffffffffffff
[[ $(cut -d : -f 1 out | tr '\n' ' ') == '0x10 0x1f 0xffffffffffffffff ' ]] || fail "$(<out)"
for word in 0x '' 0x0x1 0x-1 -1 1g ' 1' 11111111111111111; do
  expect_refusal "pairs: '$word' is no hexadecimal address" "$stackpack" lookup -- pairs "$word"
done

# A process's addresses: the program prints its own, and where it is.
cat >place.c <<'C'
#include <link.h>
#include <stdio.h>
static int first(struct dl_phdr_info *info, size_t size, void *base) {
  (void)size;
  *(unsigned long *)base = info->dlpi_addr;
  return 1;
}
__attribute__((constructor)) static void say(void) {
  unsigned long base = 0;
  dl_iterate_phdr(first, &base);
  printf("base %lx\n", base);
}
C
"$LLVM/bin/clang" -D_GNU_SOURCE -fPIC -c place.c -o place.o
make_gc_program place "$LLVM/bin/clang" -O1 lld -pie -Wl,-z,notext place.o
./place | sed -n 's/^base //p' >base
own=$(dump_json place | sed -nE '1s/^\{"address":([0-9]+),.*/\1/p')
for program in place place-packed; do
  [[ $program == place ]] || "$stackpack" pack --quiet --always -o $program place
  expect_status 0 "$stackpack" lookup --base="$(<base)" $program "$(printf %x $((0x$(<base) + own)))"
  expect_output "^$(printf 0x%x "$own"): found, "
  expect_status 1 "$stackpack" lookup $program "$(printf %x $((0x$(<base) + own)))"
  expect_output ": not managed, outside of the file's addresses, 0x[0-9a-f]+ to 0x[0-9a-f]+ \(--base=ADDRESS takes those of a process\)$"
  expect_refusal "$program: --base='here' is no hexadecimal address" "$stackpack" lookup --base=here $program 1
done

# The addresses of functions and calls in the call graph are such ones.
expect_status 0 "$stackpack" callgraph place
grep -oE '^ +0x[0-9a-f]+ (direct|indirect)' out | grep -oE '0x[0-9a-f]+' >returns
dump_json place | sed -nE 's/^\{"address":([0-9]+),.*/\1/p' | xargs printf '0x%x\n' >records
expect_status 0 "$stackpack" lookup place $(grep -Fxf returns records)
[[ $(grep -c ': found, ' out) -gt 10 ]] || fail "the call graph has other return addresses"

# A dropped record is absent.
make_gc_program app "$LLVM/bin/clang" -O1 lld
dump_json app | sed -E 's/^\{"address":([0-9]+),.*/\1/' >before
expect_status 0 "$stackpack" pack --always --gc-entry=collect app
dump_json app | sed -E 's/^\{"address":([0-9]+),.*/\1/' >after
dropped=$(comm -23 <(sort before) <(sort after))
[[ -n $dropped ]] || fail "nothing was dropped"
# shellcheck disable=SC2086 # a list of words
expect_status 1 "$stackpack" lookup app $(xargs printf '%x\n' <<<"$dropped")
[[ $(grep -cE '^0x[0-9a-f]+: not a safepoint, in [a-z_]+\+0x' out) == $(wc -l <<<"$dropped") ]] || fail "$(<out)"

# An answer comes before the next address is asked for.
coproc "$stackpack" lookup pairs
echo "$address" >&"${COPROC[1]}"
read -r -t 60 answer <&"${COPROC[0]}"
[[ $answer == "$address: found, in with_base+"* ]] || fail "the answer is '$answer'"
exec {COPROC[1]}>&-
wait

printf '%s\n\0%s\n' "$address" "$address" >zero
status=0
"$stackpack" lookup pairs <zero >out 2>err || status=$?
((status == 2)) && only_line_matches 'pairs: standard input: a zero byte' err || { cat err; fail "an address behind a zero byte is passed over"; }
expect_refusal "pairs: 'with_base' is no hexadecimal address" "$stackpack" lookup pairs with_base
expect_refusal "missing: can't be opened" "$stackpack" lookup missing 1
cp pairs damaged
set_byte damaged $(($(section_offset damaged .stackpack) + 100)) 255
expect_status 2 "$stackpack" lookup damaged "$address"
only_line_matches '^stackpack: damaged: a broken packed table' err || fail "$(<err)"

# A record's pairs have one order, for every reader.
rm main.o
make_program lld pairs pairs
"$stackpack" pack --quiet --always -o packed pairs
expect_status 0 "$stackpack" dump --format=json packed
mv out dumped
python3 -c 'import json
for line in open("dumped"): print(hex(json.loads(line)["address"]))' | "$stackpack" lookup --format=json packed >looked
"$stackpack" dump --format=json pairs >raw
python3 - <<'PYTHON' || fail "dump and lookup differ in the order of pairs"
import json
dumped, raw = ([json.loads(line) for line in open(name)] for name in ("dumped", "raw"))
looked = [record for line in open("looked") for record in json.loads(line)["records"]]
assert [one["gc"] for one in dumped] == [one["gc"] for one in looked] == [one["gc"] for one in raw]
assert any(len(one["gc"]) > 1 for one in dumped)
PYTHON
