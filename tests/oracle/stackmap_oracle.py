#!/usr/bin/env python3
"""Print every record of the LLVM stack maps of a linked program, one JSON object per line.

This is a second reader of `.llvm_stackmaps`, written from LLVM's documents "Stack maps and patch points
in LLVM" and "Garbage Collection Safepoints in LLVM". It is the judge in the tests of another program, so
it prefers plain steps over speed, and refuses what it doesn't understand.

What has to be known to read the section of a *linked* program:

* Each object file brings one stack map; the linker lays them one after another, with zero bytes between
  and after them. A sub-map (as it is called here) begins at a multiple of 8 with its version number, 3.
* A sub-map is a header, the functions, a pool of 64-bit constants, and the records. A function says how
  many of the records are its own; records come in the order of the functions. All is little-endian:

      header    u8 version (3), u8 0, u16 0, u32 functions, u32 constants, u32 records
      function  u64 address, u64 stack size (2^64-1: not known statically), u64 record count
      constant  u64
      record    u64 ID, u32 instruction offset, u16 reserved, u16 locations
                locations of 12 bytes; zero bytes up to a multiple of 8
                u16 zero, u16 live-outs; live-outs of 4 bytes; zero bytes up to a multiple of 8
      location  u8 kind, u8 0, u16 size, u16 register, u16 0, i32 offset, constant, or index of a constant
      live-out  u16 register, u8 0, u8 size

  Bytes that the documents call reserved are not looked at.
* A function that the linker threw away (--gc-sections, a COMDAT group that another object file had, too)
  keeps its place in the sub-map, with address 0. It is skipped with its records.
* Identical code folding gives two functions one address, and so makes equal records. Records with equal
  content at one address, of one function address, count once.
* In a position-independent file a function's address is a dynamic relocation. This reader gives every
  address as if the file was loaded at 0, which is also how its symbols count:
    - RELATIVE in a RELA section: the address is the relocation's addend, and the bytes in place mean nothing;
    - symbolic (R_X86_64_64, R_AARCH64_ABS64): the symbol's value in this file plus the addend;
    - RELATIVE in a RELR section: the address lies in place already, so there is nothing to do.

A record of a GC statepoint has locations with a meaning by position: three constants (calling convention,
flags, number of deopt locations), the deopt state, (base, derived) pairs, stack objects. Nothing in the
record says that it is a statepoint, nor where the pairs end: see `split_statepoint`.
"""

import argparse
import collections
import gc
import json
import re
import struct
import sys
from typing import NamedTuple, Optional, Tuple

UNKNOWN_STACK_SIZE = 2**64 - 1
ADDRESS_LIMIT = 2**64


class Unusable(Exception):
    """The input can't be read; the text says why."""


# ---- ELF -----------------------------------------------------------------------------------------------

FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")

FILE_TYPE_RELOCATABLE = 1
MACHINE_X86_64 = 62
MACHINE_AARCH64 = 183

SECTION_TYPE_SYMTAB = 2
SECTION_TYPE_RELA = 4
SECTION_TYPE_NOBITS = 8
SECTION_TYPE_DYNSYM = 11
SECTION_FLAG_ALLOC = 2
SECTION_FLAG_CODE = 4
SECTION_FLAG_COMPRESSED = 0x800
SECTION_INDEX_UNDEFINED = 0
SECTION_INDEX_EXTENDED = 0xFFFF

SYMBOL_TYPE_NOTYPE = 0
SYMBOL_TYPE_FUNC = 2
SYMBOL_TYPE_GNU_IFUNC = 10
SYMBOL_BINDING_GLOBAL = 1
SYMBOL_BINDING_WEAK = 2

RELOCATION_NONE = 0
RELATIVE = {MACHINE_X86_64: 8, MACHINE_AARCH64: 1027}
SYMBOLIC = {MACHINE_X86_64: 1, MACHINE_AARCH64: 257}


class Section(NamedTuple):
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


class Symbol(NamedTuple):
    name: str
    value: int
    type: int
    binding: int
    section_index: int


