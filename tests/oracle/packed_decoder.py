#!/usr/bin/env python3
"""Print every record of a packed stack-map table, one JSON object per line.

    packed_decoder.py FILE                        print the records
    packed_decoder.py --compare=STACKPACK FILE    compare them with `STACKPACK dump --format=json FILE`
    packed_decoder.py --check-look-ups=N FILE     look up N random addresses, and those around every record
                                                  and function; compare the answers with a search in lists
    packed_decoder.py --global-roots FILE         print the addresses of global roots
    packed_decoder.py --look-up=ADDRESS FILE      print what is known of an address

With --bare=ADDRESS the file is no ELF file but a table alone, and ADDRESS is where it would stand.

This is a second reader of the packed table, written from format/FORMAT.md, whose section numbers stand in the
comments. If it reads what `stackpack pack` writes, the document says all that one must know. It reads every
part in two ways: once from its first byte to its last (class Decoded), and once for a single address (class
LookUp). The first way also checks what a reader needn't check: that offsets ascend, that unused bits are zero,
and that nothing is between leaves, and between layouts but what aligns them.

The JSON is that of `stackpack dump`, with null for each function's name. Zstandard blocks are decoded by the
command `zstd`. The table's own checksum (XXH3) is not verified, but the header's is.

Exit status: 0 fine, 1 a comparison found a difference, 2 the file can't be read.
"""

import argparse
import bisect
import gc
import json
import random
import struct
import subprocess
import sys
from typing import NamedTuple, Optional, Tuple

MASK_64 = 2**64 - 1
DIFFERENCES_SHOWN = 10


class Unusable(Exception):
    """The file can't be read; the text says why."""


def require(condition, problem):
    if not condition:
        raise Unusable(problem)


# ---- Conventions (section 3) ---------------------------------------------------------------------------


def bits_for(count):
    return (count - 1).bit_length() if count > 1 else 0


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def number_at(data, position, size):
    """The number of `size` bytes."""
    require(position + size <= len(data), "a number beyond its part's end")
    return int.from_bytes(data[position : position + size], "little")


