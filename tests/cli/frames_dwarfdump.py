"""Compares the frames of a dump with what `llvm-dwarfdump --eh-frame` makes of the same unwind tables.

    frames_dwarfdump.py LLVM PROGRAM DUMP    prints how many records were compared, and those that differ
"""

import bisect
import json
import re
import subprocess
import sys

# LLVM's names of the registers of x86-64, by DWARF's numbers. The names of AArch64 (w0, wsp) and RISC-V (x0) include the
# numbers.
NAMES = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
PRESERVED = {2: {8, 9, *range(18, 28)}}  # by RISC-V's stack pointer: s0 to s11, which a shared prologue saves, told or not
SIGNED = 34  # of AArch64: whether the return address is signed; 3: together with its place


def number_of(name):
    """A register's number; None of those that aren't told of: they hold numbers with a fraction, and vectors."""
    name = name.lower()
    match = re.fullmatch(r"(?:w|x)([0-9]+)", name)
    return NAMES.index(name) if name in NAMES else 31 if name == "wsp" else int(match[1]) if match else None


def read_row(text):
    """Of `CFA=RSP+16: RBX=[CFA-16], RIP=[CFA-8]`: the CFA's register and offset, saved registers' offsets, and the signature."""
    cfa = re.match(r"CFA=([A-Za-z0-9]+)([+-][0-9]+)?(: |$)", text)
    saved = {number_of(match[1]): int(match[2] or 0) for match in re.finditer(r"([A-Za-z0-9_]+)=\[CFA([+-][0-9]+)?\]", text)}
    saved.pop(None, None)
    return (number_of(cfa[1]), int(cfa[2] or 0)) if cfa else None, saved, re.search(f"reg{SIGNED}=[13]", text) is not None


def read_rows(llvm, program):
    """Rows (address, the function's end, CFA, saved registers, signature), by address."""
    text = subprocess.run([f"{llvm}/bin/llvm-dwarfdump", "--eh-frame", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows, end = [], 0
    for line in text.splitlines():
        entry = re.match(r"[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ (?:CIE|FDE cie=.* pc=[0-9a-f]+\.\.\.([0-9a-f]+)$)", line)
        row = re.match(r"  0x([0-9a-f]+): (CFA=.*)", line)
        if entry:
            end = int(entry[1] or "0", 16)
        elif row and end:
            rows.append((int(row[1], 16), end, *read_row(row[2])))
    return sorted(rows, key=lambda row: row[0])


def row_at(rows, starts, address):
    """The last row at or before an address; None if its function ends before."""
    number = bisect.bisect_right(starts, address) - 1
    return rows[number] if number >= 0 and address < rows[number][1] else None


def main():
    llvm, program, dump = sys.argv[1:]
    rows = read_rows(llvm, program)
    starts = [row[0] for row in rows]
    stack_pointer = rows[0][2][0]  # functions start with a CFA by that
    pushed_by_call = 8 if stack_pointer == NAMES.index("rsp") else 0
    compared = different = unknown = larger = by_register = signed = saves_more = 0
    for line in open(dump, encoding="utf-8"):
        record = json.loads(line)
        frame = record["frame"]
        row = row_at(rows, starts, record["address"] - (record["kind"] == "statepoint"))
        if frame is None:
            unknown += 1
            if row is not None and row[2] is not None:
                different += 1
                print(f"0x{record['address']:x}: not known, but {row}")
            continue
        compared += 1
        cfa = (frame["cfa_register"], frame["cfa_offset"])
        saved = {place["register"]: place["offset"] for place in frame["saved"]}
        is_fixed = cfa[0] == stack_pointer
        larger += is_fixed and record["frame_size"] is not None and cfa[1] - pushed_by_call > record["frame_size"]
        by_register += not is_fixed
        signed += frame["return_address_signed"]
        more = saved.keys() - (row[3].keys() if row is not None else set())
        more &= PRESERVED.get(stack_pointer, set())
        saves_more += bool(more)
        saved = {register: offset for register, offset in saved.items() if register not in more}
        if row is None or row[2:] != (cfa, saved, frame["return_address_signed"]):
            different += 1
            print(f"0x{record['address']:x}: {cfa} {saved} {frame['return_address_signed']}, not {row}")
    print(f"{compared} compared, {different} different, {unknown} unknown, {larger} larger, {by_register} by a register, "
          f"{signed} signed, {saves_more} save more")
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
