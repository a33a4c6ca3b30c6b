#!/usr/bin/env python3
"""Compares what the call graph is told of instructions with llvm-objdump's text, for all instructions of a file:

    decoders.py aarch64|riscv64 LLVM-OBJDUMP DECODED FILE...

DECODED is what decoded.c becomes. Compared are: which instructions are calls, jumps, branches, returns and stops, and where they lead;
which general registers they write, and which they read; by how much constants move the stack pointer.
"""

import collections
import re
import subprocess
import sys

NUMBERS = {"aarch64": 183, "riscv64": 243}
LINE = re.compile(r"^ *([0-9a-f]+): ((?:[0-9a-f]{2,8} ?)+)\s+(\S+)\s*(.*)$")


class AArch64:
    options = []
    register = re.compile(r"(?<![\w.#])[xw](\d+)\b(?!\.)")
    own = {"sp": 31}
    branches = re.compile(r"^(b\.|bc\.|cbn?z|tbn?z|cb)")
    no_result = re.compile(
        r"^(cmp|cmn|tst|ccmn|ccmp|b|b\..*|bc\..*|bl|blr\w*|br\w*|ret\w*|cbn?z|tbn?z|cb\w+|nop|msr|msrr|dmb|dsb|isb|sb|ssbb|pssbb|prfu?m|hint|svc|brk|hlt|udf|"
        r"fc?cmpe?|yield|wfe|wfi|sevl?|bti|pac\w*|aut\w*|xpaclri|clrex|sys|dc|ic|at|tlbi|csdb|setf\d+|rmif|cfinv|st\w+|prf\w|"
        r"esb|chkfeat|gcs\w+)$"
    )

    @classmethod
    def kind(cls, name, operands):
        if name == "b":
            return "jump"
        if name == "bl" or name.startswith("blr"):
            return "call"
        if cls.branches.match(name):
            return "branch"
        if name in ("br", "braa", "brab", "braaz", "brabz"):
            return "jump"
        if name in ("ret", "retaa", "retab"):
            return "return" if operands in ("", "x30") else "jump"
        if name in ("brk", "hlt", "udf"):
            return "stop"
        return "padding" if name in ("nop", "dsb", "dmb", "isb", "sb", "ssbb", "pssbb") else "other"

    @classmethod
    def written(cls, name, operands):
        """Numbers of general registers, 31 for the stack pointer; None: it isn't told here."""
        if name.startswith(("cas", "swp", "cpy", "set", "rprf", "ldclr", "ldadd", "ldset", "ldeor", "ldsmax", "ldsmin", "ldumax", "ldumin", "stz", "st2g", "stg", "irg",
                            "ldg", "ldraa", "ldrab", "ldiapp", "incb", "incd", "inch", "incw", "dec", "cnt", "rdvl", "addvl", "addpl", "sq", "uq", "last", "clast", "while", "mrs")):  # fmt: skip
            return None
        found = set()
        base = re.search(r"\[(x\d+|sp)(?:, [^\]]*)?\](!|, )", operands)
        if base:
            found.add(31 if base[1] == "sp" else int(base[1][1:]))
        if name.startswith(("stxr", "stlxr", "stxp", "stlxp")):
            return found | cls.named(operands.split(",")[0])
        if cls.no_result.match(name):
            return found
        parts = operands.split(", ")
        count = 2 if name in ("ldp", "ldnp", "ldpsw", "ldxp", "ldaxp") else 1
        for part in parts[:count]:
            found |= {31} if part in ("sp", "wsp") else cls.named(part)
        return found

    @classmethod
    def named(cls, text):
        return {int(number) for number in cls.register.findall(text)}

    @classmethod
    def read(cls, name, operands):
        """Numbers of the registers that are certainly read."""
        if name == "prfm" or name.startswith("prf") or "{" in operands or re.match(r"^[zp]\d|^w?\d", operands):
            return set()
        parts = operands.split(", ")
        is_source = cls.no_result.match(name) and not name.startswith(("stx", "stlx"))
        start = 0 if is_source else 2 if name in ("ldp", "ldnp", "ldpsw", "ldxp", "ldaxp") else 1
        return set().union(*(cls.named(part) for part in parts[start:])) if name not in ("b", "bl") else set()

    @classmethod
    def growth(cls, name, operands):
        if match := re.match(r"^sp, sp, #(0x[0-9a-f]+|\d+)(?:, lsl #12)?$", operands):
            amount = int(match[1], 0) << (12 if "lsl" in operands else 0)
            return {"add": -amount, "sub": amount}.get(name)
        match = re.search(r"\[sp(?:, #(-?\w+))?\](?:(!)|, #(-?\w+))", operands)
        if match and not name.startswith(("ld1", "ld2", "ld3", "ld4", "st1", "st2", "st3", "st4")):
            return -int(match[1] if match[2] else match[3], 0)
        return None


