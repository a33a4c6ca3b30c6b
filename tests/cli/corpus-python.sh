#!/bin/bash
# CPython with statepoints in every function: 42,000 records. It runs when packed, and its stack maps shrink to a
# thirtieth at most.
. "$TOP/tests/cli/common.sh"
expect_corpus python3.11.zst

zstd -dq "$CORPUS/python3.11.zst" -o python3.11
chmod 755 python3.11
pack_and_compare_large python3.11 packed --version
grep -q '^Python 3\.11' printed || fail "no version: $(<printed)"
raw=$(section_size python3.11 .llvm_stackmaps) packed=$(section_size packed .stackpack)
((packed * 30 <= raw)) || fail "packed to $packed of $raw bytes, more than a thirtieth"

# With a standard library of that version, a program, too.
for prefix in /usr /usr/local; do
  [[ -d $prefix/lib/python3.11/encodings ]] || continue
  export PYTHONHOME=$prefix
  expect_same_run python3.11 packed -S -c '
import gc, json, re
class Node:
    def __init__(self, next): self.next = next
nodes = None
for i in range(100000): nodes = Node(nodes if i % 1000 else None)
print(gc.collect() >= 0, json.dumps({"a": [1, 2.5, None]}), re.sub(r"(\w+)", r"<\1>", "some words"))
def generator():
    for i in range(1000): yield str(i) * 3
print(sum(len(text) for text in generator()), sorted(set(generator()))[:3])
try:
    [].pop()
except IndexError as error:
    print(error)
'
  grep -q '^pop from empty list$' printed || { cat printed; fail "the program didn't get to its end"; }
  break
done
