"""elf.py - writes small ELF files with stack maps, of any number of headers and entries.

    file = File(X86_64)
    text = file.add(".text", CODE[X86_64], flags=ALLOC | EXECUTE)
    file.add_maps(file.address(text), 1)
    file.write("app")

The whole file is one segment, and a section's address is BASE and its offset.
"""
import struct

X86_64, AARCH64, RISCV64 = 62, 183, 243
BASE = 0x400000
WRITE, ALLOC, EXECUTE = 1, 2, 4
PROGBITS, SYMTAB, STRTAB, RELA, DYNAMIC, NOBITS, DYNSYM, RELR = 1, 2, 3, 4, 6, 8, 11, 19
VERNEED, VERSYM = 0x6FFFFFFE, 0x6FFFFFFF
LOAD, PT_DYNAMIC, NOTE = 1, 2, 4
RUN, WRITE_TO, READ = 1, 2, 4  # a segment's flags
EXEC, DYN = 2, 3
FUNC = 2

# A function that calls the next instruction, and where the call returns to.
CODE = {
    X86_64: b"\x50\xe8\0\0\0\0\x58\xc3",
    AARCH64: b"\xfd\x7b\xbf\xa9\x00\0\0\x94\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6",
    RISCV64: b"\xef\0\0\0\x67\x80\0\0",
}
RETURN = {X86_64: 6, AARCH64: 8, RISCV64: 4}


def record(at, slots=(0,)):
    """A statepoint at an offset in its function: three constants, and a pair for each slot."""
    locations = [(4, 0, 0)] * 3 + [(3, 7, slot) for slot in slots for _ in range(2)]
    text = struct.pack("<QIHH", 0xABCDEF00, at, 0, len(locations))
    text += b"".join(struct.pack("<BBHHHi", kind, 0, 8, register, 0, offset) for kind, register, offset in locations)
    text += b"\0" * (-len(text) % 8) + struct.pack("<HH", 0, 0)
    return text + b"\0" * (-len(text) % 8)


def stack_map(functions, records):
    """functions: (address, frame size, number of records)"""
    count = sum(function[2] for function in functions)
    header = struct.pack("<BBHIII", 3, 0, 0, len(functions), 0, count)
    return header + b"".join(struct.pack("<QQQ", *function) for function in functions) + records


def symbol(name, value, section, size=0, kind=FUNC, binding=1):
    return struct.pack("<IBBHQQ", name, binding << 4 | kind, 0, section, value, size)


class File:
    def __init__(self, machine=X86_64, kind=EXEC, segments=8, flags=READ | WRITE_TO | RUN):
        self.machine, self.kind, self.flags = machine, kind, flags
        self.start = (64 + 56 * (segments + 2) + 0xFFF) & ~0xFFF
        self.bytes = bytearray()
        self.names, self.name_places = bytearray(b"\0"), {}
        self.sections = [(0,) * 10]
        self.segments = []

    def name(self, text):
        if text not in self.name_places:
            self.name_places[text] = len(self.names)
            self.names += text.encode() + b"\0"
        return self.name_places[text]

    def put(self, contents, align=16):
        self.bytes += b"\0" * (-len(self.bytes) % align)
        self.bytes += contents
        return self.start + len(self.bytes) - len(contents)

    def add(self, name, contents, kind=PROGBITS, flags=ALLOC, link=0, entry=0):
        return self.add_at(name, self.put(contents), len(contents), kind, flags, link, entry)

    def add_at(self, name, offset, size, kind=PROGBITS, flags=ALLOC, link=0, entry=0):
        """A section of bytes that are there already."""
        address = BASE + offset if flags & ALLOC else 0
        self.sections.append((self.name(name), kind, flags, address, offset, size, link, 1, 8 if offset % 8 == 0 else 1, entry))
        return len(self.sections) - 1

    def address(self, section):
        return self.sections[section][3]

    def add_symbols(self, names, symbols, kind=SYMTAB):
        flags = ALLOC if kind == DYNSYM else 0
        strings = self.add(".dynstr" if kind == DYNSYM else ".strtab", names, STRTAB, flags)
        return self.add(".dynsym" if kind == DYNSYM else ".symtab", b"\0" * 24 + b"".join(symbols), kind, flags, strings, 24)

    def add_dynamic(self, entries, strings=0):
        words = b"".join(struct.pack("<QQ", *entry) for entry in list(entries) + [(0, 0)])
        section = self.add(".dynamic", words, DYNAMIC, ALLOC | WRITE, strings, 16)
        offset = self.sections[section][4]
        self.add_segment(PT_DYNAMIC, offset, BASE + offset, len(words))

    def add_segment(self, kind, offset, address, size, memory=None, flags=4):
        self.segments.append((kind, flags, offset, address, address, size, size if memory is None else memory, 0x1000))

    def add_maps(self, address, functions, machine=X86_64):
        step = len(CODE[machine])
        self.add(
            ".llvm_stackmaps",
            stack_map([(address + step * i, 8, 1) for i in range(functions)], record(RETURN[machine]) * functions),
        )

    def write(self, path):
        names = self.add(".shstrtab", b"", STRTAB, 0)
        offset = self.put(bytes(self.names), 1)
        self.sections[names] = self.sections[names][:4] + (offset, len(self.names)) + self.sections[names][6:]
        self.bytes += b"\0" * (-len(self.bytes) % 8)
        end = self.start + len(self.bytes)
        segments = [(LOAD, self.flags, 0, BASE, BASE, end, end, 0x1000)] + self.segments
        header = struct.pack(
            "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", self.kind, self.machine, 1, BASE + self.start, 64, end, 0,
            64, 56, len(segments), 64, len(self.sections), names,
        )
        header += b"".join(struct.pack("<IIQQQQQQ", *segment) for segment in segments)
        assert len(header) <= self.start
        with open(path, "wb") as file:
            file.write(header + b"\0" * (self.start - len(header)))
            file.write(self.bytes)
            file.write(b"".join(struct.pack("<IIQQQQIIQQ", *section) for section in self.sections))
