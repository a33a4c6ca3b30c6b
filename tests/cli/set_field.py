"""set_field.py FILE FIELD VALUE: overwrites a field of a little-endian ELF64 file.

FIELD is "file NAME", "section .some_section NAME", or "segment N NAME" (N counts the PT_LOADs), where NAME is that of
the ELF specification without its prefix: "file shoff", "section .text size", "segment 0 filesz". VALUE is an integer;
a leading + or - makes it relative to what is there.
"""
import sys

FILE = {"type": (16, 2), "machine": (18, 2), "version": (20, 4), "entry": (24, 8), "phoff": (32, 8), "shoff": (40, 8),
        "flags": (48, 4), "ehsize": (52, 2), "phentsize": (54, 2), "phnum": (56, 2), "shentsize": (58, 2),
        "shnum": (60, 2), "shstrndx": (62, 2)}
SECTION = {"name": (0, 4), "type": (4, 4), "flags": (8, 8), "addr": (16, 8), "offset": (24, 8), "size": (32, 8),
           "link": (40, 4), "info": (44, 4), "addralign": (48, 8), "entsize": (56, 8)}
SEGMENT = {"type": (0, 4), "flags": (4, 4), "offset": (8, 8), "vaddr": (16, 8), "paddr": (24, 8), "filesz": (32, 8),
           "memsz": (40, 8), "align": (48, 8)}
PT_LOAD = 1


def get(data, start, field):
    offset, size = field
    return int.from_bytes(data[start + offset:start + offset + size], "little")


def section_start(data, name):
    table = get(data, 0, FILE["shoff"])
    headers = [table + 64 * n for n in range(get(data, 0, FILE["shnum"]))]
    names = get(data, headers[get(data, 0, FILE["shstrndx"])], SECTION["offset"])
    for header in headers:
        start = names + get(data, header, SECTION["name"])
        if data[start:data.index(b"\0", start)] == name.encode():
            return header
    sys.exit(f"no section {name}")


def segment_start(data, number):
    table = get(data, 0, FILE["phoff"])
    headers = [table + 56 * n for n in range(get(data, 0, FILE["phnum"]))]
    return [header for header in headers if get(data, header, SEGMENT["type"]) == PT_LOAD][int(number)]


def field_place(data, field):
    """The offset and the size of a field."""
    kind, *which, name = field.split()
    if kind == "file":
        start, (offset, size) = 0, FILE[name]
    elif kind == "section":
        start, (offset, size) = section_start(data, *which), SECTION[name]
    else:
        start, (offset, size) = segment_start(data, *which), SEGMENT[name]
    return start + offset, size


def changed(data, field, value):
    offset, size = field_place(data, field)
    number = int(value, 0)
    if value[0] in "+-":
        number += get(data, 0, (offset, size))
    return data[:offset] + (number % 2 ** (8 * size)).to_bytes(size, "little") + data[offset + size:]


def main(path, field, value):
    with open(path, "r+b") as file:
        data = file.read()
        file.seek(0)
        file.write(changed(data, field, value))


if __name__ == "__main__":
    main(*sys.argv[1:])
