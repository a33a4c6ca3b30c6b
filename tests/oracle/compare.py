#!/usr/bin/env python3
"""Compare what `stackpack dump --format=json` says of a program with what the oracle reads.

    stackpack dump --format=json PROGRAM | compare.py RAW_PROGRAM -

RAW_PROGRAM has its `.llvm_stackmaps` still; PROGRAM is it, or what `stackpack pack` made of it. Both sides
must have the same records at each address, equal in every field. The order of the lines, and of the pairs
within a record, doesn't matter; that no pair comes twice does. A function's name must be one of those that
the raw program's symbols give its address, and null where there is none. With --left-out, the dump may lack
records: their number is printed.

Exit status: 0 equal, 1 different, 2 an input can't be used.
"""

import argparse
import collections
import gc
import itertools
import json
import sys
from typing import NamedTuple

import stackmap_oracle
from stackmap_oracle import Unusable

DIFFERENCES_SHOWN = 10


# One text for each value: 1, 1.0 and true are equal in Python, but different in JSON.
as_text = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def comparable(record):
    """The record without the name, and what unwind tables tell; the pairs in an order of their own."""
    fields = {name: value for name, value in record.items() if name not in ("function", "frame")}
    if isinstance(fields.get("gc"), list):
        fields["gc"] = sorted(fields["gc"], key=as_text)
    return fields


def read_lines(file):
    """The records of a dump. Each must be an object with an address."""
    records = []
    for number, line in enumerate(file, 1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise Unusable(f"line {number}: {error}") from error
        if not isinstance(record, dict) or type(record.get("address")) is not int:
            raise Unusable(f"line {number}: no record with an address")
        records.append(record)
    return records


class Entry(NamedTuple):
    record: dict
    text: str  # equal for records that are equal in every field but the name


def group_by_address(records):
    groups = collections.defaultdict(list)
    for record in records:
        groups[record["address"]].append(Entry(record, as_text(comparable(record))))
    return groups


def pair_up(expected, found):
    """Pairs of an expected and a found entry at one address, equal ones first; None where one is missing."""
    waiting = collections.defaultdict(list)
    for entry in found:
        waiting[entry.text].append(entry)
    unmatched = []
    for entry in expected:
        if waiting[entry.text]:
            yield entry, waiting[entry.text].pop()
        else:
            unmatched.append(entry)
    left_over = [entry for entries in waiting.values() for entry in entries]
    yield from itertools.zip_longest(unmatched, left_over)


def name_difference(record, names):
    allowed = names.get(record.get("function_address"), [None])
    if "function" not in record:
        return "function: missing"
    if record["function"] not in allowed:
        return f"function: expected one of {allowed}, found {record['function']!r}"
    return None


def field_differences(expected, found):
    wanted, given = comparable(expected), comparable(found)
    for field in sorted(wanted.keys() | given.keys()):
        wanted_text, given_text = (
            as_text(fields[field]) if field in fields else "nothing" for fields in (wanted, given)
        )
        if wanted_text != given_text:
            yield f"{field}: expected {wanted_text}, found {given_text}"


def describe(expected, found, names):
    """The differences between two entries, as texts."""
    if found is None:
        return [f"missing: {as_text(expected.record)}"]
    if expected is None:
        return [f"unexpected: {as_text(found.record)}"]
    differences = []
    if expected.text != found.text:
        differences += field_differences(expected.record, found.record)
    wrong_name = name_difference(found.record, names)
    return differences + [wrong_name] if wrong_name else differences


def compare(expected, found, names):
    """Yields (address, texts) for every record that differs, by address."""
    expected_groups, found_groups = group_by_address(expected), group_by_address(found)
    for address in sorted(expected_groups.keys() | found_groups.keys()):
        for wanted, given in pair_up(expected_groups.get(address, []), found_groups.get(address, [])):
            texts = describe(wanted, given, names)
            if texts:
                yield address, texts


def parse_arguments():
    parser = argparse.ArgumentParser(description="Compare a dump of stack maps with the oracle's reading.")
    parser.add_argument("--left-out", action="store_true", help="the dump may lack records")
    parser.add_argument("raw", help="the program with its raw section")
    parser.add_argument("dump", help="the JSON lines, or - for standard input")
    return parser.parse_args()


def read_inputs(arguments):
    elf = stackmap_oracle.load(arguments.raw)
    maps = stackmap_oracle.read_stack_maps(elf)
    names = stackmap_oracle.names_by_address(elf)
    expected = [stackmap_oracle.record_as_json(record, names) for record in maps.records]
    try:
        if arguments.dump == "-":
            found = read_lines(sys.stdin.buffer)
        else:
            with open(arguments.dump, "rb") as file:
                found = read_lines(file)
    except OSError as error:
        raise Unusable(f"{arguments.dump}: {error.strerror}") from error
    return expected, found, names


def main():
    gc.disable()  # millions of objects, none of them in a cycle: looking for garbage is most of the time
    arguments = parse_arguments()
    try:
        expected, found, names = read_inputs(arguments)
    except Unusable as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    differences = list(compare(expected, found, names))
    missing = len(expected) - len(found) if arguments.left_out else 0
    if len(differences) == missing:  # so each difference is a missing record
        print(f"{len(found)} records equal" + (f", {missing}" if arguments.left_out else ""))
        return 0
    for address, texts in differences[:DIFFERENCES_SHOWN]:
        print(f"{address:#x}: " + "\n    ".join(texts))
    print(f"{len(expected)} records, {len(differences)} differences")
    return 1


if __name__ == "__main__":
    sys.exit(main())
