"""Write stack maps and small ELF64 x86-64 executables that hold them, for the scripts beside this one.

Nothing here is shared with the reader in stackmap_oracle.py: a mistake made in both would hide itself.
The executables are well-formed, and linkers' layout rules hold (a loaded byte's address and file offset are
equal modulo the page size), but they are never run.
"""

import dataclasses
import struct
from typing import NamedTuple, Sequence, Tuple

PAGE = 4096
UNKNOWN_STACK_SIZE = 2**64 - 1
REGISTER, DIRECT, INDIRECT, CONSTANT, CONSTANT_INDEX = 1, 2, 3, 4, 5

FILE_HEADER_SIZE = 64
PROGRAM_HEADER_SIZE = 56
SECTION_HEADER_SIZE = 64

PROGBITS, SYMTAB, STRTAB = 1, 2, 3
ALLOC, EXECUTABLE = 2, 4
LOCAL, GLOBAL, WEAK = 0, 1, 2
NOTYPE, FUNC = 0, 2

# ---- Stack maps ----------------------------------------------------------------------------------------


class Location(NamedTuple):
    kind: int
    size: int
    register: int
    value: int


class Record(NamedTuple):
    id: int
    offset: int
    locations: Sequence[Location] = ()
    live_outs: Sequence[Tuple[int, int]] = ()


class Function(NamedTuple):
    address: int
    stack_size: int
    records: Sequence[Record] = ()


def constant(value):
    return Location(CONSTANT, 8, 0, value)


def spill_slot(offset, register=7):
    return Location(INDIRECT, 8, register, offset)


def padding(size):
    return bytes(-size % 8)


def encode_location(location):
    kind, size, register, value = location
    return struct.pack("<BBHHHI", kind, 0, size, register, 0, value % 2**32)


def encode_record(record):
    start = struct.pack("<QIHH", record.id, record.offset, 0, len(record.locations))
    locations = b"".join(map(encode_location, record.locations))
    live_outs = struct.pack("<HH", 0, len(record.live_outs))
    live_outs += b"".join(struct.pack("<HBB", register, 0, size) for register, size in record.live_outs)
    return start + locations + padding(len(locations)) + live_outs + padding(len(live_outs))


def encode_submap(functions, constants=()):
    records = [record for function in functions for record in function.records]
    parts = [struct.pack("<BBHIII", 3, 0, 0, len(functions), len(constants), len(records))]
    for function in functions:
        parts.append(struct.pack("<QQQ", function.address, function.stack_size, len(function.records)))
    parts += [struct.pack("<Q", value) for value in constants]
    parts += map(encode_record, records)
    return b"".join(parts)


# ---- ELF -----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Section:
    name: str
    data: bytes
    type: int = PROGBITS
    flags: int = 0
    address: int = 0
    link: int = 0
    info: int = 0
    alignment: int = 8
    entry_size: int = 0
    offset: int = 0


class Symbol(NamedTuple):
    name: str
    address: int
    size: int
    type: int = FUNC
    binding: int = GLOBAL


class StringTable:
    def __init__(self):
        self.data = bytearray(1)

    def add(self, text):
        offset = len(self.data)
        self.data += text.encode() + b"\0"
        return offset


def section_index_at(sections, address):
    """The number of the section that this address belongs to, or of the code that ends there."""
    for index, section in enumerate(sections, 1):
        if section.address <= address <= section.address + len(section.data):
            return index
    raise ValueError(f"no section at {address:#x}")


def symbol_sections(symbols, sections):
    """.symtab and .strtab, to stand after these sections; local symbols first, as ELF wants them."""
    names = StringTable()
    entries = [bytes(24)]
    for symbol in sorted(symbols, key=lambda symbol: symbol.binding != LOCAL):
        info = symbol.binding << 4 | symbol.type
        index = section_index_at(sections, symbol.address)
        name = names.add(symbol.name)
        entries.append(struct.pack("<IBBHQQ", name, info, 0, index, symbol.address, symbol.size))
    strings_index = 1 + len(sections) + 1
    locals_end = 1 + sum(symbol.binding == LOCAL for symbol in symbols)
    return [
        Section(".symtab", b"".join(entries), SYMTAB, 0, 0, strings_index, locals_end, 8, 24),
        Section(".strtab", bytes(names.data), STRTAB, alignment=1),
    ]


def section_header(section, name):
    return struct.pack(
        "<IIQQQQIIQQ",
        name,
        section.type,
        section.flags,
        section.address,
        section.offset,
        len(section.data),
        section.link,
        section.info,
        section.alignment,
        section.entry_size,
    )


def program_headers(headers_end, sections, base):
    """The headers themselves, one segment for each loaded section, and a stack that isn't executable."""
    table_size = headers_end - FILE_HEADER_SIZE
    segments = [
        (6, 4, FILE_HEADER_SIZE, base + FILE_HEADER_SIZE, table_size, 8),
        (1, 4, 0, base, headers_end, PAGE),
    ]
    for section in sections:
        if section.flags & ALLOC:
            access = 4 | bool(section.flags & EXECUTABLE)
            segments.append((1, access, section.offset, section.address, len(section.data), PAGE))
    segments.append((0x6474E551, 6, 0, 0, 0, 16))
    return b"".join(
        struct.pack("<IIQQQQQQ", kind, access, offset, address, address, size, size, alignment)
        for kind, access, offset, address, size, alignment in segments
    )


def file_header(entry, section_headers, section_count, segment_count):
    return struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\2\1\1",
        2,
        62,
        1,
        entry,
        FILE_HEADER_SIZE,
        section_headers,
        0,
        FILE_HEADER_SIZE,
        PROGRAM_HEADER_SIZE,
        segment_count,
        SECTION_HEADER_SIZE,
        section_count,
        section_count - 1,
    )


def place_sections(sections, start):
    """Gives every section its file offset, after `start`; returns the end of the last one."""
    end = start
    for section in sections:
        if section.flags & ALLOC:
            section.offset = end + (section.address - end) % PAGE
        else:
            section.offset = end + -end % section.alignment
        end = section.offset + len(section.data)
    return end


def write_executable(sections, symbols, entry, base=0x400000):
    """The bytes of an executable with these sections, which come in address order above `base`.

    Layout: file header, program headers, section headers, then the sections. Each loaded section has a
    segment of its own. The section headers stand in front so that a cut at the end hits a section.
    """
    sections = list(sections) + symbol_sections(symbols, sections)
    names = StringTable()
    name_offsets = [names.add(section.name) for section in sections]
    name_offsets.append(names.add(".shstrtab"))
    sections.append(Section(".shstrtab", bytes(names.data), STRTAB, alignment=1))

    loaded = sum(bool(section.flags & ALLOC) for section in sections)
    headers_end = FILE_HEADER_SIZE + PROGRAM_HEADER_SIZE * (loaded + 3)
    section_count = 1 + len(sections)
    end = place_sections(sections, headers_end + SECTION_HEADER_SIZE * section_count)

    image = bytearray(end)
    image[:FILE_HEADER_SIZE] = file_header(entry, headers_end, section_count, loaded + 3)
    image[FILE_HEADER_SIZE:headers_end] = program_headers(headers_end, sections, base)
    headers = bytes(SECTION_HEADER_SIZE) + b"".join(map(section_header, sections, name_offsets))
    image[headers_end : headers_end + len(headers)] = headers
    for section in sections:
        image[section.offset : section.offset + len(section.data)] = section.data
    return image
