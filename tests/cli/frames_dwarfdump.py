"""Compares the frames of a dump with what `readelf --debug-dump=frames-interp` makes of the same unwind tables.

    frames_readelf.py PROGRAM DUMP    prints how many records were compared, and those that differ
"""

import bisect
import json
import re
import subprocess
import sys

NAMES = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra".split()


def place(text):
    """Of `rsp+16`: the register's number, and the offset. None: no such place."""
    match = re.fullmatch(r"([a-z]+[0-9]*)([+-][0-9]+)", text)
    return (NAMES.index(match[1]), int(match[2])) if match else None


def read_rows(program):
    """Rows (address, the function's end, CFA, saved registers), by address."""
    text = subprocess.run(["readelf", "--wide", "--debug-dump=frames-interp", program], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    rows, end, columns = [], 0, []
    for line in text.splitlines():
        words = line.split()
        fde = re.search(r" FDE .* pc=[0-9a-f]+\.\.([0-9a-f]+)$", line)
        if fde:
            end = int(fde[1], 16)
        elif " CIE " in line:
            end = 0
        elif words[:2] == ["LOC", "CFA"]:
            columns = words[2:]
        elif end and re.fullmatch(r"[0-9a-f]{16}", words[0] if words else ""):
            saved = {}
            for name, rule in zip(columns, words[2:]):
                if rule.startswith("c"):
                    saved[NAMES.index(name)] = int(rule[1:])
            rows.append((int(words[0], 16), end, place(words[1]), saved))
    return sorted(rows, key=lambda row: row[0])


def row_at(rows, starts, address):
    """The last row at or before an address; None if its function ends before."""
    number = bisect.bisect_right(starts, address) - 1
    return rows[number] if number >= 0 and address < rows[number][1] else None


def main():
    program, dump = sys.argv[1:]
    rows = read_rows(program)
    starts = [row[0] for row in rows]
    compared = different = unknown = larger = by_register = 0
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
        larger += cfa[0] == 7 and record["frame_size"] is not None and cfa[1] - 8 > record["frame_size"]
        by_register += cfa[0] != 7
        if row is None or row[2] != cfa or row[3] != saved:
            different += 1
            print(f"0x{record['address']:x}: {cfa} {saved}, not {row}")
    print(f"{compared} compared, {different} different, {unknown} unknown, {larger} larger, {by_register} by a register")
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
