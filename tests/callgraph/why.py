#!/usr/bin/env python3
"""Checks what `stackpack why` says against the machine code, as `objdump -d` shows it.

    why.py FILE COUNT SEED ENTRY...      the reasons for COUNT records of FILE, chosen by SEED

A reason for a record that is kept is a chain. Its steps must be instructions at their addresses, in the functions they
are said to be in, of the kind and with the target that is said; each must begin where the one before led to; the first must
return to the record's address, and the last lead to a GC entry. A step by a pointer goes on in a function whose address is
taken; the place that is given as the reason must hold that address.

In the environment: STACKPACK.
"""

import json
import os
import random
import re
import subprocess
import sys

STEP = re.compile(r"^  0x([0-9a-f]+)  (\S+|the function at 0x[0-9a-f]+) (calls by a pointer|jumps by a pointer to|calls|jumps to|goes on in|has another function call) (.*?)(, a GC entry)?$")
LEAP = re.compile(r"^    (?:one of them is|(\S+) may call back|(\S+), which this file defines, is) (\S+|the function at 0x[0-9a-f]+)(?: \((.*)\))?(, a GC entry)?$")  # fmt: skip


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class File:
    def __init__(self, path):
        self.path = path
        self.addresses, self.ends = {}, {}  # of a name, all it can mean; of an address, the functions' ends
        for line in output("nm", "-S", "--defined-only", path).splitlines():
            fields = line.split()
            if len(fields) == 4 and fields[2] in "tTwWiVuU":
                start = int(fields[0], 16)
                self.addresses.setdefault(fields[3], set()).add(start)
                self.ends[start] = max(self.ends.get(start, 0), start + int(fields[1], 16))
            elif len(fields) == 3 and fields[1] in "tTwW":
                self.addresses.setdefault(fields[2], set()).add(int(fields[0], 16))
        self.relocations = None
        self.decoded = {}

    def meaning(self, name):
        if name.startswith("the function at "):
            return {int(name.split()[-1], 16)}
        return self.addresses.get(name, set())

    def instructions(self, start):
        """{address: (length, text)} of a function, as far as its symbol goes."""
        if start not in self.decoded:
            end = max(self.ends.get(start, 0), start + 16)
            text = output("objdump", "-d", "-w", f"--start-address={start:#x}", f"--stop-address={end:#x}", self.path)
            lines = re.findall(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(.*)$", text, re.M)
            self.decoded[start] = {int(at, 16): (len(bytes_.split()), asm.strip()) for at, bytes_, asm in lines}
        return self.decoded[start]

    def instruction(self, name, at):
        """(length, text) of an instruction of a function."""
        for start in self.meaning(name):
            found = self.instructions(start).get(at)
            if found:
                return found
        raise AssertionError(f"there is no instruction at {at:#x} in {name}")

    def word(self, address):
        for line in output("readelf", "-lW", self.path).splitlines():
            fields = line.split()
            if fields[:1] == ["LOAD"]:
                offset, start, size = (int(fields[i], 16) for i in (1, 2, 4))
                if start <= address < start + size:
                    with open(self.path, "rb") as file:
                        file.seek(offset + address - start)
                        return int.from_bytes(file.read(8), "little")
        raise AssertionError(f"nothing is loaded at {address:#x}")

    def relocation(self, address):
        if self.relocations is None:
            self.relocations = {}
            for line in output("readelf", "-rW", self.path).splitlines():
                fields = line.split()
                if len(fields) >= 4 and fields[2].startswith("R_X86_64_"):
                    self.relocations[int(fields[0], 16)] = fields
        return self.relocations[address]


def check_step(file, at, source, verb, target):
    length, text = file.instruction(source, at)
    text = re.sub(r"^(bnd|notrack|rex\.W|data16|addr32) +", "", text)
    operation, _, operand = text.partition(" ")
    operand = operand.strip()
    direct = re.match(r"^([0-9a-f]+) <(.*)>$", operand)
    leads_to = int(direct.group(1), 16) if direct else None
    if verb == "calls by a pointer":
        assert operation == "call" and operand.startswith("*"), text
    elif verb == "jumps by a pointer to":
        assert operation in ("jmp", "ret") and not direct, text
    elif verb == "has another function call":
        assert operation in ("call", "jmp"), text
    elif verb in ("calls", "jumps to"):
        assert operation == "call" if verb == "calls" else operation.startswith("j"), text
        meaning = file.meaning(target)
        is_stub = direct and re.match(rf"^{re.escape(target)}(@\w+)*@plt", direct.group(2))
        by_slot = operand.startswith("*") and target in text  # through the GOT
        assert leads_to in meaning or is_stub or by_slot or (direct and not meaning), f"{text}: not {target}"
    else:
        starts = file.meaning(target)
        inside = leads_to is not None and any(start <= leads_to < max(file.ends.get(start, 0), start + 1) for start in starts)
        falls = operation not in ("ret", "jmp") and any(0 <= start - (at + length) < 64 for start in starts)
        assert inside or falls or operand.startswith("*"), f"{text}: doesn't go on in {target}"
    return at + length


def check_taken(file, name, why):
    """The place that makes a function one that a pointer may lead to."""
    addresses = file.meaning(name)
    place = re.search(r"0x([0-9a-f]+)", why or "")
    at = int(place.group(1), 16) if place else None
    if why.startswith("the data at"):
        assert file.word(at) in addresses, f"{why}: it has not"
    elif why.startswith("a relocation"):
        fields = file.relocation(at)
        values = {int(field, 16) for field in fields[3:] if re.fullmatch("[0-9a-f]+", field)}
        assert values & addresses or name in fields[4], f"{why}: {fields}"
    elif why.startswith("the code at"):
        text = output("objdump", "-d", "-w", f"--start-address={at:#x}", f"--stop-address={at + 15:#x}", file.path)
        line = next(line for line in text.splitlines() if re.match(rf"^ *{at:x}:", line))
        assert any(f"{address:x}" in line for address in addresses), f"{why}: {line}"
    elif why.startswith("it is exported"):
        assert re.search(rf" {re.escape(name)}(@|$)", output("nm", "-D", "--defined-only", file.path), re.M), f"{name}: {why}"


def check_chain(file, address, lines, entries):
    here, reached, first = None, False, True
    for line in lines:
        step, leap = STEP.match(line), LEAP.match(line)
        assert step or leap, f"what is this: {line!r}"
        assert not reached, f"goes on after a GC entry: {line}"
        if step:
            at, source, verb, target = int(step.group(1), 16), step.group(2), step.group(3), step.group(4)
            assert here in (None, source) or file.meaning(here) & file.meaning(source), f"{here} isn't {source}"
            end = check_step(file, at, source, verb, target)
            assert not first or end == address, f"the call ends at {end:#x}"
            reached, here = bool(step.group(5)), target
        else:
            here = leap.group(3)
            if leap.group(4):
                check_taken(file, here, leap.group(4))
            reached = bool(leap.group(5))
        first = False
    wanted = set().union(*(file.meaning(entry) for entry in entries))
    assert reached and (here in entries or file.meaning(here) & wanted), f"{here} is no GC entry"
    return len(lines)


def main():
    path, count, seed, *entries = sys.argv[1:]
    stackpack = os.environ["STACKPACK"]
    file = File(path)
    records = [json.loads(line)["address"] for line in output(stackpack, "dump", "--format=json", path).splitlines()]
    options = [f"--gc-entry={entry}" for entry in entries]
    chains, steps, failed = 0, 0, 0
    for address in random.Random(seed).sample(records, min(int(count), len(records))):
        result = subprocess.run([stackpack, "why", *options, path, hex(address)], capture_output=True, text=True, check=False)
        assert result.returncode in (0, 1), result.stderr
        text = result.stdout
        head, *lines = text.splitlines()
        try:
            assert re.match(rf"^{address:#x} in .*: (kept|dropped): ", head), head
            if ": kept: calls" in head or ": kept: an indirect" in head or ": kept: a function elsewhere" in head:
                steps += check_chain(file, address, lines, entries)
                chains += 1
        except AssertionError as problem:
            failed += 1
            print(f"{problem}\n{text}")
    print(f"{path}: {chains} chains of {steps} steps hold; {failed} don't")
    return 1 if failed or not chains else 0


if __name__ == "__main__":
    sys.exit(main())
