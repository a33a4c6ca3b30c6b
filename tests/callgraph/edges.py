#!/usr/bin/env python3
"""Compares the calls that happened in a run, as callgrind saw them, with what `stackpack callgraph` says is possible.

    edges.py FILE CALLGRIND-OUTPUT [...]

The outputs are those of callgrind with --dump-instr=yes and without compression. A call or a jump from one function of the file
to another must be in the graph at its address: as one of that function, or by a pointer, if that function's address is taken. Whatever
comes from another file must lead to a function whose address is taken.
"""

import bisect
import json
import os
import struct
import subprocess
import sys

STACKPACK = os.environ["STACKPACK"]


class Graph:
    def __init__(self, path):
        lines = subprocess.run([STACKPACK, "callgraph", "--format=json", path], capture_output=True, check=True, text=True).stdout
        self.functions = [json.loads(line) for line in lines.splitlines()]
        with open(path, "rb") as file:
            self.entry = struct.unpack_from("<Q", file.read(64), 24)[0]
        self.starts = [function["address"] for function in self.functions]
        self.calls = {}
        for function in self.functions:
            for call in function["calls"]:
                self.calls.setdefault(call["at"], []).append(call)

    def function(self, address):
        number = bisect.bisect_right(self.starts, address) - 1
        return self.functions[number] if number >= 0 else None

    def allows(self, site, target):
        """Whether the instruction at an address may lead to another."""
        source, to = self.function(site), self.function(target)
        if source is to or source["undecodable"]:
            return True
        for call in self.calls.get(site, []):
            if call["target"] and self.function(call["target"]) is to:
                return True
            if call["symbol"] is None and not call["target"] and to["address_taken"]:
                return True
            if call["kind"] == "outside" and any(stub["symbol"] == call["symbol"] for stub in to["calls"]):
                return True  # by the symbol's stub
        return False


def edges(path, file):
    """(address of the call, or None if it is in another file; address of what is called) for each call into the file."""
    own = os.path.realpath(file)
    current = called = None
    waiting = None
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            line = line.strip()
            if line.startswith("ob="):
                current = called = line[3:]
            elif line.startswith("fn="):
                called = current
            elif line.startswith("cob="):
                called = line[4:]
            elif line.startswith("calls="):
                waiting = int(line.split()[1], 16)
            elif waiting is not None:
                if os.path.realpath(called) == own:
                    yield (int(line.split()[0], 16) if os.path.realpath(current) == own else None), waiting
                waiting, called = None, current


def main():
    file, outputs = sys.argv[1], sys.argv[2:]
    graph = Graph(file)
    found = {edge for output in outputs for edge in edges(output, file)}
    missing = []
    for site, target in sorted(found, key=lambda edge: (edge[0] or 0, edge[1])):
        to = graph.function(target)
        is_known = to is not None and (graph.allows(site, target) if site is not None else to["address_taken"] or target == graph.entry)
        if not is_known:
            missing.append((site, target))
    for site, target in missing[:20]:
        to = graph.function(target)
        print(f"missing: {'elsewhere' if site is None else hex(site)} -> {target:#x} {to and to['name']}")
    print(f"{file}: {len(found)} edges, {len(missing)} missing")
    return 1 if missing or not found else 0


if __name__ == "__main__":
    sys.exit(main())
