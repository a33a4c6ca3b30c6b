"""objects_compare.py [--moved] LINKED.json READOBJ OBJECT.json...: compares JSON dumps of objects with that of the program
that they are linked to, record by record, and with the records that llvm-readobj prints of each object (beside its dump, by the same
name with .o). --moved: the linker moves code within a section. Prints how many records were compared."""
import collections
import json
import re
import subprocess
import sys


def functions(paths, moved):
    """By name: the functions' records, without the places of the functions."""
    found = collections.defaultdict(list)
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                key = path, record.pop("section", None), record["function"], record.pop("function_address")
                del record["address"]
                if moved:
                    del record["offset"]
                found[key].append(json.dumps(record, sort_keys=True))
    result = collections.defaultdict(collections.Counter)
    for key, texts in found.items():
        result[key[2]][tuple(texts)] += 1
    return result


def word(location):
    kinds = {"register": "Register R#%(register)d", "direct": "Direct R#%(register)d + %(offset)d",
             "indirect": "Indirect [R#%(register)d + %(offset)d]", "constant": "Constant %(value)d"}
    return kinds[location["kind"]] % location + ", size: %d" % location["size"]


def pairs(words):
    return sorted(zip(words[::2], words[1::2]))


def check(readobj, path):
    """Each record of llvm-readobj's, in the order of the map, is one of the dump's."""
    with open(path, encoding="utf-8") as lines:
        dumped = collections.Counter()
        for record in map(json.loads, lines):
            gc = pairs([word(pair[part]) for pair in record["gc"] for part in ("base", "derived")])
            dumped[record["id"], record["offset"], str(gc)] += 1
    text = subprocess.run([readobj, "--stackmap", path[:-5] + ".o"], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    printed = collections.Counter()
    for part in text.split("Record ID: ")[1:]:
        number, offset = map(int, re.match(r"(\d+), instruction offset: (\d+)", part).groups())
        locations = re.findall(r"#\d+: (.*)", part)
        deopt = int(re.match(r"Constant (\d+)", locations[2])[1])
        # A pair that is there twice is one.
        printed[number, offset, str(sorted(set(pairs(locations[3 + deopt :]))))] += 1
    assert printed == dumped, "%s: %s" % (path, (printed - dumped, dumped - printed))


arguments = sys.argv[1:]
moved = arguments[0] == "--moved"
linked_path, readobj, *paths = arguments[moved:]
objects, linked = functions(paths, moved), functions([linked_path], moved)
count = 0
for name, versions in objects.items():
    assert versions == linked[name], "%s: %s is not %s" % (name, versions, linked[name])
    count += sum(len(texts) * number for texts, number in versions.items())
for path in paths:
    if not moved:
        check(readobj, path)
print(count)