class Bits:
    """Fields one after another."""

    def __init__(self, data, position=0):
        self.data, self.position = data, position

    def take(self, width):
        start, self.position = self.position, self.position + width
        require(self.position <= 8 * len(self.data), "a field beyond its part's end")
        word = int.from_bytes(self.data[start // 8 : (self.position + 7) // 8], "little")
        return word >> start % 8 & (1 << width) - 1

    def ones(self, most):
        """How many bits are 1 up to a 0, which is passed over; or `most`, without one."""
        count = 0
        while count < most and self.take(1):
            count += 1
        return count

    def rice(self, parameter):
        high = self.ones(16)
        return self.take(32) if high == 16 else high << parameter | self.take(parameter)

    def align(self):
        require(self.take(-self.position % 8) == 0, "unused bits that are 1")


class Stream:
    """Bytes one after another."""

    def __init__(self, data):
        self.data, self.position = data, 0

    def bytes(self, count):
        start, self.position = self.position, self.position + count
        require(self.position <= len(self.data), "a stream that is too short")
        return self.data[start : self.position]

    def varint(self):
        value = 0
        for number in range(10):
            (byte,) = self.bytes(1)
            value |= (byte & 0x7F) << 7 * number
            if byte < 0x80:
                return value & MASK_64
        raise Unusable("a number of more than 10 bytes")

    def zigzag(self):
        return unzigzag(self.varint())

    def at_end(self):
        return self.position == len(self.data)


def rotate_left_32(value, count):
    value &= 0xFFFFFFFF
    return (value << count | value >> (32 - count)) & 0xFFFFFFFF


def xxh32(data):
    """XXH32 with seed 0."""
    primes = (0, 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)
    position, end = 0, len(data)
    if end >= 16:
        lanes = [primes[1] + primes[2], primes[2], 0, -primes[1]]
        while end - position >= 16:
            for number, word in enumerate(struct.unpack_from("<4I", data, position)):
                lanes[number] = rotate_left_32(lanes[number] + word * primes[2], 13) * primes[1]
            position += 16
        value = sum(rotate_left_32(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18)))
    else:
        value = primes[5]
    value += end
    while end - position >= 4:
        (word,) = struct.unpack_from("<I", data, position)
        value = rotate_left_32(value + word * primes[3], 17) * primes[4]
        position += 4
    for byte in data[position:]:
        value = rotate_left_32(value + byte * primes[5], 11) * primes[1]
    value &= 0xFFFFFFFF
    value = (value ^ value >> 15) * primes[2] & 0xFFFFFFFF
    value = (value ^ value >> 13) * primes[3] & 0xFFFFFFFF
    return value ^ value >> 16


# ---- The ELF file (section 4) --------------------------------------------------------------------------

FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
SEGMENT_LOAD = 1
SEGMENT_NOTE = 4
NOTE = struct.pack("<III", 10, 0, 1) + b"stackpack\0\0\0"


class Segment(NamedTuple):
    type: int
    flags: int
    offset: int
    address: int
    physical_address: int
    file_size: int
    memory_size: int
    alignment: int


def read_segments(data):
    require(len(data) >= FILE_HEADER.size, "not an ELF file")
    header = FILE_HEADER.unpack_from(data)
    require(header[0][:6] == b"\x7fELF\x02\x01", "not a little-endian 64-bit ELF file")
    table, entry_size, count = header[5], header[9], header[10]
    require(count == 0 or entry_size == PROGRAM_HEADER.size, "program headers of another size")
    require(table + count * entry_size <= len(data), "program headers beyond the end of the file")
    return [Segment(*PROGRAM_HEADER.unpack_from(data, table + i * entry_size)) for i in range(count)]


def contains(segment, note):
    distance = note.address - segment.address
    return (
        segment.type == SEGMENT_LOAD
        and distance == note.offset - segment.offset
        and 0 <= distance <= segment.file_size - note.file_size
    )


def find_table(data):
    """The bytes of the table up to the end of its segment, and its address."""
    segments = read_segments(data)
    for note in segments:
        if note.type != SEGMENT_NOTE or note.file_size != len(NOTE):
            continue
        for segment in segments:
            if contains(segment, note) and data[note.offset : note.offset + len(NOTE)] == NOTE:
                start = note.offset + len(NOTE)
                return data[start : segment.offset + segment.file_size], note.address + len(NOTE)
    raise Unusable("no packed table")


# ---- Header and parts (section 5) ----------------------------------------------------------------------

HEADER = struct.Struct("<IHHIHHQQqQIII14B2xI")
PART_NAMES = ("directory leaves layouts frame_sizes classes list_starts lists exceptions conventions details "
              "global_roots").split()
OPTIONAL = 32  # from this number on, a part that isn't known is passed over
PADDING = 16
STATEPOINT_ID = 0xABCDEF00  # that LLVM gives to a statepoint without one


class Header(NamedTuple):
    magic: int
    version: int
    header_size: int
    header_checksum: int
    machine: int
    part_count: int
    size: int
    checksum: int
    text_start: int
    text_size: int
    records: int
    stretches: int
    functions: int
    bucket_shift: int
    record_shift: int
    start_shift: int
    index_bytes: int
    stretch_bytes: int
    full_bytes: int
    reference_bytes: int
    reference_shift: int
    frame_bytes: int
    frame_shift: int
    frame_width: int
    first_width: int
    long_width: int
    next_width: int
    varying_from: int

    @property
    def leaf_shift(self):
        return self.bucket_shift + 4

    @property
    def low_bytes(self):
        return max(1, (self.bucket_shift - self.record_shift + 7) // 8)

    @property
    def start_bytes(self):
        return (self.leaf_shift - self.start_shift + 7) // 8

    @property
    def leaf_count(self):
        return (self.text_size >> self.leaf_shift) + 1 if self.stretches > 0 else 0


def read_header(data):
    """The header and the bytes of each part by name."""
    require(len(data) >= HEADER.size, "no room for a header")
    header = Header(*HEADER.unpack_from(data))
    require(header.magic == 0x4B505453, "not a packed table")
    require(header.version == 7, f"a table of version {header.version}")
    require(header.header_size == 80 + 8 * header.part_count, "a header of another size")
    require(len(data) >= header.header_size, "a header that is cut off")
    own = data[: header.header_size]
    require(xxh32(own[:8] + bytes(4) + own[12:]) == header.header_checksum, "a header that is damaged")
    parts, place, last = dict.fromkeys(PART_NAMES, b""), header.header_size, 0
    for number, size in struct.iter_unpack("<II", own[80:]):
        require(number > last and size > 0, "parts out of order, or empty")
        require(number <= len(PART_NAMES) or number >= OPTIONAL, "a part that must be known")
        if number <= len(PART_NAMES):
            parts[PART_NAMES[number - 1]] = data[place : place + size]
        place, last = place + size, number
    require(place + PADDING == header.size, "parts that don't fill the table")
    check_widths(header)
    check_sizes(header, {name: len(part) for name, part in parts.items()})
    require(header.size <= len(data), "a table that is cut off")
    require(data[place : place + PADDING] == bytes(PADDING), "padding that isn't zero")
    return header, parts


def check_widths(header):
    sizes = header.index_bytes, header.stretch_bytes, header.reference_bytes
    require(header.bucket_shift < 60, "buckets that are too large")
    require(max(header.record_shift, header.start_shift) <= header.bucket_shift, "shifts that are too large")
    require(all(1 <= size <= 4 for size in sizes) and header.full_bytes <= 4, "sizes of numbers")
    require(1 <= header.frame_bytes <= 8, "sizes of frame sizes")
    require(header.reference_shift < 8 and header.frame_shift < 32, "shifts that are too large")
    require(max(header.frame_width, header.first_width) <= 25, "widths in layouts")
    require(1 <= header.long_width <= 32 and header.next_width <= 32, "widths in layouts")


def check_sizes(header, sizes):
    entry = header.index_bytes + header.stretch_bytes + header.full_bytes
    for name, item in ("frame_sizes", header.frame_bytes), ("classes", 24), ("list_starts", 4), ("exceptions", 12):
        require(sizes[name] % item == 0, f"{name} of a broken size")
    if header.stretches == 0:
        require(header.records == header.functions == sizes["directory"] == 0, "records without functions")
        return
    require(header.functions <= header.stretches, "more functions than stretches")
    require(sizes["directory"] == (header.leaf_count + 1) * entry, "a directory of another size")
    stretch = header.start_bytes + header.reference_bytes
    least = 8 * header.leaf_count + header.records * header.low_bytes + header.stretches * stretch
    require(least <= sizes["leaves"], "leaves that are too short")


# ---- Parts (sections 6, 8, 9) --------------------------------------------------------------------------


class Location(NamedTuple):
    """In the order by which `stackpack dump` sorts pairs."""

    kind: int
    register: int
    value: int  # signed
    size: int


def check_location(location):
    require(1 <= location.kind <= 5, "a location of an unknown kind")
    return location


class Exceptional(NamedTuple):
    index: int
    stretch: int
    position: int


class Table:
    """A table, taken apart into its parts."""

    def __init__(self, data, address):
        self.header, parts = read_header(data)
        self.address = address
        for name, part in parts.items():
            setattr(self, name, part)
        self.classes = list(struct.iter_unpack("<HHB3sIIq", parts["classes"]))
        self.class_ends = [one[4] for one in self.classes]
        self.exceptions = [Exceptional(*one) for one in struct.iter_unpack("<III", parts["exceptions"])]
        self.list_starts = [start for (start,) in struct.iter_unpack("<I", parts["list_starts"])]
        self.frame_count = len(self.frame_sizes) // self.header.frame_bytes
        self.details_header = DetailsHeader(*DETAILS_HEADER.unpack_from(self.details)) if self.details else DetailsHeader()

    def text_address(self, offset):
        return (self.address + self.header.text_start + offset) & MASK_64

    def frame_size(self, number):
        size = self.header.frame_bytes
        require(number < self.frame_count, "a frame size that isn't there")
        value = number_at(self.frame_sizes, number * size, size)
        return None if value == (1 << 8 * size) - 1 else value << self.header.frame_shift & MASK_64

    def location(self, number):
        at = bisect.bisect_right(self.class_ends, number)
        require(at < len(self.classes), "a location that isn't there")
        size, register, kind, _, _, step, first = self.classes[at]
        nth = number - (self.class_ends[at - 1] if at > 0 else 0)
        return check_location(Location(kind, register, signed((first + nth * step) & MASK_64, 64), size))

    def read_list(self, number):
        """Whether it is a stack map's, and its locations."""
        require(number < len(self.list_starts), "a list that isn't there")
        stream = Stream(self.lists[self.list_starts[number] :])
        kind, count = stream.bytes(1)[0], stream.varint()
        require(count <= 65535, "a list that is too long")
        return kind != 0, tuple(self.location(stream.varint()) for _ in range(count))

    def read_global_roots(self):
        if not self.global_roots:
            return
        require(len(self.global_roots) >= 9, "a list of roots that is cut off")
        address = self.address + struct.unpack_from("<q", self.global_roots)[0]
        shift, stream = self.global_roots[8], Stream(self.global_roots[9:])
        require(shift < 64, "a shift of roots")
        while not stream.at_end():
            address += stream.varint() << shift
            yield address & MASK_64

    def conventions_from(self, index):
        """The predicted calling conventions of the records from one on."""
        header, part = self.header, self.conventions
        if not part:
            while True:
                yield self.details_header.calling_convention
        blocks = -(-header.records // CONVENTIONS_IN_BLOCK)
        require(len(part) >= 12 + 4 * blocks, "conventions that are cut off")
        values, parameters = struct.unpack_from("<ii", part), part[8:10]
        require(max(parameters) < 32, "parameters of conventions")
        first, skip = divmod(index, CONVENTIONS_IN_BLOCK)
        for block in range(first, blocks):
            start = number_at(part, 12 + 4 * block, 4)
            bits = Bits(part[12 + 4 * blocks :], 8 * start)
            left = min(CONVENTIONS_IN_BLOCK, header.records - block * CONVENTIONS_IN_BLOCK)
            is_second = bits.take(1)
            while left > 0:
                length = bits.rice(parameters[is_second]) + 1
                require(length <= left, "a run of conventions that is too long")
                left -= length
                for _ in range(length):
                    if skip == 0:
                        yield values[is_second]
                    else:
                        skip -= 1
                is_second = 1 - is_second


CONVENTIONS_IN_BLOCK = 4096


# ---- Leaves (section 6) --------------------------------------------------------------------------------


class Entry(NamedTuple):
    index: int
    stretch: int
    full: int


def read_entry(table, number):
    header, values = table.header, []
    sizes = header.index_bytes, header.stretch_bytes, header.full_bytes
    place = number * sum(sizes)
    for size in sizes:
        values.append(number_at(table.directory, place, size))
        place += size
    return Entry(*values)


class Leaf:
    """A leaf, taken apart."""

    def __init__(self, table, number):
        header, leaves = table.header, table.leaves
        first, last = read_entry(table, number), read_entry(table, number + 1)
        most = Entry(header.records, header.stretches, header.records)
        require(all(a <= b <= c for a, b, c in zip(first, last, most)), "a directory that doesn't ascend")
        stretch_size = header.start_bytes + header.reference_bytes
        self.table, self.number = table, number
        self.index, self.stretch = first.index, first.stretch
        self.count, self.stretch_count = last.index - first.index, last.stretch - first.stretch
        self.text = number << header.leaf_shift
        place = 8 * number + 2 * first.full + header.low_bytes * first.index + stretch_size * first.stretch
        self.full_count = last.full - first.full
        self.lows_at = place + 8 + 2 * self.full_count
        self.starts_at = self.lows_at + self.count * header.low_bytes
        self.references_at = self.starts_at + self.stretch_count * header.start_bytes
        self.end = self.references_at + self.stretch_count * header.reference_bytes
        require(self.end <= len(leaves), "a leaf beyond the end of leaves")
        self.place = place

    def counts(self):
        """How many records each bucket has."""
        bits, more = Bits(self.table.leaves, 8 * self.place), self.place + 8
        counts = [bits.take(4) for _ in range(16)]
        for bucket, count in enumerate(counts):
            if count == 15:
                require(more < self.lows_at, "more full buckets than the directory says")
                counts[bucket] += number_at(self.table.leaves, more, 2)
                more += 2
        require(more == self.lows_at, "fewer full buckets than the directory says")
        require(sum(counts) == self.count, "counts that are none of the leaf's")
        return counts

    def low(self, record):
        size = self.table.header.low_bytes
        return number_at(self.table.leaves, self.lows_at + record * size, size)

    def start(self, number):
        """The offset of a stretch."""
        header = self.table.header
        start = number_at(self.table.leaves, self.starts_at + number * header.start_bytes, header.start_bytes)
        return self.text + (start << header.start_shift)

    def layout(self, number):
        """Where a stretch's layout starts; None: it is a gap."""
        size = self.table.header.reference_bytes
        reference = number_at(self.table.leaves, self.references_at + number * size, size)
        return None if reference == (1 << 8 * size) - 1 else reference << self.table.header.reference_shift

    def offsets(self):
        """Of all records."""
        header, record = self.table.header, 0
        for bucket, count in enumerate(self.counts()):
            for _ in range(count):
                yield self.text + (bucket << header.bucket_shift) + (self.low(record) << header.record_shift)
                record += 1

    def records_below(self, offset):
        return sum(own < offset for own in self.offsets())

    def starts_below(self, offset):
        return sum(self.start(number) < offset for number in range(self.stretch_count))


# ---- Layouts (section 7) -------------------------------------------------------------------------------


class Items(NamedTuple):
    """A live set."""

    pairs: Tuple
    allocas: Tuple
    locations: Optional[Tuple]  # of a stack map


SHORT_WIDTHS = {"plain": 4, "rows": 5, "derived": 4, "assignments": 4}
PLAIN_LONG = 15  # so many plain slots say that the head is long
ROW_MAX = 57


class Group:
    """Some of a layout's slots."""

    def __init__(self, table, start):
        self.table, header = table, table.header
        bits = Bits(table.layouts, start)
        self.first, is_extended, self.plain = bits.take(header.first_width), bits.take(1), bits.take(4)
        self.is_long = self.plain == PLAIN_LONG
        widths = dict.fromkeys(SHORT_WIDTHS, header.long_width) if self.is_long else SHORT_WIDTHS
        if self.is_long:
            self.first, self.plain = bits.take(header.long_width), bits.take(header.long_width)
        self.rows = bits.take(widths["rows"]) + 1
        self.is_scattered = has_next = self.width = self.derived = 0
        self.assignment_count, self.next = 1, None
        if is_extended:
            self.is_scattered, has_next, self.width = bits.take(1), bits.take(1), bits.take(5)
            self.derived, self.assignment_count = bits.take(widths["derived"]), bits.take(widths["assignments"]) + 1
        if has_next:
            self.next = bits.position + bits.take(header.next_width)
            require(self.next > bits.position - header.next_width, "a group that is its own next one")
        self.slots = self.plain + self.derived
        self.row_width = self.slots + bits_for(self.assignment_count)
        require(self.row_width <= ROW_MAX, "rows that are too wide")
        numbered = self.slots if self.is_scattered else self.derived
        self.numbers = list(range(self.slots - numbered)) + [bits.take(self.width) for _ in range(numbered)]
        self.bases_at = bits.position
        self.rows_at = self.bases_at + self.assignment_count * self.derived * self.width
        self.positions_at = self.rows_at + self.rows * self.row_width
        require(self.positions_at <= 8 * len(table.layouts), "rows beyond the end of layouts")

    def row_of(self, position):
        """The number of a position's row, and the bit behind its field."""
        width = min(bits_for(position + 1), bits_for(self.rows))
        bits = Bits(self.table.layouts, self.positions_at + position * width - ((1 << width) - 1))
        row = bits.take(width)
        require(row < self.rows, "a row that isn't there")
        return row, bits.position

    def pairs(self, position):
        """The numbers of bases and derived locations, or of lists."""
        bits = Bits(self.table.layouts, self.rows_at + self.row_of(position)[0] * self.row_width)
        live = [slot for slot in range(self.slots) if bits.take(1)]
        assignment = bits.take(bits_for(self.assignment_count))
        require(assignment < self.assignment_count, "an assignment that isn't there")
        bases = Bits(self.table.layouts, self.bases_at + assignment * self.derived * self.width)
        chosen = [bases.take(self.width) for _ in range(self.derived)]
        for slot in live:
            base = self.numbers[slot] if slot < self.plain else chosen[slot - self.plain]
            yield self.first + base, self.first + self.numbers[slot]

    def end(self, positions):
        return self.row_of(positions - 1)[1] if positions > 0 and self.rows > 1 else self.positions_at


class Layout:
    def __init__(self, table, start):
        require(start < len(table.layouts), "a layout beyond the end")
        self.table, bits = table, Bits(table.layouts, 8 * start)
        self.frame = bits.take(table.header.frame_width)
        self.groups = [Group(table, bits.position)]
        while self.groups[-1].next is not None:
            self.groups.append(Group(table, self.groups[-1].next))

    @property
    def frame_size(self):
        return self.table.frame_size(self.frame)

    def items(self, position):
        """A live set."""
        pairs, found, table = [], None, self.table
        locations = table.class_ends[-1] if table.classes else 0
        for base, derived in (pair for group in self.groups for pair in group.pairs(position)):
            if base >= locations:
                found = table.read_list(base - locations)
            else:
                pairs.append((table.location(base), table.location(derived)))
        is_stack_map, items = found or (False, ())
        require(not is_stack_map or not pairs, "a stack map with pairs")
        return Items(tuple(pairs), () if is_stack_map else items, items if is_stack_map else None)

    def check_end(self, positions):
        """Where the layout ends, in bytes; each group is where the one before ends, and unused bits are 0."""
        for group in self.groups:
            end = group.end(positions)
            require(group.next in (None, end), "something between groups")
        bits = Bits(self.table.layouts, end)
        bits.align()
        return bits.position // 8


# ---- Details (section 9) -------------------------------------------------------------------------------

DETAILS_HEADER = struct.Struct("<QiiIHHI4B")
DEOPT_HEAD = struct.Struct("<BHH")
LIVE_OUT = struct.Struct("<HB")
COLUMN_ID, COLUMN_CONVENTION, COLUMN_FLAGS, COLUMN_DEOPT, COLUMN_LIVE_OUTS = 1, 2, 4, 8, 16


class DetailsHeader(NamedTuple):
    default_id: int = STATEPOINT_ID
    calling_convention: int = 0
    flags: int = 0
    block_size: int = 0
    deopt_max: int = 0
    live_outs_max: int = 0
    block_count: int = 0
    shift: int = 0
    codec: int = 0
    details_columns: int = 0
    zero: int = 0


class Details(NamedTuple):
    id: int
    calling_convention: int
    flags: int
    deopt: Tuple = ()
    live_outs: Tuple = ()


def decompress(block):
    try:
        done = subprocess.run(("zstd", "-d", "-c", "-q"), input=block, capture_output=True, check=False)
    except OSError as error:
        raise Unusable(f"compressed details, and zstd can't be run: {error.strerror}") from error
    require(done.returncode == 0, f"a block that zstd can't decode: {done.stderr.decode().strip()}")
    return done.stdout


class Block:
    """Goes through the records of a decoded block."""

    def __init__(self, header, data):
        self.header = header
        self.id = header.default_id
        self.deopt_state = []
        self.first_value = 0
        contents = Stream(data)
        lengths = struct.unpack("<8I", contents.bytes(32))
        self.streams = [Stream(contents.bytes(length)) for length in lengths]
        (self.ids, self.conventions, self.flags, self.deopt, self.first_values) = self.streams[:5]
        (heads, self.live_out_counts, self.live_outs) = self.streams[5:]
        self.heads = list(DEOPT_HEAD.iter_unpack(heads.bytes(len(heads.data) // 5 * 5)))
        self.streams.append(contents)

    def next(self, convention):
        """The details of the next record, for which this calling convention is predicted."""
        header = self.header
        columns = header.details_columns
        flags, deopt, live_outs = header.flags, (), ()
        if columns & COLUMN_ID:
            self.id = (self.id + self.ids.zigzag()) & MASK_64
        if columns & COLUMN_CONVENTION:
            convention = signed((convention + self.conventions.zigzag()) & 0xFFFFFFFF, 32)
        if columns & COLUMN_FLAGS:
            flags = signed((flags + self.flags.zigzag()) & 0xFFFFFFFF, 32)
        if columns & COLUMN_DEOPT:
            deopt = self.next_deopt()
        if columns & COLUMN_LIVE_OUTS:
            count = self.live_out_counts.varint()
            require(count <= header.live_outs_max, "a record with too many live-outs")
            live_outs = tuple(LIVE_OUT.iter_unpack(self.live_outs.bytes(3 * count)))
        return Details(self.id, convention, flags, deopt, live_outs)

    def next_deopt(self):
        count = self.deopt.varint()
        if count > 0:
            self.deopt_state = self.take_deopt_state(count - 1)
        if self.deopt_state:
            self.first_value = (self.first_value + self.first_values.zigzag()) & MASK_64
            self.deopt_state[0] = self.deopt_state[0]._replace(value=signed(self.first_value, 64))
        return tuple(self.deopt_state)

    def take_deopt_state(self, count):
        """A state that isn't that of the record before; the first location's value stands elsewhere."""
        require(count <= self.header.deopt_max, "a deopt state that is too long")
        state = []
        for number in range(count):
            head = self.deopt.varint()
            require(head < len(self.heads), "a head that isn't there")
            kind, size, register = self.heads[head]
            value = self.deopt.zigzag() if number > 0 else 0
            state.append(check_location(Location(kind, register, signed(value & MASK_64, 64), size)))
        return state

    def check_end(self):
        require(all(s.position == len(s.data) for s in self.streams), "a stream that is too long")


def open_block(table, number):
    header = table.details_header
    require(header.codec <= 1 and header.details_columns < 32 and header.shift < 32, "a header of details")
    require(header.block_count == -(-table.header.records >> header.shift), "another number of blocks")
    require(header.block_size <= 2**24, "a block that is too large")
    blocks = DETAILS_HEADER.size + 4 * header.block_count
    start = number_at(table.details, DETAILS_HEADER.size + 4 * number - 4, 4) if number > 0 else 0
    end = number_at(table.details, DETAILS_HEADER.size + 4 * number, 4)
    require(start <= end <= len(table.details) - blocks, "a block beyond the end of details")
    data = table.details[blocks + start : blocks + end]
    data = decompress(data) if header.codec == 1 else data
    require(len(data) <= header.block_size, "a block that is larger than the header says")
    return Block(header, data)


def details_from(table, block):
    """The details of the records from the first one of a block on."""
    header, records = table.details_header, table.header.records
    if header.details_columns == 0:
        for convention in table.conventions_from(block):
            yield Details(header.default_id, convention, header.flags)
    conventions = table.conventions_from(block << header.shift)
    for number in range(block, header.block_count):
        opened = open_block(table, number)
        for _ in range(min(1 << header.shift, records - (number << header.shift))):
            yield opened.next(next(conventions))
        opened.check_end()


# ---- All of it, from the first byte to the last --------------------------------------------------------


class Record(NamedTuple):
    address: int
    stretch: int
    function_address: int
    frame_size: Optional[int]
    items: Items
    details: Details


class Decoded:
    """All stretches and records in lists."""

    def __init__(self, table):
        self.table, header = table, table.header
        self.offsets, self.starts, self.layout_places, end = [], [], [], 0
        for number in range(header.leaf_count):
            leaf = Leaf(table, number)
            require(leaf.place == end, "something between leaves")
            require(leaf.index == len(self.offsets) and leaf.stretch == len(self.starts), "leaves out of order")
            end = leaf.end
            self.offsets += leaf.offsets()
            self.starts += map(leaf.start, range(leaf.stretch_count))
            self.layout_places += map(leaf.layout, range(leaf.stretch_count))
        require(end == len(table.leaves), "something behind the leaves")
        require(len(self.offsets) == header.records and len(self.starts) == header.stretches, "too few leaves")
        require(self.offsets == sorted(self.offsets), "records out of order")
        require(self.starts == sorted(self.starts), "stretches out of order")
        require(header.stretches == 0 or self.starts[0] == 0, "text that starts elsewhere")
        require(max(self.offsets + self.starts, default=0) <= header.text_size, "text beyond its end")
        functions = sum(place is not None for place in self.layout_places)
        require(functions == header.functions, "another number of functions")
        self.ends = self.starts[1:] + [header.text_size]
        self.places = self.find_places()
        self.layouts = {}
        self.check_layouts()
        self.details = []
        for details in details_from(table, 0):
            if len(self.details) == header.records:
                break
            self.details.append(details)

    def place_by_rule(self, index):
        stretch = bisect.bisect_left(self.starts, self.offsets[index]) - 1
        start = self.starts[stretch] if stretch >= 0 else -1
        return stretch, index - bisect.bisect_right(self.offsets, start)

    def find_places(self):
        """Each record's stretch and position."""
        exceptions = {one.index: one[1:] for one in self.table.exceptions}
        require([one.index for one in self.table.exceptions] == sorted(exceptions), "exceptions out of order")
        places = [exceptions.get(index) or self.place_by_rule(index) for index in range(len(self.offsets))]
        for stretch, _ in places:
            require(0 <= stretch < len(self.starts), "a record in no stretch")
            require(self.layout_places[stretch] is not None, "a record in a gap")
        return places

    def check_layouts(self):
        """Layouts follow each other, aligned, from the first byte to the last."""
        positions = dict.fromkeys((place for place in self.layout_places if place is not None), 0)
        for stretch, position in self.places + [self.place_by_rule(index) for index in range(len(self.offsets))]:
            place = self.layout_places[stretch] if stretch >= 0 else None
            if place is not None:
                positions[place] = max(positions[place], position + 1)
        unit, end = 1 << self.table.header.reference_shift, 0
        for place in sorted(positions):
            require(end <= place < end + unit, "something between layouts")
            require(not any(self.table.layouts[end:place]), "something between layouts")
            self.layouts[place] = layout = Layout(self.table, place)
            end = layout.check_end(positions[place])
        require(end == len(self.table.layouts), "something behind the layouts")

    def record(self, index):
        stretch, position = self.places[index]
        layout = self.layouts[self.layout_places[stretch]]
        return Record(
            self.table.text_address(self.offsets[index]),
            stretch,
            self.table.text_address(self.starts[stretch]),
            layout.frame_size,
            layout.items(position),
            self.details[index],
        )


# ---- One address (section 10) --------------------------------------------------------------------------

FOUND, NOT_MANAGED, NOT_SAFEPOINT = "found", "not managed", "not a safepoint"


class LookUp:
    """Answers for one address or record, from the places that belong to it."""

    def __init__(self, table):
        self.table, self.blocks = table, {}

    def leaf_with(self, field, number):
        """The last leaf before whose entry's number isn't above one."""
        numbers = range(self.table.header.leaf_count)
        leaf = bisect.bisect_right(numbers, number, key=lambda own: getattr(read_entry(self.table, own), field)) - 1
        require(leaf >= 0, "a directory that doesn't start at 0")
        return Leaf(self.table, leaf)

    def stretch(self, number):
        """A stretch's leaf, and which of the leaf's it is."""
        leaf = self.leaf_with("stretch", number)
        require(0 <= number - leaf.stretch < leaf.stretch_count, "a stretch that isn't in its leaf")
        return leaf, number - leaf.stretch

    def answer(self, address):
        """The answer, and the index of a record that was found."""
        header = self.table.header
        offset = (address - self.table.text_address(0)) & MASK_64
        if offset > header.text_size or header.stretches == 0:
            return NOT_MANAGED, None
        leaf = Leaf(self.table, offset >> header.leaf_shift)
        place = offset - leaf.text
        if place % (1 << header.record_shift) == 0:
            bucket, counts = place >> header.bucket_shift, leaf.counts()
            low = place % (1 << header.bucket_shift) >> header.record_shift
            before = sum(counts[:bucket])
            for record in range(before, before + counts[bucket]):
                if leaf.low(record) >= low:
                    if leaf.low(record) == low:
                        return FOUND, leaf.index + record
                    break
        stretches = leaf.stretch + leaf.starts_below(offset + 1)
        if offset == header.text_size or stretches == 0:
            return NOT_MANAGED, None
        own, number = self.stretch(stretches - 1)
        return (NOT_MANAGED if own.layout(number) is None else NOT_SAFEPOINT), None

    def place(self, index):
        """A record's stretch, and its position."""
        table = self.table
        found = bisect.bisect_left(table.exceptions, index, key=lambda one: one.index)
        if found < len(table.exceptions) and table.exceptions[found].index == index:
            return table.exceptions[found][1:]
        offset = self.offset(index)
        leaf = Leaf(table, offset >> table.header.leaf_shift)
        stretches = leaf.stretch + leaf.starts_below(offset)
        require(stretches > 0, "a record before all functions")
        own, number = self.stretch(stretches - 1)
        first = own.index + own.records_below(own.start(number) + 1)
        require(first <= index, "a record before its function")
        return stretches - 1, index - first

    def offset(self, index):
        leaf = self.leaf_with("index", index)
        require(0 <= index - leaf.index < leaf.count, "a record that isn't in its leaf")
        return list(leaf.offsets())[index - leaf.index]

    def details(self, index):
        shift = self.table.details_header.shift
        if self.table.details_header.details_columns == 0:
            return next(details_from(self.table, index))
        block = index >> shift
        if block not in self.blocks:
            self.blocks = {block: details_from(self.table, block)}
            count = min(1 << shift, self.table.header.records - (block << shift))
            self.blocks[block] = [next(self.blocks[block]) for _ in range(count)]
        return self.blocks[block][index - (block << shift)]

    def record(self, index):
        stretch, position = self.place(index)
        leaf, number = self.stretch(stretch)
        place = leaf.layout(number)
        require(place is not None, "a record in a gap")
        layout = Layout(self.table, place)
        return Record(
            self.table.text_address(self.offset(index)),
            stretch,
            self.table.text_address(leaf.start(number)),
            layout.frame_size,
            layout.items(position),
            self.details(index),
        )


# ---- Checking look-ups ---------------------------------------------------------------------------------


def naive_answer(decoded, address):
    """The answer from the lists."""
    offset = (address - decoded.table.text_address(0)) & MASK_64
    index = bisect.bisect_left(decoded.offsets, offset)
    if index < len(decoded.offsets) and decoded.offsets[index] == offset:
        return FOUND, index
    stretch = bisect.bisect_right(decoded.starts, offset) - 1
    managed = stretch >= 0 and offset < decoded.ends[stretch] and decoded.layout_places[stretch] is not None
    return (NOT_SAFEPOINT if managed else NOT_MANAGED), None


def interesting_addresses(decoded, count, source):
    """Those on, before and behind every function's ends and some records; then random ones."""
    table = decoded.table
    records = decoded.offsets
    if len(records) > count:
        records = source.sample(records, count)
    around = decoded.starts + decoded.ends + records + [table.header.text_size]
    if len(around) > 3 * count:
        around = source.sample(around, 3 * count)
    for offset in around:
        for neighbour in (-1, 0, 1):
            yield table.text_address(offset + neighbour)
    for _ in range(count):
        yield table.text_address(source.randint(-64, table.header.text_size + 64))
    for _ in range(count // 100):
        yield source.getrandbits(64)


def check_look_ups(decoded, count, seed):
    """The differences between look-ups and the lists, and how many addresses were asked for."""
    look_up = LookUp(decoded.table)
    differences, asked, indices = [], 0, set()
    for address in interesting_addresses(decoded, count, random.Random(seed)):
        asked += 1
        answer, expected = look_up.answer(address), naive_answer(decoded, address)
        if answer != expected:
            differences.append(f"0x{address:x}: {answer}, not {expected}")
        if expected[0] != FOUND:
            continue
        index = expected[1]
        while index < len(decoded.offsets) and decoded.offsets[index] == decoded.offsets[expected[1]]:
            indices.add(index)  # all records of this address
            index += 1
    for index in sorted(indices):
        if tuple(look_up.place(index)) != decoded.places[index] or look_up.record(index) != decoded.record(index):
            differences.append(f"record {index}: a look-up finds another one")
    return differences, asked


# ---- JSON ----------------------------------------------------------------------------------------------

LOCATION_NAMES = {1: "register", 2: "direct", 3: "indirect"}


def location_as_json(location):
    if location.kind >= 4:
        value = location.value & MASK_64 if location.kind == 5 else location.value
        return {"kind": "constant", "value": value, "size": location.size}
    return {
        "kind": LOCATION_NAMES[location.kind],
        "register": location.register,
        "offset": location.value,
        "size": location.size,
    }


def list_as_json(locations):
    return [location_as_json(location) for location in locations]


def contents_as_json(record):
    if record.items.locations is not None:
        return {"kind": "stackmap", "locations": list_as_json(record.items.locations)}
    pairs = sorted(record.items.pairs, key=lambda pair: (pair[1], pair[0]))
    return {
        "kind": "statepoint",
        "calling_convention": record.details.calling_convention,
        "flags": record.details.flags,
        "deopt": list_as_json(record.details.deopt),
        "gc": [{"base": location_as_json(base), "derived": location_as_json(own)} for base, own in pairs],
        "allocas": list_as_json(record.items.allocas),
    }


def record_as_json(record):
    return {
        "address": record.address,
        "function": None,
        "function_address": record.function_address,
        "offset": (record.address - record.function_address) & MASK_64,
        "frame_size": record.frame_size,
        "id": record.details.id,
        **contents_as_json(record),
        "live_outs": [{"register": register, "size": size} for register, size in record.details.live_outs],
    }


def as_line(value):
    return json.dumps(value, separators=(",", ":"))


def compare_with_dump(decoded, stackpack, path):
    """The differences between the records and a dump's lines."""
    command = (stackpack, "dump", "--format=json", path)
    differences = []
    index = 0
    try:
        dump = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
    except OSError as error:
        raise Unusable(f"{stackpack} can't be run: {error.strerror}") from error
    with dump:
        for index, line in enumerate(dump.stdout, 1):
            record = json.loads(line)
            record.pop("frame")  # the facts of frames have an oracle of their own: tests/cli/frames_dwarfdump.py
            expected = as_line({**record, "function": None})
            if index > len(decoded.offsets):
                continue
            own = as_line(record_as_json(decoded.record(index - 1)))
            if own != expected:
                differences.append(f"record {index - 1}:\n  here {own}\n  dump {expected}")
    require(dump.returncode == 0, f"{stackpack} dump failed")
    if index != len(decoded.offsets):
        differences.append(f"{len(decoded.offsets)} records here, {index} in the dump")
    return differences


# ---- The command ---------------------------------------------------------------------------------------


def print_look_up(table, address):
    look_up = LookUp(table)
    answer, index = look_up.answer(address)
    print(f"0x{address:x}: {answer}")
    while answer == FOUND:
        print(as_line(record_as_json(look_up.record(index))))
        index += 1
        if index == table.header.records:
            break
        if look_up.offset(index) != look_up.offset(index - 1):
            break


def run(arguments):
    try:
        with open(arguments.file, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Unusable(error.strerror) from error
    table = Table(data, arguments.bare) if arguments.bare is not None else Table(*find_table(data))
    if arguments.look_up is not None:
        print_look_up(table, arguments.look_up)
        return 0
    if arguments.global_roots:
        for address in table.read_global_roots():
            print(f"0x{address:x}")
        return 0
    decoded = Decoded(table)
    if arguments.compare is None and arguments.check_look_ups is None:
        for index in range(table.header.records):
            print(as_line(record_as_json(decoded.record(index))))
        return 0
    differences = []
    if arguments.compare is not None:
        differences += compare_with_dump(decoded, arguments.compare, arguments.file)
        print(f"{arguments.file}: {table.header.records} records compared")
    if arguments.check_look_ups is not None:
        found, asked = check_look_ups(decoded, arguments.check_look_ups, arguments.seed)
        differences += found
        print(f"{arguments.file}: {asked} addresses looked up")
    for difference in differences[:DIFFERENCES_SHOWN]:
        print(difference)
    if differences:
        print(f"{len(differences)} differences")
    return 1 if differences else 0


def address_option(text):
    return int(text, 0)


def main():
    gc.disable()  # many objects, none of them in a cycle: looking for garbage is most of the time
    parser = argparse.ArgumentParser(description="Print the records of a packed stack-map table.")
    parser.add_argument("--compare", metavar="STACKPACK", help="compare with what this command dumps")
    parser.add_argument("--check-look-ups", type=int, metavar="N", help="check the answers of look-ups")
    parser.add_argument("--seed", type=int, default=1, help="of random addresses")
    parser.add_argument("--look-up", type=address_option, metavar="ADDRESS", help="look up one address")
    parser.add_argument("--global-roots", action="store_true", help="print the addresses of global roots")
    parser.add_argument("--bare", type=address_option, metavar="ADDRESS", help="the file is a table alone")
    parser.add_argument("file")
    arguments = parser.parse_args()
    try:
        return run(arguments)
    except Unusable as error:
        print(f"{arguments.file}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
