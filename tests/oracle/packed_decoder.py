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
part twice, in different ways: once from its first byte to its last, and once for a single address by way of
samples and directories (class LookUp). The first way also checks what a reader needn't check: that padding is
zero, that every sample is right, and that nothing is between leaves and layouts.

The JSON is that of `stackpack dump`, with null for each function's name. Zstandard blocks are decoded by the
command `zstd`. The table's own checksum (XXH3) is not verified, but the header's is.

Exit status: 0 fine, 1 a comparison found a difference, 2 the file can't be read.
"""

import argparse
import bisect
import collections
import gc
import itertools
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


def bytes_for(bits):
    """The bytes of a bit array."""
    return (bits + 7) // 8


def bits_for(count):
    return (count - 1).bit_length() if count > 1 else 0


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


class BitArray:
    """The first `size` bits of a string of bytes."""

    def __init__(self, data, size):
        self.data = data
        self.size = size
        require(8 * len(data) >= size, "a bit array beyond its part")

    def field(self, position, width):
        end = position + width
        require(end <= self.size, "a field beyond the end of a bit array")
        covering = int.from_bytes(self.data[position // 8 : (end + 7) // 8], "little")
        return covering >> position % 8 & ((1 << width) - 1)

    def fields(self, count, width):
        return [self.field(number * width, width) for number in range(count)]

    def check_padding(self):
        whole = int.from_bytes(self.data[self.size // 8 :], "little")
        require(whole >> self.size % 8 == 0, "padding that isn't zero")


class BitReader:
    """Goes through a bit array."""

    def __init__(self, array, position=0):
        self.array = array
        self.position = position

    def take(self, width):
        value = self.array.field(self.position, width)
        self.position += width
        return value

    def skip(self, width):
        self.position += width
        require(self.position <= self.array.size, "a field beyond the end of a bit array")

    def ones(self, most):
        """Takes bits up to the first 0, or up to `most` 1s."""
        count = 0
        while count < most and self.take(1) == 1:
            count += 1
        return count

    def gamma(self):
        zeros = 0
        while self.take(1) == 0:
            zeros += 1
            require(zeros <= 27, "a gamma code that is too long")
        return (1 << zeros) + self.take(zeros) - 1

    def rice(self, parameter):
        quotient = self.ones(32)
        return self.take(64) if quotient == 32 else quotient << parameter | self.take(parameter)

    def small(self, parameter):
        quotient = self.ones(16)
        if quotient == 16:
            quotient += self.gamma()
        return quotient << parameter | self.take(parameter)


class Stream:
    """Goes through bytes."""

    def __init__(self, data):
        self.data = data
        self.position = 0

    def bytes(self, count):
        require(count <= len(self.data) - self.position, "a stream that is too short")
        self.position += count
        return self.data[self.position - count : self.position]

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            (byte,) = self.bytes(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & MASK_64
        raise Unusable("a varint that is too long")

    def zigzag(self):
        return unzigzag(self.varint())


def whole_array(data, size):
    """A bit array whose bytes end with it."""
    array = BitArray(data, size)
    array.check_padding()
    return array


def fields_of(data, count, width):
    """The fields of a bit array that has nothing else."""
    return whole_array(data, count * width).fields(count, width)


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


# ---- Header (section 5) --------------------------------------------------------------------------------

HEADER = struct.Struct("<IHHIIQQqQ7I16BIIiIIIHHQQIIQii")  # all fields
LEAST_HEADER = 48
GLOBAL_ROOTS = 1  # a bit of features
STATEPOINT_ID = 0xABCDEF00  # that LLVM gives to a statepoint without one


class Header(NamedTuple):
    magic: int
    version: int
    header_size: int
    features: int
    header_checksum: int
    size: int
    checksum: int
    text_start: int
    text_size: int
    records: int
    functions: int
    leaves_size: int
    shared_size: int
    extent_bits: int
    locations: int
    frame_sizes: int
    leaf_shift: int
    record_shift: int
    function_shift: int
    lead_parameter: int
    tail_parameter: int
    frame_size_shift: int
    frame_size_width: int
    continued_width: int
    position_width: int
    frame_parameter: int
    sets_parameter: int
    locations_parameter: int
    first_parameter: int
    details_shift: int
    details_codec: int
    details_columns: int
    location_classes: int
    convention_bits: int
    second_convention: int
    bare_functions: int
    details_blocks: int
    details_block_size: int
    deopt_max: int
    live_outs_max: int
    details_size: int
    id: int
    exceptions: int
    lists: int
    list_bits: int
    calling_convention: int
    flags: int

    @property
    def default_id(self):
        return (self.id + STATEPOINT_ID) & MASK_64

    @property
    def runs(self):
        return self.functions - self.bare_functions

    @property
    def leaf_count(self):
        return (self.text_size >> self.leaf_shift) + 1 if self.records > 0 else 0

    @property
    def start_width(self):
        return bits_for(self.leaves_size + 1)

    @property
    def index_width(self):
        return bits_for(self.records + 1)

    @property
    def run_width(self):
        return bits_for(self.runs + 1)

    @property
    def shared_width(self):
        return bits_for(self.shared_size)

    @property
    def entry_width(self):
        return self.start_width + self.index_width + self.run_width


def read_header(data):
    """The header, which is sound in itself."""
    require(len(data) >= LEAST_HEADER, "a table that is too short")
    magic, version, size = struct.unpack_from("<IHH", data)
    require(magic == 0x4B505453, "no table: its magic number differs")
    require(version == 5, f"a table of version {version}, which needs another reader")
    require(LEAST_HEADER <= size <= HEADER.size and size % 8 == 0, "a header of an impossible size")
    require(size <= len(data), "a table that is too short")
    header = Header(*HEADER.unpack(data[:size].ljust(HEADER.size, b"\0")))
    blanked = data[:12] + bytes(4) + data[16:size]
    require(header.header_checksum == xxh32(blanked), "a header whose checksum differs")
    require(header.features & ~GLOBAL_ROOTS == 0, "a table with features that need a newer reader")
    check_widths(header)
    check_counts(header)
    return header


def check_widths(header):
    shifts = (header.record_shift, header.function_shift, header.frame_size_shift, header.details_shift)
    require(max(shifts) < 32 and header.frame_size_width <= 64, "a shift or width that is too large")
    require(header.record_shift <= header.leaf_shift < 48, "leaves that are too small or too large")
    of_extents = (header.lead_parameter, header.tail_parameter)
    of_layouts = (
        header.frame_parameter,
        header.sets_parameter,
        header.locations_parameter,
        header.first_parameter,
    )
    require(max(of_extents + of_layouts) < 32, "a parameter that is too large")
    require(max(header.continued_width, header.position_width) <= 32, "a width that is too large")


def check_counts(header):
    require(header.bare_functions <= header.functions, "counts that contradict")
    require(header.shared_size <= header.leaves_size, "leaves of an impossible size")
    require(header.text_size >> header.leaf_shift < 2**32 - 1, "too many leaves")
    require(header.location_classes > 0 or header.locations == 0, "locations without a class")
    require(max(header.list_bits, header.details_size) < 2**50, "a size that is too large")
    require(header.details_block_size <= 2**24, "blocks that are too large")
    require(header.records > 0 or header.convention_bits == 0, "conventions without records")
    require(header.details_codec <= 1, "a codec that is unknown")
    require(header.details_columns < 32, "a column that is unknown")


# ---- Sorted sequences (section 7) ----------------------------------------------------------------------


class Unary:
    """Numbers that ascend, split into buckets, which are written in unary, and low bits: as they stand in a
    sequence and in a leaf. There are two ways to get at them: all in order, and by way of the samples. Where the
    own layouts of a leaf start is written so, too, but without samples."""

    def __init__(self, count, buckets, low_width, for_find):
        self.count, self.buckets, self.low_width, self.for_find = count, buckets, low_width, for_find
        self.high_bits = count + buckets
        self.sample_count = -(-buckets // 128) if for_find else -(-count // 32)
        self.sample_width = bits_for(self.high_bits)
        self.high = ""  # a character for each bit, for speed
        self.lows = self.low_at = None
        self.samples = ()

    def open(self, high, lows, low_at, samples):
        """`high` is the number that the high bits are; the low bits stand in an array from a bit on. `samples`
        is None if there are none."""
        self.high = f"{high:b}"[::-1].ljust(self.high_bits, "0")
        self.lows, self.low_at = lows, low_at
        self.samples = samples

    def low_of(self, number):
        return self.lows.field(self.low_at + number * self.low_width, self.low_width)

    def decode(self):
        """All numbers, by one pass over the high bits; and whether the samples are those of this pass."""
        numbers, bucket_places, element_places = [], [0], []
        for place in range(self.high_bits):
            if self.high[place] == "0":
                bucket_places.append(place + 1)
            else:
                require(len(numbers) < self.count, "a sequence with too many elements")
                element_places.append(place)
                numbers.append(len(bucket_places) - 1 << self.low_width | self.low_of(len(numbers)))
        require(len(numbers) == self.count, "a sequence with too few elements")
        require(all(a <= b for a, b in zip(numbers, numbers[1:])), "a sequence that doesn't ascend")
        places = bucket_places[: self.buckets : 128] if self.for_find else element_places[::32]
        require(self.samples in (None, places), "a sample that isn't right")
        return numbers

    def next_bit(self, bit, place):
        """The first place of this bit, from one on."""
        found = self.high.find(bit, place)
        require(found >= 0, "a place beyond the end of a sequence")
        return found

    def find(self, x):
        """The number of the first element that is at least x, and whether it is x."""
        assert self.for_find
        bucket = x >> self.low_width
        if bucket >= self.buckets:
            return self.count, False
        place = self.samples[bucket // 128]
        for _ in range(bucket % 128):
            place = self.next_bit("0", place) + 1
        number = place - bucket
        require(number >= 0, "a sample that isn't right")
        low = x & ((1 << self.low_width) - 1)
        behind = self.next_bit("0", place) - bucket  # the first element of the next bucket
        while number < behind and self.low_of(number) < low:
            number += 1
        return number, number < behind and self.low_of(number) == low

    def get(self, number):
        require(number < self.count, "an element that isn't there")
        place, ones = (0, number) if self.for_find else (self.samples[number // 32], number % 32)
        for _ in range(ones):
            place = self.next_bit("1", place) + 1
        place = self.next_bit("1", place)
        return place - number << self.low_width | self.low_of(number)


class Sequence(Unary):
    """A part of the table; its numbers in order are the items."""

    def __init__(self, count, maximum):
        low_width = (maximum // count).bit_length() - 1 if 0 < count <= maximum else 0
        super().__init__(count, (maximum >> low_width) + 1 if count > 0 else 0, low_width, False)
        require(self.high_bits < 2**32, "a sequence that is too long")
        self.sizes = (
            bytes_for(count * low_width),
            bytes_for(self.high_bits),
            bytes_for(self.sample_count * self.sample_width),
        )
        self.size = sum(self.sizes)
        self.items = ()

    def open_part(self, data):
        low_size, high_size, _ = self.sizes
        lows = whole_array(data[:low_size], self.count * self.low_width)
        high = whole_array(data[low_size : low_size + high_size], self.high_bits)
        samples = fields_of(data[low_size + high_size :], self.sample_count, self.sample_width)
        self.open(int.from_bytes(high.data, "little"), lows, 0, samples)
        self.items = self.decode()
        return self


# ---- Parts (section 6) ---------------------------------------------------------------------------------


class Location(NamedTuple):
    """In the order by which `stackpack dump` sorts pairs."""

    kind: int
    register: int
    value: int  # signed
    size: int


class Class(NamedTuple):
    size: int
    register: int
    kind: int
    zero: bytes
    first_number: int
    step: int
    first_value: int


class Exceptional(NamedTuple):
    index: int
    function: int
    position: int
    layout: int


class Extent(NamedTuple):
    lead: int
    adjacent: bool
    tail: int  # 0 if adjacent


CLASS = struct.Struct("<HHB3sIIq")
EXCEPTION = struct.Struct("<IIIQ")
ROOTS = struct.Struct("<IIqQ")
CONVENTIONS_IN_BLOCK = 1024
SETS_IN_ENTRY = 2


def check_location(location):
    require(1 <= location.kind <= 5, "a location of an unknown kind")
    return location


class Table:
    """A table, taken apart into its parts."""

    def __init__(self, data, address):
        header = self.header = read_header(data)
        self.address = address
        self.bare = Sequence(header.bare_functions, header.functions)
        self.list_starts = Sequence(header.lists, header.list_bits)
        self.data = data
        self.position = header.header_size
        places = {name: self.part(size) for name, size in self.part_sizes()}
        require(header.size <= len(data), "a table beyond the end of its segment")
        self.global_roots = self.read_global_roots() if header.features & GLOBAL_ROOTS else []
        require(self.position + 8 == header.size, "a table whose size isn't that of its parts")
        self.open_parts({name: data[start:end] for name, (start, end) in places.items()})
        require(not any(data[self.position : header.size]), "padding that isn't zero")

    def part_sizes(self):
        header = self.header
        leaves = header.leaf_count
        return (
            ("directory", bytes_for((leaves + 1) * header.entry_width) if leaves > 0 else 0),
            ("leaves", header.leaves_size),
            ("bare", self.bare.size),
            ("bare_frames", bytes_for(header.bare_functions * bits_for(header.frame_sizes))),
            ("extent_samples", bytes_for(-(-header.functions // 32) * bits_for(header.extent_bits + 1))),
            ("extents", bytes_for(header.extent_bits)),
            ("frame_sizes", bytes_for(header.frame_sizes * header.frame_size_width)),
            ("classes", CLASS.size * header.location_classes),
            ("list_starts", self.list_starts.size),
            ("lists", bytes_for(header.list_bits)),
            ("exceptions", EXCEPTION.size * header.exceptions),
            ("conventions", sum(self.convention_sizes())),
            ("block_ends", 8 * max(header.details_blocks - 1, 0)),
            ("blocks", header.details_size),
        )

    def convention_sizes(self):
        """The sizes of parameters, starts and blocks."""
        header = self.header
        if header.convention_bits == 0:
            return 0, 0, 0
        starts = -(-header.records // CONVENTIONS_IN_BLOCK) * bits_for(header.convention_bits + 1)
        return 2, bytes_for(starts), bytes_for(header.convention_bits)

    def open_conventions(self, data):
        header = self.header
        at, starts_size, _ = self.convention_sizes()
        starts, blocks = data[at : at + starts_size], data[at + starts_size :]
        count = -(-header.records // CONVENTIONS_IN_BLOCK) if header.convention_bits > 0 else 0
        self.convention_parameters = tuple(data[:at])
        require(max(self.convention_parameters, default=0) < 32, "a parameter that is too large")
        self.convention_starts = fields_of(starts, count, bits_for(header.convention_bits + 1))
        self.conventions = whole_array(blocks, header.convention_bits)

    def read_global_roots(self):
        """The addresses; the part's size follows from its own numbers."""
        require(self.position + ROOTS.size <= self.header.size, "global roots beyond the table's end")
        count, shift, start, span = ROOTS.unpack_from(self.data, self.part(ROOTS.size)[0])
        require(count > 0 and shift < 32, "global roots that can't be")
        sequence = Sequence(count, span >> shift)
        at, end = self.part(sequence.size)
        require(end + 8 <= self.header.size, "global roots beyond the table's end")
        numbers = sequence.open_part(self.data[at:end]).items
        require(len(set(numbers)) == count, "a global root that comes twice")
        return [(self.address + start + (number << shift)) % 2**64 for number in numbers]

    def part(self, size):
        start = self.position
        self.position += size
        return start, self.position

    def open_parts(self, parts):
        header = self.header
        leaf_count = header.leaf_count
        entries = leaf_count + 1 if leaf_count > 0 else 0
        self.directory = whole_array(parts["directory"], entries * header.entry_width)
        self.leaves = BitArray(parts["leaves"], 8 * header.leaves_size)
        self.bare.open_part(parts["bare"])
        self.list_starts.open_part(parts["list_starts"])
        self.open_conventions(parts["conventions"])
        self.bare_frames = fields_of(
            parts["bare_frames"], header.bare_functions, bits_for(header.frame_sizes)
        )
        self.extent_samples = fields_of(
            parts["extent_samples"], -(-header.functions // 32), bits_for(header.extent_bits + 1)
        )
        self.extents = whole_array(parts["extents"], header.extent_bits)
        self.frame_sizes = fields_of(parts["frame_sizes"], header.frame_sizes, header.frame_size_width)
        self.lists = whole_array(parts["lists"], header.list_bits)
        self.classes = [Class(*fields) for fields in CLASS.iter_unpack(parts["classes"])]
        require(not self.classes or self.classes[0].first_number == 0, "classes that don't start at 0")
        self.exceptions = [Exceptional(*fields) for fields in EXCEPTION.iter_unpack(parts["exceptions"])]
        self.block_ends = struct.unpack(f"<{len(parts['block_ends']) // 8}Q", parts["block_ends"])
        self.blocks = parts["blocks"]

    # ---- Frame sizes, locations and lists (section 11)

    def frame_size(self, number):
        """None: unknown."""
        require(number < len(self.frame_sizes), "a frame size that isn't there")
        size = self.frame_sizes[number]
        if size == (1 << self.header.frame_size_width) - 1:
            return None
        return size << self.header.frame_size_shift & MASK_64

    def location(self, number):
        require(number < self.header.locations, "a location that isn't there")
        index = bisect.bisect_right(self.classes, number, key=lambda class_: class_.first_number) - 1
        class_ = self.classes[index]
        value = class_.first_value + (number - class_.first_number) * class_.step
        return check_location(
            Location(class_.kind, class_.register, signed(value & MASK_64, 64), class_.size)
        )

    def read_list(self, reader):
        width = bits_for(self.header.locations)
        count = reader.gamma()
        require(count <= 65535, "a list that is too long")
        return [self.location(reader.take(width)) for _ in range(count)]

    # ---- Calling conventions (section 12)

    def take_conventions(self, reader, block):
        """Goes through a block's runs: how many records, and whether they have the second convention."""
        left = min(self.header.records - block * CONVENTIONS_IN_BLOCK, CONVENTIONS_IN_BLOCK)
        is_second = reader.take(1) == 1
        while left > 0:
            length = reader.small(self.convention_parameters[is_second]) + 1
            require(length <= left, "more records of a convention than there are")
            yield length, is_second
            left -= length
            is_second = not is_second

    # ---- Addresses (sections 4, 8 and 9)

    def text_address(self, offset):
        return (self.address + self.header.text_start + offset) & MASK_64

    def take_extent(self, reader):
        """One of the extents."""
        header = self.header
        code = reader.rice(header.lead_parameter)
        if code > 0:
            return Extent(code - 1, True, 0)
        lead = reader.rice(header.lead_parameter)
        return Extent(lead, False, reader.rice(header.tail_parameter))

    def function_offset(self, first, extent):
        """A function's start, from the offset of its first record (None: no record is above it)."""
        above = self.header.text_size + 1 if first is None else first
        number = (above - 1 >> self.header.function_shift) - extent.lead
        require(above > 0 and number >= 0, "a function that starts before the text")
        return number << self.header.function_shift


# ---- Directory and leaves (section 8) -------------------------------------------------------------------


class Entry(NamedTuple):
    """Of the directory."""

    start: int
    index: int
    runs: int


def read_entry(table, number):
    header = table.header
    reader = BitReader(table.directory, number * header.entry_width)
    return Entry(
        reader.take(header.start_width), reader.take(header.index_width), reader.take(header.run_width)
    )


GROUP = 4  # records for which one bit says whether any of them has a mark
GROUPS_IN_SAMPLE = 128


class Leaf:
    """Where the fields of a leaf are. Places are bits of `leaves`, but `start` and `end`, which are bytes."""

    def __init__(self, table, number):
        header = table.header
        self.table, self.number = table, number
        self.start, self.index, self.runs = read_entry(table, number)
        behind = read_entry(table, number + 1)
        self.next_start = behind.start
        self.count = behind.index - self.index
        self.run_count = behind.runs - self.runs
        require(behind.index <= header.records, "a leaf with records that aren't there")
        require(self.count >= 0, "a leaf with an impossible number of records")
        require(0 <= self.run_count <= self.count, "a leaf with an impossible number of runs")
        require(self.start <= self.next_start <= header.leaves_size, "leaves that don't ascend")
        self.end = self.start  # the first byte behind the leaf
        if self.count > 0:
            reader = BitReader(table.leaves, 8 * self.start)
            self.read_records(reader)
            self.read_places(reader)
            self.end_bit = reader.position
            self.end = bytes_for(self.end_bit)
            require(self.end <= self.next_start, "a leaf that reaches into the next one")

    def read_records(self, reader):
        """The fields up to marks, whose sizes follow from the directory."""
        header, count = self.table.header, self.count
        universe = header.leaf_shift - header.record_shift
        bucket_bits = min(universe, bits_for(count))
        self.offsets = Unary(count, 1 << bucket_bits, universe - bucket_bits, True)
        self.groups = -(-count // GROUP)
        high = reader.take(self.offsets.high_bits)
        self.groups_at = reader.position
        reader.skip(self.groups)
        samples, self.mark_samples = [0], [(0, 0)]  # those that are left out where there is one of them
        if count > 128:
            samples = [reader.take(self.offsets.sample_width) for _ in range(self.offsets.sample_count)]
        if self.groups > GROUPS_IN_SAMPLE:
            width = bits_for(count + 1)
            sample_count = -(-self.groups // GROUPS_IN_SAMPLE)
            self.mark_samples = [(reader.take(width), reader.take(width)) for _ in range(sample_count)]
        self.offsets.open(high, self.table.leaves, reader.position, samples)
        reader.skip(count * self.offsets.low_width)
        self.owns = [reader.take(1) == 1 for _ in range(self.run_count)]
        self.marks_at = reader.position

    def read_places(self, reader):
        """The fields from marks on, whose sizes depend on those before."""
        header = self.table.header
        reader.skip(GROUP * self.groups_before(self.groups))
        self.shared_at = reader.position
        reader.skip(self.owns.count(False) * header.shared_width)
        self.own_starts = None
        if self.owns.count(True) > 1:
            self.read_own_starts(reader, self.owns.count(True))
        self.continued = None  # which layout, as it is written, and the position
        if not self.mark(0):
            self.continued = (reader.take(header.continued_width), reader.take(header.position_width))

    def read_own_starts(self, reader, own_count):
        """Of the own layouts but for the first one, less where that one starts."""
        span = self.next_start - reader.position // 8
        require(span >= 0, "a leaf that reaches into the next one")
        low_width = max(0, bits_for(span + 1) - bits_for(own_count))
        self.own_starts = Unary(own_count - 1, span >> low_width, low_width, True)
        lows_at = reader.position
        reader.skip((own_count - 1) * low_width)
        high = reader.take(self.own_starts.high_bits)
        self.own_starts.open(high, self.table.leaves, lows_at, None)

    def offset(self, x):
        return (self.number << self.table.header.leaf_shift) + (x << self.table.header.record_shift)

    def shared_layout(self, value):
        """What a field of shared says, which must be a shared layout."""
        require(value < self.table.header.shared_size, "a shared layout that isn't one")
        return value

    def own_layout(self, distance):
        require(distance < self.next_start - self.end, "an own layout that is in another leaf")
        return self.end + distance

    def continued_layout(self):
        """The byte at which the layout of a run that goes on starts."""
        distance = self.continued[0] - self.table.header.shared_size
        require(distance <= self.start, "a layout before the first one")
        return self.continued[0] if distance < 0 else self.start - distance

    # ---- All of it

    def all_offsets(self):
        return [self.offset(x) for x in self.offsets.decode()] if self.count > 0 else []

    def all_marks(self):
        """The records with a mark; and whether samples and marks are right."""
        if self.count == 0:
            return []
        leaves = self.table.leaves
        reader = BitReader(leaves, self.marks_at)
        marks, samples, groups_with_marks = [], [], 0
        for group in range(self.groups):
            if group % GROUPS_IN_SAMPLE == 0:
                samples.append((groups_with_marks, len(marks)))
            if leaves.field(self.groups_at + group, 1) == 0:
                continue
            own = [GROUP * group + number for number in range(GROUP) if reader.take(1) == 1]
            require(own, "a group without a mark")
            marks += own
            groups_with_marks += 1
        require(self.mark_samples == samples, "a sample that isn't right")
        require(reader.position == self.shared_at, "marks of another size")
        require(not marks or marks[-1] < self.count, "a mark of a record that isn't there")
        require(len(marks) == self.run_count, "marks that aren't as many as the runs")
        return marks

    def all_own_layouts(self):
        """Where those start that are behind the leaf."""
        if True not in self.owns:
            return []
        starts = [0] + (self.own_starts.decode() if self.own_starts else [])
        require(all(a < b for a, b in zip(starts, starts[1:])), "own layouts that don't ascend")
        return [self.own_layout(start) for start in starts]

    def all_layouts(self):
        """Where the layout of each run starts that begins in the leaf."""
        if self.count == 0:
            return []
        own, width = iter(self.all_own_layouts()), self.table.header.shared_width
        shared = BitReader(self.table.leaves, self.shared_at)
        return [next(own) if is_own else self.shared_layout(shared.take(width)) for is_own in self.owns]

    def check_padding(self):
        if self.count > 0:
            padding = self.table.leaves.field(self.end_bit, -self.end_bit % 8)
            require(padding == 0, "padding that isn't zero")

    # ---- One record of it

    def find(self, offset):
        """The first record that isn't below a multiple of the records' shift, and whether it is there."""
        header = self.table.header
        return self.offsets.find((offset & ((1 << header.leaf_shift) - 1)) >> header.record_shift)

    def ones(self, first, behind):
        """How many bits from one place up to another are 1."""
        require(first <= behind, "a sample that isn't right")
        return bin(self.table.leaves.field(first, behind - first)).count("1")

    def groups_before(self, group):
        """How many of the group bits before one are 1, by the nearest sample before it."""
        number = min(group // GROUPS_IN_SAMPLE, len(self.mark_samples) - 1)
        first = self.groups_at + number * GROUPS_IN_SAMPLE
        return self.mark_samples[number][0] + self.ones(first, self.groups_at + group)

    def marks_of(self, group):
        """The four marks of a group, the first one lowest."""
        leaves = self.table.leaves
        if leaves.field(self.groups_at + group, 1) == 0:
            return 0
        return leaves.field(self.marks_at + GROUP * self.groups_before(group), GROUP)

    def mark(self, record):
        return self.marks_of(record // GROUP) >> record % GROUP & 1

    def marks_up_to(self, record):
        """How many marks there are up to a record, and where the last one is."""
        group = record // GROUP
        groups_before, count = self.mark_samples[group // GROUPS_IN_SAMPLE]
        first = self.marks_at + GROUP * groups_before
        count += self.ones(first, self.marks_at + GROUP * self.groups_before(group))
        marks = self.marks_of(group) & ((2 << record % GROUP) - 1)
        count += bin(marks).count("1")
        require(count <= self.run_count, "more marks than runs")
        if count == 0:
            return count, None
        while marks == 0:
            group -= 1
            require(group >= 0, "a mark that isn't there")
            marks = self.marks_of(group)
            is_right = marks != 0 or self.table.leaves.field(self.groups_at + group, 1) == 0
            require(is_right, "a group without a mark")
        return count, GROUP * group + marks.bit_length() - 1

    def layout(self, number):
        """The byte at which the layout starts of one of the runs that begin in the leaf."""
        own = self.owns[:number].count(True)
        if self.owns[number]:
            return self.own_layout(self.own_starts.get(own - 1) if own > 0 else 0)
        width = self.table.header.shared_width
        return self.shared_layout(self.table.leaves.field(self.shared_at + (number - own) * width, width))

    def run_of(self, record):
        """The run that a record is in, its layout, and the record's position there. None: in no run."""
        count, last = self.marks_up_to(record)
        run = self.runs + count - 1
        if run < 0:
            return None
        require(run < self.table.header.runs, "a run that isn't there")
        if count > 0:
            return run, self.layout(count - 1), record - last
        require(self.continued is not None, "a first record without a mark that begins a run")
        return run, self.continued_layout(), self.continued[1] + record

    def marked(self, mark):
        """The record of a mark."""
        for record in range(self.count):
            if self.mark(record):
                if mark == 0:
                    return record
                mark -= 1
        raise Unusable("a mark that isn't there")


# ---- Layouts (section 10) ------------------------------------------------------------------------------


class Items(NamedTuple):
    """What a live set says."""

    pairs: Tuple
    allocas: Tuple
    locations: Optional[Tuple]  # None: a statepoint


class Layout:
    """Reads the fields of a layout, which starts at a byte of `leaves`, up to its sets."""

    def __init__(self, table, position):
        header = table.header
        self.table = table
        self.reader = reader = BitReader(table.leaves, 8 * position)
        self.frame_size = table.frame_size(reader.small(header.frame_parameter))
        self.sets = reader.small(header.sets_parameter) + 1
        require(self.sets <= 2**28 - 2, "a layout with too many sets")
        self.count = reader.small(header.locations_parameter)  # of locations
        require(self.count <= 2**26, "a layout with too many locations")
        self.choices = []  # for each location, what its states from 1 on say; then for the lists
        self.as_numbers = False  # how changes are written
        if self.count > 0:
            self.read_locations()
        self.read_lists()
        self.changes = self.sets > 1 and reader.take(1) == 1  # how the sets are written

    def read_numbers(self):
        """The locations' numbers."""
        reader, header, count = self.reader, self.table.header, self.count
        first = reader.small(header.first_parameter)
        require(first < header.locations, "a location that isn't there")
        if reader.take(1) == 0:
            require(first + count <= header.locations, "a location that isn't there")
            return list(range(first, first + count))
        if reader.take(1) == 0:
            map_size = count + reader.gamma()
            require(map_size <= 4096, "a map of locations that is too large")
            bits = [reader.take(1) for _ in range(map_size)]
            require(sum(bits) == count and bits[0] == bits[-1] == 1, "a map of locations that isn't right")
            return [first + place for place, bit in enumerate(bits) if bit]
        numbers = [first] + [reader.take(bits_for(header.locations)) for _ in range(count - 1)]
        require(all(a <= b for a, b in zip(numbers, numbers[1:])), "locations that don't ascend")
        return numbers

    def read_locations(self):
        any_derived = self.reader.take(1) == 1
        locations = [self.table.location(number) for number in self.read_numbers()]
        if any_derived:
            self.read_derived(locations)
        else:
            self.choices = [[("pair", location, location)] for location in locations]
        pairs = [pair for choices in self.choices for pair in choices]
        require(len(pairs) == len(set(pairs)), "a pair that is there twice")

    def read_derived(self, locations):
        """The choices of a layout in which a location can be derived from another one."""
        reader = self.reader
        selves = [reader.take(1) == 1 for _ in locations]
        states = [1 + reader.ones(2**26) for _ in locations]  # above 0
        require(max(states) <= 2**26, "a location with too many states")
        require(sum(states) > sum(selves), "derived references that aren't there")
        able = list(itertools.compress(locations, selves))
        bases = locations if len(locations) > 4096 else able  # by number
        for own, is_self, count in zip(locations, selves, states):
            choices = [own] if is_self else []
            for _ in range(count - is_self):
                base = reader.take(bits_for(len(bases)))
                require(base < len(bases), "a base that isn't there")
                choices.append(bases[base])
            self.choices.append([("pair", base, own) for base in choices])
        pairs = [pair for choices in self.choices for pair in choices]
        require({base for _, base, _ in pairs} <= set(able), "a base that can be no ordinary reference")

    def read_lists(self):
        reader, header = self.reader, self.table.header
        if header.lists == 0:
            return
        choices = []
        for _ in range(reader.gamma()):
            kind = "locations" if reader.take(1) == 1 else "allocas"
            number = reader.take(bits_for(header.lists))
            require(number < header.lists, "a list that isn't there")
            choices.append((kind, number))
        if choices:
            self.choices.append(choices)

    def live_items(self, states, lists):
        """What the locations in these states say; `lists` knows the contents of a list."""
        chosen = [own[state - 1] for own, state in zip(self.choices, states) if state > 0]
        require(len(chosen) <= 65535, "a live set with too many items")
        pairs = tuple(item[1:] for item in chosen if item[0] == "pair")
        others = [item for item in chosen if item[0] != "pair"]
        if not others:
            return Items(pairs, (), None)
        kind, contents = others[0][0], tuple(lists(others[0][1]))
        if kind == "allocas":
            return Items(pairs, contents, None)
        require(not pairs, "a stack map with pairs")
        return Items((), (), contents)

    def has_only_base(self, sets):
        """Whether a location is a base only: an ordinary reference in no set, though it can be one."""
        able = [choices[0][1] == choices[0][2] for choices in self.choices[: self.count]]
        return any(can and 1 not in states for can, states in zip(able, zip(*sets)))

    def lone_set(self):
        return [1] * len(self.choices)

    # ---- Sets as rows

    def widths(self):
        """How many bits each state takes."""
        return [max(1, bits_for(len(choices) + 1)) for choices in self.choices]

    def take_row(self):
        """The states of a set that is written as a row: plane after plane."""
        widths = self.widths()
        states = [0] * len(widths)
        for plane in range(max(widths, default=0)):
            for number, width in enumerate(widths):
                if plane < width:
                    states[number] |= self.reader.take(1) << plane
        fits = all(state <= len(choices) for state, choices in zip(states, self.choices))
        require(fits, "a state that isn't there")
        return states

    # ---- Sets as changes

    def take_changed(self):
        """The numbers of the locations that change."""
        reader, length = self.reader, len(self.choices)
        if self.as_numbers:
            count = reader.gamma()
            require(count <= length, "more changes than locations")
            changed = [reader.take(bits_for(length)) for _ in range(count)]
        else:
            changed = [number for number in range(length) if reader.take(1) == 1]
        require(all(a < b for a, b in zip(changed, changed[1:])), "locations that don't ascend")
        require(not changed or changed[-1] < length, "a location that isn't there")
        return changed

    def take_state(self, number):
        """The new state of a location that changes. None: the other one of its two."""
        count = len(self.choices[number])
        if count == 1:
            return None
        state = self.reader.take(bits_for(count + 1))
        require(state <= count, "a state that isn't there")
        return state

    def take_set(self):
        """A set's parent, and the changes from it; or 0 and a row."""
        parent = self.reader.take(bits_for(self.sets + 1))
        require(parent <= self.sets, "a parent that isn't there")
        if parent == 0:
            return parent, self.take_row()
        return parent, {number: self.take_state(number) for number in self.take_changed()}

    def take_head(self):
        """What comes before the first set; the directory."""
        self.as_numbers = self.reader.take(1) == 1
        width = self.reader.take(6)
        return [self.reader.take(width) for _ in range(-(-self.sets // SETS_IN_ENTRY))]

    def with_changes(self, number, set_at):
        """The states in a set, from its changes and those above it; `set_at` knows what is written."""
        layers = []
        parent = number + 1
        while parent > 0:
            require(len(layers) < 5, "sets in a chain that is too long")
            parent, contents = set_at(parent - 1)
            layers.append(contents)
        states = list(layers.pop())
        for changes in reversed(layers):
            for changed, state in changes.items():
                before = states[changed]
                states[changed] = 1 - before if state is None else state
                require(states[changed] != before, "a change that changes nothing")
        return states

    # ---- All sets in order

    def all_sets(self):
        """The states in each set; the reader is behind them then."""
        if self.sets == 1:
            return [self.lone_set()]
        sets = self.all_changes() if self.changes else [self.take_row() for _ in range(self.sets)]
        require(len(set(map(tuple, sets))) == self.sets, "a set that is there twice")
        return sets

    def all_changes(self):
        directory = self.take_head()
        start = self.reader.position
        sets, places = [], []
        for _ in range(self.sets):
            places.append(self.reader.position - start)
            sets.append(self.take_set())
        places.append(self.reader.position - start)
        step = SETS_IN_ENTRY
        require(directory == places[step:-1:step] + places[-1:], "a directory that isn't right")
        return [self.with_changes(number, sets.__getitem__) for number in range(self.sets)]

    def position_width(self, position):
        """How many bits the number of a position's set takes."""
        return min(bits_for(position + 1), bits_for(self.sets))

    def all_positions(self, count):
        """The set of each position. The reader is at the layout's end then."""
        chosen, behind = [], 0  # behind: the number that a set has which hasn't occurred yet
        for position in range(count):
            number = self.reader.take(self.position_width(position))
            require(number <= behind, "sets that aren't in the order in which they occur")
            behind = max(behind, number + 1)
            chosen.append(number)
        require(behind <= self.sets, "a set that isn't there")
        return chosen

    # ---- One set

    def set_at(self, position):
        """The states at one position, without reading more than that takes."""
        if self.sets == 1:
            return self.lone_set()
        directory = self.take_head() if self.changes else None
        start = self.reader.position
        width = sum(self.widths())
        number = self.number_at(position, directory[-1] if self.changes else self.sets * width)
        if self.changes:
            return self.with_changes(number, lambda own: self.set_by_directory(start, directory, own))
        self.reader.position = start + number * width
        return self.take_row()

    def number_at(self, position, size):
        """The number of the set at a position, which is behind the sets."""
        width = self.position_width(position)
        self.reader.skip(size + position * width - ((1 << width) - 1))
        number = self.reader.take(width)
        require(number < self.sets, "a set that isn't there")
        return number

    def set_by_directory(self, start, directory, number):
        step = SETS_IN_ENTRY
        self.reader.position = start + (directory[number // step - 1] if number >= step else 0)
        for _ in range(number % step):
            self.take_set()
        return self.take_set()


# ---- Details (section 12) ------------------------------------------------------------------------------

COLUMN_ID, COLUMN_CONVENTION, COLUMN_FLAGS, COLUMN_DEOPT, COLUMN_LIVE_OUTS = 1, 2, 4, 8, 16
DEOPT_HEAD = struct.Struct("<BHH")
LIVE_OUT = struct.Struct("<HB")


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
    header = table.header
    require(number < header.details_blocks, "a block that isn't there")
    places = (0,) + table.block_ends + (header.details_size,)
    start, end = places[number : number + 2]
    require(start <= end <= header.details_size, "a block beyond the end of its part")
    data = table.blocks[start:end]
    if header.details_codec == 1:
        data = decompress(data)
    require(len(data) <= header.details_block_size, "a block that is too large")
    return Block(header, data)


def default_details(header, convention):
    return Details(header.default_id, convention, header.flags)


def all_conventions(table):
    """The predicted one of each record."""
    header = table.header
    if header.convention_bits == 0:
        return [header.calling_convention] * header.records
    both = (header.calling_convention, header.second_convention)
    reader, conventions = BitReader(table.conventions), []
    for block, start in enumerate(table.convention_starts):
        require(start == reader.position, "a block of conventions at a wrong place")
        for length, is_second in table.take_conventions(reader, block):
            conventions += [both[is_second]] * length
    require(reader.position == header.convention_bits, "conventions of another size")
    return conventions


def all_details(table):
    header = table.header
    conventions = all_conventions(table)
    if header.details_columns == 0:
        require(header.details_blocks == header.details_size == 0, "blocks without a column")
        return [default_details(header, convention) for convention in conventions]
    in_block = 1 << header.details_shift
    require(header.details_blocks == -(-header.records // in_block), "a number of blocks that isn't right")
    details = []
    for number in range(header.details_blocks):
        block = open_block(table, number)
        details += [block.next(own) for own in conventions[len(details) : len(details) + in_block]]
        block.check_end()
    return details


# ---- The whole table, from its first byte to its last --------------------------------------------------


class Run(NamedTuple):
    first: int  # record
    leaf: int
    layout: int  # the byte at which it starts


class Record(NamedTuple):
    address: int
    function: int
    function_address: int
    frame_size: Optional[int]
    items: Items
    details: Details


class Decoded:
    """All functions and records in lists."""

    def __init__(self, table):
        self.table = table
        self.offsets, self.runs, self.gaps = [], [], []  # gaps: between the leaves, where layouts stand
        self.decode_leaves()
        self.bare = dict(zip(table.bare.items, table.bare_frames))
        self.check_bare()
        self.firsts = self.decode_firsts()
        self.extents = self.decode_extents()
        self.starts = self.decode_starts()
        self.ends = self.decode_ends()
        self.check_order()
        self.counts_by_rule = self.decode_counts_by_rule()
        self.function_layouts = self.decode_function_layouts()
        self.places = self.decode_places()
        self.lists = self.decode_lists()
        self.details = all_details(table)
        self.layouts = self.decode_layouts()
        self.check_layouts()

    # ---- Section 8

    def decode_leaves(self):
        table, header = self.table, self.table.header
        self.gaps.append((0, header.shared_size))
        if header.leaf_count == 0:
            require(header.leaves_size == header.runs == 0, "leaves without records")
            return
        require(read_entry(table, 0) == (header.shared_size, 0, 0), "a first leaf that isn't at the start")
        for number in range(header.leaf_count):
            leaf = Leaf(table, number)
            offsets, marks, layouts = leaf.all_offsets(), leaf.all_marks(), leaf.all_layouts()
            require(leaf.index == len(self.offsets), "a leaf whose first record isn't right")
            require(leaf.runs == len(self.runs), "a leaf whose number of runs isn't right")
            self.check_continued(leaf)
            self.offsets += offsets
            self.runs += [Run(leaf.index + record, number, own) for record, own in zip(marks, layouts)]
            leaf.check_padding()
            self.gaps.append((leaf.end, leaf.next_start))
        end = (header.leaves_size, header.records, header.runs)
        require(read_entry(table, header.leaf_count) == end, "a last entry that isn't right")

    def check_continued(self, leaf):
        if leaf.count == 0 or leaf.continued is None:
            return
        if not self.runs:
            require(leaf.continued == (0, 0), "a run that goes on, but begins nowhere")
            return
        last = self.runs[-1]
        place = (leaf.continued_layout(), leaf.continued[1])
        require(place == (last.layout, leaf.index - last.first), "a run that goes on as another one")

    def check_bare(self):
        header = self.table.header
        require(len(self.bare) == header.bare_functions, "a bare function that is there twice")
        require(max(self.bare, default=-1) < header.functions, "a bare function that isn't there")
        require(len(self.runs) == header.runs, "runs that aren't as many as the header says")

    def decode_firsts(self):
        """The first record of each function; where it has none by the rule, that of the next one."""
        firsts, runs = [], iter(self.runs)
        for number in range(self.table.header.functions):
            firsts.append(None if number in self.bare else next(runs).first)
        following = self.table.header.records
        for number in reversed(range(len(firsts))):
            following = firsts[number] = following if firsts[number] is None else firsts[number]
        return firsts

    def check_order(self):
        header = self.table.header
        require(not self.starts or self.starts[0] == 0, "a first function that isn't at the start")
        require(all(a <= b for a, b in zip(self.starts, self.starts[1:])), "functions that don't ascend")
        firsts = [bisect.bisect_right(self.offsets, start) for start in self.starts]
        require(firsts == self.firsts, "a first record that isn't right")
        highest = max(self.starts + self.ends + self.offsets + [0])
        require(highest == header.text_size, "a text of another size")
        require(not self.offsets or self.starts, "records without a function")

    # ---- Section 9

    def decode_extents(self):
        table, reader = self.table, BitReader(self.table.extents)
        extents = []
        for number in range(table.header.functions):
            if number % 32 == 0:
                require(table.extent_samples[number // 32] == reader.position, "a sample that isn't right")
            extents.append(table.take_extent(reader))
        require(reader.position == table.extents.size, "extents of another size")
        return extents

    def decode_starts(self):
        starts = []
        for first, extent in zip(self.firsts, self.extents):
            offset = self.offsets[first] if first < len(self.offsets) else None
            starts.append(self.table.function_offset(offset, extent))
        return starts

    def decode_ends(self):
        ends = []
        for number, (start, extent) in enumerate(zip(self.starts, self.extents)):
            following = self.starts[number + 1 : number + 2]
            behind = bisect.bisect_right(self.offsets, following[0]) if following else len(self.offsets)
            known = max(start, self.offsets[behind - 1]) if behind > 0 else start
            require(following or not extent.adjacent, "a last function whose end is told from the next")
            end = following[0] if extent.adjacent else known + extent.tail
            require(extent.adjacent or [end] != following, "a function that isn't said to reach the next one")
            require(end >= known, "a function that ends too early")
            require(not following or end <= following[0], "a function that reaches into the next one")
            ends.append(end)
        return ends

    # ---- Section 8 again

    def decode_counts_by_rule(self):
        """How many records each function has by the rule."""
        counts = []
        for number, first in enumerate(self.firsts):
            following = self.starts[number + 1 : number + 2]
            behind = bisect.bisect_right(self.offsets, following[0]) if following else len(self.offsets)
            counts.append(behind - first)
            require((counts[-1] == 0) == (number in self.bare), "a function that should be bare, or not")
        return counts

    def decode_function_layouts(self):
        """The layout of each function that has one: by its run, or by its exceptions."""
        runs = iter(self.runs)
        layouts = {
            number: next(runs).layout
            for number in range(self.table.header.functions)
            if number not in self.bare
        }
        for exception in self.table.exceptions:
            require(exception.function < len(self.starts), "an exception that can't be")
            layout = layouts.setdefault(exception.function, exception.layout)
            require(exception.layout == layout, "a function with two layouts")
        return layouts

    def decode_places(self):
        """The function and the position of each record."""
        places = [self.place_by_rule(index, offset) for index, offset in enumerate(self.offsets)]
        exceptions = self.table.exceptions
        require(
            all(a.index < b.index for a, b in zip(exceptions, exceptions[1:])), "exceptions that don't ascend"
        )
        for exception in exceptions:
            require(exception.index < len(places), "an exception that can't be")
            place = (exception.function, exception.position)
            require(places[exception.index] != place, "an exception that is none")
            places[exception.index] = place
        require(None not in places, "a record that belongs to no function")
        return places

    def place_by_rule(self, index, offset):
        function = bisect.bisect_left(self.starts, offset) - 1
        return (function, index - self.firsts[function]) if function >= 0 else None

    def position_counts(self):
        """How many positions each function has."""
        own = [0] * len(self.starts)
        for function, _ in self.places:
            own[function] += 1
        counts = list(self.counts_by_rule)
        for exception in self.table.exceptions:
            require(exception.position == counts[exception.function], "an exception at a wrong position")
            counts[exception.function] += 1
        return [count if records > 0 else 0 for count, records in zip(counts, own)]

    # ---- Section 10

    def decode_layouts(self):
        """For the start of each layout: its frame size, its live sets, the set of each position, its end."""
        counts = self.position_counts()
        positions = collections.defaultdict(set)
        for function, start in self.function_layouts.items():
            positions[start].add(counts[function])
        layouts = {start: self.decode_layout(start, max(counts)) for start, counts in positions.items()}
        for start, (_, _, chosen, _) in layouts.items():
            is_alike = len(positions[start]) == 1 or len(set(chosen)) <= 1
            require(is_alike, "a layout of several sets for functions with different numbers of records")
        return layouts

    def decode_layout(self, start, count):
        layout = Layout(self.table, start)
        is_empty = layout.sets == 1 and not layout.choices
        require(count > 0 or is_empty, "a layout of no record that isn't that of an empty set")
        states = layout.all_sets()
        live_sets = [layout.live_items(own, self.list_at) for own in states]
        chosen = layout.all_positions(count)
        needed = 1 if layout.sets == 2 and layout.has_only_base(states) else layout.sets
        require(count == 0 or len(set(chosen)) >= needed, "a set of no record")
        end = layout.reader.position
        require(self.table.leaves.field(end, -end % 8) == 0, "padding that isn't zero")
        return layout.frame_size, live_sets, chosen, bytes_for(end)

    def check_layouts(self):
        """Layouts fill the gaps between leaves; those that one run alone has stand behind its leaf."""
        uses = collections.Counter(run.layout for run in self.runs)
        leaves = {run.layout: run.leaf for run in self.runs}
        count = 0
        for number, (start, end) in enumerate(self.gaps, -1):  # the first one is that before leaf 0
            at = start
            while at < end:
                count += 1
                require(at in self.layouts, "a layout that no function has")
                require(number == (leaves[at] if uses[at] == 1 else -1), "a layout in another leaf")
                at = self.layouts[at][3]
            require(at == end, "a layout that ends in a leaf")
        require(count == len(self.layouts), "a layout that starts inside another one")
        for function, frame in self.bare.items():
            if function in self.function_layouts:
                size = self.layouts[self.function_layouts[function]][0]
                require(size == self.table.frame_size(frame), "a function with two frame sizes")

    # ---- Section 11

    def decode_lists(self):
        table, reader = self.table, BitReader(self.table.lists)
        lists = []
        for start in table.list_starts.items:
            require(start == reader.position, "a list that doesn't start where the one before ends")
            lists.append(table.read_list(reader))
        require(reader.position == table.header.list_bits, "lists of another size")
        return lists

    def list_at(self, number):
        return self.lists[number]

    # ---- Together

    def record(self, index):
        function, position = self.places[index]
        frame_size, live_sets, chosen, _ = self.layouts[self.function_layouts[function]]
        return Record(
            self.table.text_address(self.offsets[index]),
            function,
            self.table.text_address(self.starts[function]),
            frame_size,
            live_sets[chosen[position]],
            self.details[index],
        )


# ---- One address at a time (section 13) ----------------------------------------------------------------

FOUND, NOT_MANAGED, NOT_SAFEPOINT = "found", "not managed", "not a safepoint"


class LookUp:
    """Looks up single addresses by way of the samples."""

    def __init__(self, table):
        self.table = table
        self.header = table.header
        self.blocks = {}

    def extent_of(self, function):
        table = self.table
        require(function < self.header.functions, "a function that isn't there")
        reader = BitReader(table.extents, table.extent_samples[function // 32])
        for _ in range(function % 32):
            table.take_extent(reader)
        return table.take_extent(reader)

    def last_leaf(self, field, value):
        """The last leaf whose entry's field is at most a value."""
        low, high = 0, self.header.leaf_count - 1
        while low < high:
            middle = (low + high + 1) // 2
            if getattr(read_entry(self.table, middle), field) <= value:
                low = middle
            else:
                high = middle - 1
        return Leaf(self.table, low)

    def leaf_of(self, index):
        """The leaf of a record."""
        leaf = self.last_leaf("index", index)
        require(0 <= index - leaf.index < leaf.count, "a record that is in no leaf")
        return leaf

    def record_offset(self, index):
        leaf = self.leaf_of(index)
        return leaf.offset(leaf.offsets.get(index - leaf.index))

    def run_first(self, run):
        """The first record of a run."""
        leaf = self.last_leaf("runs", run)
        require(leaf.runs <= run, "a run that is in no leaf")
        return leaf.index + leaf.marked(run - leaf.runs)

    def runs_before(self, index):
        """How many runs start before a record."""
        if index >= self.header.records:
            return self.header.runs
        leaf = self.leaf_of(index)
        return leaf.runs + (leaf.marks_up_to(index - leaf.index - 1)[0] if index > leaf.index else 0)

    def count_bare(self, is_counted):
        """How many bare functions, from the first on, are so: by bisection."""
        low, high = 0, self.header.bare_functions
        while low < high:
            middle = (low + high) // 2
            if is_counted(self.table.bare.get(middle), middle):
                low = middle + 1
            else:
                high = middle
        return low

    def function_of_run(self, run):
        return run + self.count_bare(lambda number, before: number - before <= run)

    def first_of(self, function):
        """The first record of a function by the rule, or of the next one that has any."""
        run = function - self.count_bare(lambda number, before: number < function)
        return self.run_first(run) if run < self.header.runs else self.header.records

    def start_of(self, function):
        first = self.first_of(function)
        offset = self.record_offset(first) if first < self.header.records else None
        return self.table.function_offset(offset, self.extent_of(function))

    def answer(self, address):
        """One of the three answers, and the first record's index if it is FOUND."""
        table, header = self.table, self.header
        offset = (address - table.text_address(0)) & MASK_64
        if offset > header.text_size:
            return NOT_MANAGED, None
        if header.records > 0 and offset % (1 << header.record_shift) == 0:
            leaf = Leaf(table, offset >> header.leaf_shift)
            number, found = leaf.find(offset) if leaf.count > 0 else (0, False)
            if found:
                return FOUND, leaf.index + number
        functions = self.functions_up_to(offset)
        if functions > 0 and offset < self.end_of(functions - 1):
            return NOT_SAFEPOINT, None
        return NOT_MANAGED, None

    def above(self, offset):
        """The first record above an offset."""
        header = self.header
        if header.records == 0:
            return 0
        leaf = Leaf(self.table, offset >> header.leaf_shift)
        if leaf.count == 0:
            return leaf.index
        x = (offset & ((1 << header.leaf_shift) - 1)) >> header.record_shift
        return leaf.index + leaf.offsets.find(x + 1)[0]

    def functions_up_to(self, offset):
        """How many functions start at or below an offset that has no record."""
        above = self.above(offset)
        runs = self.runs_before(above)
        low = high = self.function_of_run(runs - 1) + 1 if runs > 0 else 0
        if above == self.header.records:
            high = self.header.functions
        elif self.runs_before(above + 1) > runs:
            high = self.function_of_run(runs) + 1
        while low < high:
            middle = (low + high) // 2
            if self.start_of(middle) <= offset:
                low = middle + 1
            else:
                high = middle
        return low

    def end_of(self, function):
        extent = self.extent_of(function)
        if extent.adjacent:
            return self.start_of(function + 1)
        behind = self.header.records
        if function + 1 < self.header.functions:
            behind = self.first_of(function + 1)
        known = self.start_of(function)
        if behind > 0:
            known = max(known, self.record_offset(behind - 1))
        return known + extent.tail

    def place(self, index):
        """A record's function and position, and its layout."""
        exceptions = self.table.exceptions
        found = bisect.bisect_left(exceptions, index, key=lambda exception: exception.index)
        if found < len(exceptions) and exceptions[found].index == index:
            return exceptions[found][1:]
        leaf = self.leaf_of(index)
        place = leaf.run_of(index - leaf.index)
        require(place is not None, "a record that belongs to no function")
        run, layout, position = place
        return self.function_of_run(run), position, layout

    def list_at(self, number):
        return self.table.read_list(BitReader(self.table.lists, self.table.list_starts.get(number)))

    def convention(self, index):
        """The predicted one."""
        table, header = self.table, self.header
        if header.convention_bits == 0:
            return header.calling_convention
        block, left = divmod(index, CONVENTIONS_IN_BLOCK)
        reader = BitReader(table.conventions, table.convention_starts[block])
        for length, is_second in table.take_conventions(reader, block):
            if left < length:
                return header.second_convention if is_second else header.calling_convention
            left -= length
        raise Unusable("a block of conventions that is too short")

    def details(self, index):
        """A record's details; the records of a block are kept, as only its first one can be got at."""
        if self.header.details_columns == 0:
            return default_details(self.header, self.convention(index))
        number = index >> self.header.details_shift
        first = number << self.header.details_shift
        if number not in self.blocks:
            block = open_block(self.table, number)
            behind = min(first + (1 << self.header.details_shift), self.header.records)
            self.blocks = {number: [block.next(self.convention(own)) for own in range(first, behind)]}
        return self.blocks[number][index - first]

    def record(self, index):
        table = self.table
        function, position, start = self.place(index)
        layout = Layout(table, start)
        return Record(
            table.text_address(self.record_offset(index)),
            function,
            table.text_address(self.start_of(function)),
            layout.frame_size,
            layout.live_items(layout.set_at(position), self.list_at),
            self.details(index),
        )


# ---- Checking look-ups ---------------------------------------------------------------------------------


def naive_answer(decoded, address):
    """What section 13 says of the answers' meaning, from the lists."""
    offset = (address - decoded.table.text_address(0)) & MASK_64
    index = bisect.bisect_left(decoded.offsets, offset)
    if index < len(decoded.offsets) and decoded.offsets[index] == offset:
        return FOUND, index
    function = bisect.bisect_right(decoded.starts, offset) - 1
    managed = function >= 0 and offset < decoded.ends[function]
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
        if look_up.place(index)[:2] != decoded.places[index] or look_up.record(index) != decoded.record(index):
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
    pairs = sorted(record.items.pairs)
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
            expected = as_line({**json.loads(line), "function": None})
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
        if look_up.record_offset(index) != look_up.record_offset(index - 1):
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
        for address in table.global_roots:
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