class RiscV64:
    options = ["-M", "no-aliases,numeric"]
    register = re.compile(r"(?<![\w.])x(\d+)\b")
    no_result = re.compile(r"^(c\.)?(s[bhwd]|s[wd]sp|fs[hwdq]|fs[wd]sp|beqz?|bnez?|blt|bge|bltu|bgeu|j|jr|fence|ecall|ebreak|unimp|nop|csr[rwsci]+|s[hb])(\.|$)")

    @classmethod
    def kind(cls, name, operands):
        first = operands.split(",")[0]
        is_link = first in ("x1", "x5")
        if name == "jal":
            return "call" if is_link else "jump"
        if name == "jalr":
            if first == "x0" and re.search(r", (0x)?0\(x1\)$", operands):
                return "return"
            return "call" if is_link else "jump"
        if name == "c.jr":
            return "return" if operands == "x1" else "jump"
        if name == "c.jalr":
            return "call"
        if name == "c.j":
            return "jump"
        if re.match(r"^(c\.)?b(eqz|nez|eq|ne|lt|ge|ltu|geu)$", name):
            return "branch"
        if name in ("c.ebreak", "ebreak", "c.unimp"):
            return "stop"
        if name == "c.nop" or (name == "addi" and first == "x0"):
            return "padding"
        return "other"

    @classmethod
    def named(cls, text):
        return {int(number) for number in cls.register.findall(text)} - {0}

    @classmethod
    def written(cls, name, operands):
        if name == "c.jalr":
            return {1}
        if name.startswith(("v", "csr", "unimp", "sc.", "lr.")):
            return None
        if cls.no_result.match(name):
            return set()
        return cls.named(operands.split(",")[0])

    @classmethod
    def read(cls, name, operands):
        if name.startswith("v"):
            return set()
        parts = operands.split(", ")
        two = re.match(r"^c\.(add|sub|and|or|xor|addi|addiw|addw|subw|slli|srli|srai|andi|addi16sp|mul|not|zext\..|sext\..)$", name)
        start = 0 if two or (cls.no_result.match(name) and not name.startswith("csr")) else 1
        found = set().union(*(cls.named(part) for part in parts[start:])) if parts[start:] else set()
        return found | (cls.named(parts[0]) if name in ("c.jr", "c.jalr") else set())

    @classmethod
    def growth(cls, name, operands):
        match = re.match(r"^x2, x2, (-?\w+)$", operands) if name == "addi" else re.match(r"^x2, (-?\w+)$", operands)
        return -int(match[1], 0) if match and name in ("addi", "c.addi", "c.addi16sp") else None


MACHINES = {"aarch64": AArch64, "riscv64": RiscV64}


def bits(value):
    return {n for n in range(32) if int(value, 16) >> n & 1}


def compare(machine, name, operands, decoded):
    _, _, kind, target, reads, writes, may_write, growth, copy, _ = decoded
    expected = machine.kind(name, operands)
    if kind != expected:
        yield f"is a {expected}"
    if kind in ("call", "jump", "branch") and (match := re.search(r"0x([0-9a-f]+)(?: <.*>)?$", operands)) and "(" not in operands.split("<")[0]:
        if int(match[1], 16) != int(target, 16):
            yield f"leads to {match[1]}"
    written = machine.written(name, operands)
    if written is not None:
        general = written - ({31} if machine is AArch64 else set())
        if not general <= bits(writes) | bits(may_write) or not bits(writes) <= general:
            yield f"writes {sorted(general)}"
        if (31 if machine is AArch64 else 2) in written and growth == "0" and copy == "0":
            yield "moves the stack pointer"
    missing = machine.read(name, operands) - bits(reads)
    if missing and kind != "return":
        yield f"reads {sorted(missing)}"
    if (amount := machine.growth(name, operands)) is not None and amount != int(growth) and amount != 0:
        yield f"moves the stack by {amount}"


def instructions(objdump, machine, file):
    text = subprocess.run([objdump, "-d", *machine.options, file], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        if match := LINE.match(line):
            words = match[2].split()
            code = b"".join(bytes.fromhex(word)[::-1] for word in words) if len(words[0]) > 2 else bytes.fromhex("".join(words))
            yield int(match[1], 16), code, match[3], re.sub(r"\s*(//|<|#0x[0-9a-f]+ +<).*$", "", match[4]).strip() if "//" in match[4] else match[4].strip()


def main():
    name, objdump, decoded, *files = sys.argv[1:]
    machine = MACHINES[name]
    count, unknown, different = 0, 0, collections.Counter()
    for file in files:
        listed = list(instructions(objdump, machine, file))
        asked = "".join(f"{address:x} {code.hex()}\n" for address, code, _, _ in listed)
        answers = subprocess.run([decoded, str(NUMBERS[name])], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
        assert len(answers) == len(listed), (len(answers), len(listed))
        for (address, code, mnemonic, operands), answer in zip(listed, answers):
            if mnemonic == "<unknown>":
                unknown += 1
                continue
            count += 1
            fields = answer.split()
            wrong = list(compare(machine, mnemonic, re.sub(r" <.*>$", "", operands), fields))
            if int(fields[1]) != len(code):
                wrong.append(f"has {len(code)} bytes")
            if wrong:
                different[mnemonic] += 1
                if different[mnemonic] <= 3:
                    print(f"{file}: {address:x}: {code.hex()} {mnemonic} {operands}: {', '.join(wrong)}; decoded: {' '.join(fields[2:])}")
    print(f"{name}: {count} instructions compared, {sum(different.values())} differ; {unknown} that llvm-objdump doesn't know")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
