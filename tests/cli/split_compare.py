"""split_compare.py FULL KEPT SYMBOLS: compares the JSON dumps of two links of the same objects, of which the second left
out functions. SYMBOLS has the names of the functions in the second one, a line each.

Every function that was kept has the records that it has in the first link, and none has others. Prints how many records were
compared. (Several functions may have one name; each is one of those of this name in the first link.)"""
import collections
import json
import sys


def functions(path):
    """For each name: the functions with their records, without addresses."""
    records = collections.defaultdict(list)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            del record["address"]
            key = record["function"], record.pop("function_address")
            records[key].append(json.dumps(record, sort_keys=True))
    result = collections.defaultdict(collections.Counter)
    for (name, _), texts in records.items():
        result[name][tuple(texts)] += 1
    return result


full, kept = functions(sys.argv[1]), functions(sys.argv[2])
with open(sys.argv[3], encoding="utf-8") as names:
    symbols = collections.Counter(line.strip() for line in names)
count = 0
for name, versions in kept.items():
    assert not versions - full[name], f"{name}: other records"
    count += sum(len(texts) * number for texts, number in versions.items())
for name, versions in full.items():
    expected = min(symbols[name], versions.total())
    assert kept[name].total() >= expected, f"{name}: {kept[name].total()} functions with records, not {expected}"
print(count)