class ElfFile:
    """Section headers, section contents and symbols of a little-endian ELF64 file."""

    def __init__(self, data):
        self.data = data
        fields = self._file_header()
        self.type, self.machine = fields[1], fields[2]
        self.sections = self._read_sections(fields)

    def _file_header(self):
        if self.data[:4] != b"\x7fELF":
            raise Unusable("not an ELF file")
        if len(self.data) < FILE_HEADER.size:
            raise Unusable("the ELF header is cut off")
        if self.data[4] != 2:
            raise Unusable("not a 64-bit ELF file")
        if self.data[5] != 1:
            raise Unusable("not a little-endian ELF file")
        return FILE_HEADER.unpack_from(self.data)

    def _bytes(self, offset, size, what):
        if offset + size > len(self.data):
            raise Unusable(f"{what} lies beyond the end of the file")
        return self.data[offset : offset + size]

    def _read_sections(self, file_header):
        table_offset = file_header[6]
        entry_size, count, names_index = file_header[11:14]
        if table_offset == 0:
            raise Unusable("no section headers")
        if entry_size != SECTION_HEADER.size:
            raise Unusable(f"section headers of {entry_size} bytes")
        first = SECTION_HEADER.unpack(self._bytes(table_offset, entry_size, "the section header table"))
        count = count or first[5]
        if names_index == SECTION_INDEX_EXTENDED:
            names_index = first[6]
        table = self._bytes(table_offset, count * entry_size, "the section header table")
        headers = list(SECTION_HEADER.iter_unpack(table))
        if names_index >= len(headers):
            raise Unusable("no section has the index of the section names")
        names = self._bytes(headers[names_index][4], headers[names_index][5], "the section name table")
        return [Section(string_at(names, header[0]), *header[1:7]) for header in headers]

    def find_section(self, name):
        found = [section for section in self.sections if section.name == name]
        if not found:
            raise Unusable(f"no section {name}")
        if len(found) > 1:
            raise Unusable(f"more than one section {name}")
        return found[0]

    def contents(self, section):
        if section.type == SECTION_TYPE_NOBITS:
            raise Unusable(f"section {section.name} has no bytes in the file")
        if section.flags & SECTION_FLAG_COMPRESSED:
            raise Unusable(f"section {section.name} is compressed")
        return self._bytes(section.offset, section.size, f"section {section.name}")

    def linked_section(self, section):
        if section.link >= len(self.sections):
            raise Unusable(f"section {section.name} is linked to a section that isn't there")
        return self.sections[section.link]

    def entries(self, section, layout):
        contents = self.contents(section)
        return layout.iter_unpack(contents[: len(contents) // layout.size * layout.size])

    def symbols(self, section):
        names = self.contents(self.linked_section(section))
        return [
            Symbol(string_at(names, name), value, info & 15, info >> 4, index)
            for name, info, _, index, value, _ in self.entries(section, SYMBOL)
        ]


def string_at(table, offset):
    end = table.find(b"\0", offset)
    if offset >= len(table) or end < 0:
        raise Unusable("a name lies outside its string table")
    return table[offset:end].decode("utf-8", "surrogateescape")


# ---- Addresses: relocations and names ------------------------------------------------------------------


def relocated_contents(elf, section):
    """The section's bytes as they are in memory when the file is loaded at address 0."""
    contents = bytearray(elf.contents(section))
    for table in elf.sections:
        if table.type == SECTION_TYPE_RELA and table.flags & SECTION_FLAG_ALLOC:
            apply_relocations(elf, table, section, contents)
    return bytes(contents)


def apply_relocations(elf, table, section, contents):
    symbols = None
    for address, info, addend in elf.entries(table, RELOCATION):
        offset = address - section.address
        if not -8 < offset < len(contents):
            continue
        if offset < 0 or offset + 8 > len(contents):
            raise Unusable(f"a relocation reaches across the border of section {section.name}")
        kind = info & 0xFFFFFFFF
        if kind == RELOCATION_NONE:
            continue
        if kind == RELATIVE.get(elf.machine):
            value = addend
        elif kind == SYMBOLIC.get(elf.machine):
            if symbols is None:
                symbols = elf.symbols(elf.linked_section(table))
            value = symbolic_value(symbols, info >> 32, addend)
        else:
            raise Unusable(f"a relocation of type {kind} in section {section.name}")
        struct.pack_into("<Q", contents, offset, value % ADDRESS_LIMIT)


def symbolic_value(symbols, index, addend):
    """The address of this file's own definition. A function that isn't defined here counts as discarded."""
    if index >= len(symbols):
        raise Unusable("a relocation against a symbol that isn't there")
    if symbols[index].section_index == SECTION_INDEX_UNDEFINED:
        return 0
    return symbols[index].value + addend


def may_name_function(elf, symbol):
    mapping_symbol = elf.machine == MACHINE_AARCH64 and symbol.name.startswith(("$x", "$d"))
    return (
        symbol.type in (SYMBOL_TYPE_NOTYPE, SYMBOL_TYPE_FUNC, SYMBOL_TYPE_GNU_IFUNC)
        and symbol.section_index != SECTION_INDEX_UNDEFINED
        and symbol.name != ""
        and not mapping_symbol
    )


def preference(symbol):
    """Sorts the best name for a function first: functions, then global, then weak symbols."""
    binding_order = {SYMBOL_BINDING_GLOBAL: 0, SYMBOL_BINDING_WEAK: 1}
    return symbol.type == SYMBOL_TYPE_NOTYPE, binding_order.get(symbol.binding, 2)


def names_by_address(elf):
    """For each address, the names of the symbols that may stand for a function there, the best first."""
    candidates = collections.defaultdict(list)
    for section in elf.sections:
        if section.type in (SECTION_TYPE_SYMTAB, SECTION_TYPE_DYNSYM):
            for symbol in elf.symbols(section):
                if may_name_function(elf, symbol):
                    candidates[symbol.value].append(symbol)
    return {
        address: [symbol.name for symbol in sorted(symbols, key=preference)]
        for address, symbols in candidates.items()
    }


# ---- Sub-maps: the bytes -------------------------------------------------------------------------------

VERSION = 3
HEADER = struct.Struct("<BBHIII")
FUNCTION = struct.Struct("<QQQ")
CONSTANT = struct.Struct("<Q")
RECORD_START = struct.Struct("<QIHH")
LOCATION = struct.Struct("<BxHHxxi")
LIVE_OUT_START = struct.Struct("<HH")
LIVE_OUT = struct.Struct("<HxB")

REGISTER, DIRECT, INDIRECT, SMALL_CONSTANT, CONSTANT_INDEX = 1, 2, 3, 4, 5


class RawFunction(NamedTuple):
    address: int
    stack_size: int
    record_count: int


class RawLocation(NamedTuple):
    kind: int
    size: int
    register: int
    value: int


class LiveOut(NamedTuple):
    register: int
    size: int


class RawRecord(NamedTuple):
    id: int
    offset: int
    locations: Tuple[RawLocation, ...]
    live_outs: Tuple[LiveOut, ...]


class SubMap(NamedTuple):
    functions: Tuple[RawFunction, ...]
    constants: Tuple[int, ...]
    records: Tuple[RawRecord, ...]


class Reader:
    """Takes structures from the front of a section, and never reads past its end."""

    def __init__(self, contents):
        self.contents = contents
        self.position = 0

    def remaining(self):
        return len(self.contents) - self.position

    def take(self, layout, what):
        (values,) = self.take_many(layout, 1, what)
        return values

    def take_many(self, layout, count, what):
        size = layout.size * count
        if size > self.remaining():
            raise Unusable(f"the section ends within {what} at byte {self.position}")
        start = self.position
        self.position += size
        return layout.iter_unpack(self.contents[start : self.position])

    def align(self, what):
        padding = -self.position % 8
        if padding > self.remaining():
            raise Unusable(f"the section ends within the padding after {what}")
        self.position += padding

    def skip_zero_words(self):
        while self.contents[self.position : self.position + 8] == bytes(8):
            self.position += 8
        if self.remaining() < 8 and not any(self.contents[self.position :]):
            self.position = len(self.contents)


def parse_section(contents):
    """All sub-maps of a section, in order."""
    reader = Reader(contents)
    submaps = []
    reader.skip_zero_words()
    while reader.remaining():
        submaps.append(parse_submap(reader))
        reader.skip_zero_words()
    return submaps


def parse_submap(reader):
    start = reader.position
    version, _, _, function_count, constant_count, record_count = reader.take(HEADER, "a header")
    if version != VERSION:
        raise Unusable(f"version {version} instead of {VERSION} at byte {start} of the section")
    functions = tuple(
        RawFunction(*values) for values in reader.take_many(FUNCTION, function_count, "the functions")
    )
    constants = tuple(value for (value,) in reader.take_many(CONSTANT, constant_count, "the constants"))
    if sum(function.record_count for function in functions) != record_count:
        raise Unusable(f"the functions' record counts don't add up in the sub-map at byte {start}")
    records = tuple(parse_record(reader) for _ in range(record_count))
    return SubMap(functions, constants, records)


def parse_record(reader):
    identifier, offset, _, location_count = reader.take(RECORD_START, "a record")
    locations = tuple(
        RawLocation(*values) for values in reader.take_many(LOCATION, location_count, "the locations")
    )
    reader.align("the locations")
    _, live_out_count = reader.take(LIVE_OUT_START, "the number of live-outs")
    live_outs = tuple(
        LiveOut(*values) for values in reader.take_many(LIVE_OUT, live_out_count, "the live-outs")
    )
    reader.align("the live-outs")
    return RawRecord(identifier, offset, locations, live_outs)


# ---- Records: the meaning ------------------------------------------------------------------------------

KIND_NAMES = {REGISTER: "register", DIRECT: "direct", INDIRECT: "indirect", SMALL_CONSTANT: "constant"}
CALLING_CONVENTIONS = range(1024)
STATEPOINT_ID = 0xABCDEF00  # that LLVM gives to a statepoint without one
FLAGS = range(4)


class Place(NamedTuple):
    """Where a value is: a location in memory or in a register, or a constant."""

    kind: str
    register: Optional[int]
    value: int
    size: int


class Statepoint(NamedTuple):
    calling_convention: int
    flags: int
    deopt: Tuple[Place, ...]
    pairs: Tuple[Tuple[Place, Place], ...]
    allocas: Tuple[Place, ...]


class Record(NamedTuple):
    address: int
    function_address: int
    offset: int
    frame_size: Optional[int]
    id: int
    statepoint: Optional[Statepoint]
    locations: Tuple[Place, ...]
    live_outs: Tuple[LiveOut, ...]


class StackMaps(NamedTuple):
    records: Tuple[Record, ...]
    functions: int
    discarded_functions: int
    duplicate_records: int


def place_of(location, constants):
    if location.kind == CONSTANT_INDEX:
        index = location.value % 2**32
        if index >= len(constants):
            raise Unusable(f"constant {index} of {len(constants)}")
        return Place("constant", None, constants[index], location.size)
    if location.kind not in KIND_NAMES:
        raise Unusable(f"a location of kind {location.kind}")
    register = None if location.kind == SMALL_CONSTANT else location.register
    return Place(KIND_NAMES[location.kind], register, location.value, location.size)


def split_statepoint(places):
    """The parts of a statepoint's list of locations, or None where the list can't be a statepoint's.

    LLVM writes three constants (calling convention, flags, number of deopt locations), the deopt state,
    the (base, derived) pairs, and one direct location for each stack object among the live values. The
    number of pairs isn't written. A spilled or constant pointer is never direct, so the direct locations
    at the end are the stack objects; but where an odd number of locations precedes them, the first of
    them is the derived pointer that the last base lacks. Nor is it a statepoint's if the constants make no sense.
    """
    if [place.kind for place in places[:3]] != ["constant"] * 3:
        return None
    calling_convention, flags, deopt_count = (place.value for place in places[:3])
    if calling_convention not in CALLING_CONVENTIONS or flags not in FLAGS:
        return None
    pairs_start = 3 + deopt_count
    if not 3 <= pairs_start <= len(places):
        return None
    pairs_end = len(places)
    while pairs_end > pairs_start and places[pairs_end - 1].kind == "direct":
        pairs_end -= 1
    pairs_end += (pairs_end - pairs_start) % 2
    if pairs_end > len(places):
        return None
    pairs = zip(places[pairs_start:pairs_end:2], places[pairs_start + 1 : pairs_end : 2])
    return Statepoint(
        calling_convention,
        flags,
        places[3:pairs_start],
        tuple(dict.fromkeys(pairs)),
        places[pairs_end:],
    )


def any_of(values):
    """A pattern of one byte of these."""
    return b"[" + b"".join(b"\\x%02x" % value for value in values) + b"]"


def operands(group):
    """A pattern of a ModRM byte with this number in its middle, and of what belongs to it."""

    def modrm(mode, registers):
        return any_of(mode << 6 | group << 3 | register for register in registers)

    without_sib = (0, 1, 2, 3, 5, 6, 7)
    long_sib = any_of(range(5, 256, 8)) + b".{4}"
    short_sib = any_of(sib for sib in range(256) if sib % 8 != 5)
    forms = [
        modrm(3, range(8)),
        modrm(0, (0, 1, 2, 3, 6, 7)),
        modrm(0, (5,)) + b".{4}",
        modrm(0, (4,)) + b"(?:" + long_sib + b"|" + short_sib + b")",
        modrm(1, without_sib) + b".",
        modrm(1, (4,)) + b"..",
        modrm(2, without_sib) + b".{4}",
        modrm(2, (4,)) + b".{5}",
    ]
    return b"(?:" + b"|".join(forms) + b")"


# The forms of an x86-64 call before its return address, and of a nop in its place.
CALL = re.compile(b"(?s:(?:\xe8.{4}|\xff" + operands(2) + b"|\x90|\x0f\x1f" + operands(0) + b"))\\Z")


def may_return_to(elf, address):
    """Whether a call may return to the address, as far as that is known."""
    for section in elf.sections if elf.machine == MACHINE_X86_64 else ():
        if section.flags & SECTION_FLAG_CODE and section.type != SECTION_TYPE_NOBITS:
            before = address - section.address
            if 0 < before <= section.size:
                code = elf.contents(section)[max(0, before - 8) : before]
                return any(CALL.match(code, start) for start in range(len(code)))
    return True


def is_doubtful(statepoint, places, frame_size, stack_pointer):
    """Whether a statepoint's operands might be a stack map's, whose slots are never counted from the stack pointer."""
    slots = [place for place in places[3:] if place.kind in ("direct", "indirect")]
    return bool(statepoint.pairs) and (frame_size is None or all(place.register != stack_pointer for place in slots))


def interpret(raw, function, constants, may_return, stack_pointer=None):
    """The record with its meaning."""
    address = function.address + raw.offset
    if address >= ADDRESS_LIMIT:
        raise Unusable(f"a record at address {address:#x}")
    places = tuple(place_of(location, constants) for location in raw.locations)
    statepoint = split_statepoint(places)
    if raw.live_outs or (raw.id != STATEPOINT_ID and (raw.offset == 0 or not may_return(address))):
        statepoint = None  # a patch point, or a stack map that looks like a statepoint
    frame_size = None if function.stack_size == UNKNOWN_STACK_SIZE else function.stack_size
    if statepoint and raw.id != STATEPOINT_ID and is_doubtful(statepoint, places, frame_size, stack_pointer):
        statepoint = None
    return Record(
        address=address,
        function_address=function.address,
        offset=raw.offset,
        frame_size=frame_size,
        id=raw.id,
        statepoint=statepoint,
        locations=() if statepoint else places,
        live_outs=raw.live_outs,
    )


def content_key(record):
    """Equal for records that say the same. The order of pairs says nothing."""
    if record.statepoint is None:
        return record
    pairs = frozenset(record.statepoint.pairs)
    return record._replace(statepoint=record.statepoint._replace(pairs=pairs))


def read_records(submaps, may_return=lambda address: True, stack_pointer=None):
    """The records of all functions that are in the program, by address, none twice."""
    records = []
    discarded_functions = 0
    for submap in submaps:
        following = iter(submap.records)
        for function in submap.functions:
            own = [next(following) for _ in range(function.record_count)]
            if function.address == 0:
                discarded_functions += 1
            else:
                records += [interpret(raw, function, submap.constants, may_return, stack_pointer) for raw in own]
    distinct = {}
    for record in records:
        distinct.setdefault(content_key(record), record)
    return StackMaps(
        records=tuple(sorted(distinct.values(), key=lambda record: record[:2])),
        functions=sum(len(submap.functions) for submap in submaps) - discarded_functions,
        discarded_functions=discarded_functions,
        duplicate_records=len(records) - len(distinct),
    )


# ---- Output --------------------------------------------------------------------------------------------


def place_as_json(place):
    if place.kind == "constant":
        return {"kind": place.kind, "value": place.value, "size": place.size}
    return {"kind": place.kind, "register": place.register, "offset": place.value, "size": place.size}


def places_as_json(places):
    return [place_as_json(place) for place in places]


def contents_as_json(record):
    if record.statepoint is None:
        return {"locations": places_as_json(record.locations)}
    return {
        "calling_convention": record.statepoint.calling_convention,
        "flags": record.statepoint.flags,
        "deopt": places_as_json(record.statepoint.deopt),
        "gc": [
            {"base": place_as_json(base), "derived": place_as_json(derived)}
            for base, derived in record.statepoint.pairs
        ],
        "allocas": places_as_json(record.statepoint.allocas),
    }


def record_as_json(record, names):
    return {
        "address": record.address,
        "function": names[record.function_address][0] if record.function_address in names else None,
        "function_address": record.function_address,
        "offset": record.offset,
        "frame_size": record.frame_size,
        "id": record.id,
        "kind": "statepoint" if record.statepoint else "stackmap",
        **contents_as_json(record),
        "live_outs": [{"register": out.register, "size": out.size} for out in record.live_outs],
    }


def load(path):
    """The linked ELF file at this path."""
    try:
        with open(path, "rb") as file:
            elf = ElfFile(file.read())
    except OSError as error:
        raise Unusable(error.strerror) from error
    if elf.type == FILE_TYPE_RELOCATABLE:
        raise Unusable("an object file, whose functions have no addresses yet")
    return elf


def read_stack_maps(elf):
    section = elf.find_section(".llvm_stackmaps")
    maps = parse_section(relocated_contents(elf, section))
    stack_pointer = {MACHINE_X86_64: 7, 183: 31}.get(elf.machine)  # of the machines with a frame pointer beside stack maps
    return read_records(maps, lambda address: may_return_to(elf, address), stack_pointer)


def main():
    gc.disable()  # millions of objects, none of them in a cycle: looking for garbage is most of the time
    parser = argparse.ArgumentParser(description="Print the LLVM stack map records of a linked program.")
    parser.add_argument("file")
    arguments = parser.parse_args()
    try:
        elf = load(arguments.file)
        maps = read_stack_maps(elf)
        names = names_by_address(elf)
    except Unusable as error:
        print(f"{arguments.file}: {error}", file=sys.stderr)
        return 2
    for record in maps.records:
        print(json.dumps(record_as_json(record, names), separators=(",", ":")))
    print(
        f"{len(maps.records)} records, {maps.functions} functions; skipped {maps.discarded_functions}"
        f" discarded functions, {maps.duplicate_records} duplicate records",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
