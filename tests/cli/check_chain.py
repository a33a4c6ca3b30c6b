#!/usr/bin/env python3
"""Checks what `stackpack why` says of kept records against objdump and readelf, step by step.

    check_chain.py PROGRAM <OUTPUT-OF-WHY

Each step of a chain is a line with an address: the instruction there must do what the line says. Between two steps,
what the first leads to must be what the second starts from. A step without an instruction names a place that takes an
address, and that place is looked at, too. Prints the number of chains and of steps; anything wrong is fatal.
"""
import re
import subprocess
import sys

program = sys.argv[1]
STEP = re.compile(r"^  0x([0-9a-f]+)  (.+?) (calls by a pointer|jumps by a pointer to|jumps to|goes on in|calls|has another function call) (.+?)(, a GC entry)?$")
LEAP = re.compile(r"^    (.+?) (may call back|is) (.+?)(?: \((.+)\))?(, a GC entry)?$")
RECORD = re.compile(r"^0x([0-9a-f]+) in (.+): (kept|dropped): ")
UNNAMED = re.compile(r"^the function at 0x([0-9a-f]+)$")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read_symbols():
    """All names of each address, and the sorted starts of functions."""
    names = {}
    for line in output("readelf", "--symbols", "--wide", program).splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] in ("FUNC", "NOTYPE", "IFUNC") and words[6] != "UND":
            names.setdefault(words[7].split("@")[0], set()).add(int(words[1], 16))
    return names


symbols = read_symbols()


def addresses_of(name):
    unnamed = UNNAMED.match(name)
    return {int(unnamed.group(1), 16)} if unnamed else symbols.get(name, set())


def instruction_at(address):
    """The text of one instruction, without its bytes, and the address after it."""
    text = output("objdump", "--disassemble", "--wide", "--no-show-raw-insn", f"--start-address={address}",
                  f"--stop-address={address + 16}", program)
    lines = [line for line in text.splitlines() if re.match(r"^\s*[0-9a-f]+:\t", line)]
    if not lines or int(lines[0].split(":")[0], 16) != address:
        sys.exit(f"no instruction at {address:#x}")
    following = int(lines[1].split(":")[0], 16) if len(lines) > 1 else None
    return lines[0].split("\t", 1)[1].strip(), following


def fail(line, reason):
    sys.exit(f"{line!r}: {reason}")


def check_step(line, match):
    address, verb, target = int(match.group(1), 16), match.group(3), match.group(4)
    if verb == "goes on in":
        return
    text, _ = instruction_at(address)
    if verb == "has another function call":  # which one of its arguments is: the code before the call names it
        if not re.match(r"call|jmp", text.split()[0]):
            fail(line, f"the instruction is {text!r}")
        return
    mnemonic = re.sub(r"^((notrack|bnd|data16|addr32|rex\.W|cs|ds)\s+)+", "", text).split()[0]
    if not mnemonic.startswith("call" if verb.startswith("calls") else "j") and not mnemonic.startswith("ret"):
        fail(line, f"the instruction is {text!r}")
    if "by a pointer" in verb:
        if "*" not in text and not mnemonic.startswith("ret"):
            fail(line, f"not by a pointer: {text!r}")
        return
    to = re.search(r"\s([0-9a-f]+) <", text)
    wanted = addresses_of(target)
    if to and int(to.group(1), 16) in wanted:
        return
    if f"<{target}@plt>" in text or re.search(rf"<{re.escape(target)}(@|\+0x|>)", text):
        return  # a stub, a symbol of the offset table, or a place within the function
    if not wanted and ("*" in text or "@plt" in text or to):
        return_name = output("objdump", "--dynamic-reloc", program)
        if re.search(rf"\s{re.escape(target)}(@|\s|$)", return_name, re.M):
            return
    fail(line, f"leads elsewhere: {text!r}")


def word_at(address):
    text = output("objdump", "--full-contents", f"--start-address={address}", f"--stop-address={address + 8}", program)
    data = "".join("".join(line.split("  ")[0].split()[1:]) for line in text.splitlines() if re.match(r"^ [0-9a-f]+ ", line))
    return bytes.fromhex(data)


def relocation_at(address):
    for line in output("readelf", "--relocs", "--wide", program).splitlines():
        words = line.split()
        if words and re.fullmatch(r"[0-9a-f]{12,16}", words[0]) and int(words[0], 16) == address:
            return line
    return ""


def check_leap(line, match):
    target, place = match.group(3), match.group(4)
    if place is None or not place.startswith(("the code", "the data", "a relocation")):
        return
    address = int(re.search(r"0x([0-9a-f]+)", place).group(1), 16)
    wanted = addresses_of(target)
    if place.startswith("the code"):
        text, _ = instruction_at(address)
        numbers = {int(n, 16) for n in re.findall(r"(?:0x|\s)([0-9a-f]{3,})\b", text)}
        if not numbers & wanted:
            fail(line, f"the instruction is {text!r}")
    elif place.startswith("the data"):
        data = word_at(address)
        word, half = int.from_bytes(data, "little"), int.from_bytes(data[:4], "little", signed=True)
        if word not in wanted and half not in wanted and address + half not in wanted:
            fail(line, f"the word is {word:#x}")
    elif not any(f"{w:x}" in relocation_at(address) for w in wanted) and target not in relocation_at(address):
        fail(line, f"the relocation is {relocation_at(address)!r}")


def main():
    chains = steps = 0
    at, left = None, True  # the node that the next line must start from; whether the chain is at its end
    listing = False  # what a dropped record relies on
    for line in sys.stdin.read().splitlines():
        record, step, leap = RECORD.match(line), STEP.match(line), LEAP.match(line)
        if record:
            if not left:
                fail(line, "the chain before has no GC entry at its end")
            chains += record.group(3) == "kept"
            listing = False
            at, left = None, True
            return_address = int(record.group(1), 16)
        elif step:
            start = step.group(2)
            if at is None:
                text, following = instruction_at(int(step.group(1), 16))
                if following not in (None, return_address):
                    fail(line, f"the call {text!r} doesn't return to {return_address:#x}")
            elif start != at and not addresses_of(start) & addresses_of(at):
                fail(line, f"the step before led to {at}")
            check_step(line, step)
            at, left, steps = step.group(4), bool(step.group(5)), steps + 1
        elif leap and not listing and leap.group(2) in ("is", "may call back"):
            check_leap(line, leap)
            at, left = leap.group(3), bool(leap.group(5))
        elif line.startswith("  it can reach"):
            left, listing = True, True
    if not left:
        sys.exit("the last chain has no GC entry at its end")
    print(f"{chains} chains, {steps} steps hold")


main()
