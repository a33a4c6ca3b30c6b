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
zero, that every sample is right, and that nothing is between the layouts.

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

HEADER = struct.Struct("<IHHIIQQqQIIIIQIIIIQQII8BIIQHHiQii")
GLOBAL_ROOTS = 1  # a bit of features


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
    shared_layouts: int
    shared_functions: int
    layout_bits: int
    frame_sizes: int
    location_classes: int
    locations: int
    lists: int
    list_bits: int
    extent_bits: int
    exceptions: int
    conventions: int
    record_shift: int
    function_shift: int
    lead_parameter: int
    tail_parameter: int
    frame_size_width: int
    details_codec: int
    details_columns: int
    details_shift: int
    details_blocks: int
    details_block_size: int
    details_size: int
    deopt_max: int
    live_outs_max: int
    flags: int
    id: int
    calling_convention: int
    second_convention: int

    @property
    def layouts(self):
        return self.shared_layouts + self.functions - self.shared_functions


def read_header(data):
    """The header, which is sound in itself."""
    require(len(data) >= HEADER.size, "a table that is too short")
    header = Header(*HEADER.unpack_from(data))
    require(header.magic == 0x4B505453, "no table: its magic number differs")
    require(header.version == 2, f"a table of version {header.version}, which needs another reader")
    require(header.header_size == HEADER.size, "a header of another size")
    blanked = data[:12] + bytes(4) + data[16 : HEADER.size]
    require(header.header_checksum == xxh32(blanked), "a header whose checksum differs")
    require(header.features & ~GLOBAL_ROOTS == 0, "a table with features that need a newer reader")
    shifts = (header.record_shift, header.function_shift, header.details_shift)
    require(max(shifts) < 32 and header.frame_size_width <= 64, "a shift or width that is too large")
    require(max(header.lead_parameter, header.tail_parameter) < 32, "a parameter that is too large")
    require(header.shared_layouts <= header.shared_functions <= header.functions, "counts that contradict")
    require(header.location_classes > 0 or header.locations == 0, "locations without a class")
    require(header.conventions <= header.records, "more records of a convention than there are")
    sizes = (header.layout_bits, header.list_bits, header.details_size)
    require(max(sizes) < 2**50, "a size that is too large")
    require(header.extent_bits < 2**32, "extents that are too large")
    require(header.details_block_size <= 2**24, "blocks that are too large")
    return header


# ---- Sorted sequences (section 7) ----------------------------------------------------------------------


class Sequence:
    """The numbers in order: items. And the two ways to get at them through the samples: find and get."""

    def __init__(self, count, maximum, for_find):
        self.count = count
        self.for_find = for_find
        self.low_width = (maximum // count).bit_length() - 1 if 0 < count <= maximum else 0
        self.buckets = (maximum >> self.low_width) + 1 if count > 0 else 0
        self.high_bits = count + self.buckets
        require(self.high_bits < 2**32, "a sequence that is too long")
        self.sample_count = -(-self.buckets // 128) if for_find else -(-count // 32)
        self.sample_width = bits_for(self.high_bits)
        self.sizes = (
            bytes_for(count * self.low_width),
            bytes_for(self.high_bits),
            bytes_for(self.sample_count * self.sample_width),
        )
        self.size = sum(self.sizes)
        self.low = None
        self.high = ""  # a character for each bit, for speed
        self.samples = self.items = ()

    def open(self, data):
        low_size, high_size, _ = self.sizes
        self.low = whole_array(data[:low_size], self.count * self.low_width)
        high = whole_array(data[low_size : low_size + high_size], self.high_bits)
        self.high = f"{int.from_bytes(high.data, 'little'):b}"[::-1].ljust(self.high_bits, "0")
        self.samples = fields_of(data[low_size + high_size :], self.sample_count, self.sample_width)
        self.items = self.decode()
        return self

    def decode(self):
        """All numbers, by one pass over the high bits; and whether the samples are those of this pass."""
        lows = self.low.fields(self.count, self.low_width)
        numbers, bucket_places, element_places = [], [0], []
        for place in range(self.high_bits):
            if self.high[place] == "0":
                bucket_places.append(place + 1)
            else:
                require(len(numbers) < self.count, "a sequence with too many elements")
                element_places.append(place)
                numbers.append(len(bucket_places) - 1 << self.low_width | lows[len(numbers)])
        require(len(numbers) == self.count, "a sequence with too few elements")
        require(all(a <= b for a, b in zip(numbers, numbers[1:])), "a sequence that doesn't ascend")
        places = bucket_places[: self.buckets : 128] if self.for_find else element_places[::32]
        require(self.samples == places, "a sample that isn't right")
        return numbers

    def next_bit(self, bit, place):
        """The first place of this bit, from one on."""
        found = self.high.find(bit, place)
        require(found >= 0, "a place beyond the end of a sequence")
        return found

    def behind_zeros(self, place, zeros):
        """The place behind so many 0s."""
        for _ in range(zeros):
            place = self.next_bit("0", place) + 1
        return place

    def at_one(self, place, ones_before):
        """The place of the 1 that has so many other 1s before it."""
        for _ in range(ones_before):
            place = self.next_bit("1", place) + 1
        return self.next_bit("1", place)

    def low_of(self, number):
        return self.low.field(number * self.low_width, self.low_width)

    def find(self, x):
        """The first element that is at least x."""
        assert self.for_find
        bucket = x >> self.low_width
        if bucket >= self.buckets:
            return self.count
        place = self.behind_zeros(self.samples[bucket // 128], bucket % 128)
        number = place - bucket
        low = x & ((1 << self.low_width) - 1)
        while self.high[place] == "1" and self.low_of(number) < low:
            place += 1
            number += 1
        return number

    def last_sample_before(self, number):
        """The last sampled bucket that starts at or before an element."""
        low, high = 0, self.sample_count - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.samples[middle] - 128 * middle <= number:
                low = middle
            else:
                high = middle - 1
        return low

    def get(self, number):
        require(number < self.count, "an element that isn't there")
        if self.for_find:
            sample = self.last_sample_before(number)
            place = self.at_one(self.samples[sample], number - (self.samples[sample] - 128 * sample))
        else:
            place = self.at_one(self.samples[number // 32], number % 32)
        return place - number << self.low_width | self.low_of(number)


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


class Extent(NamedTuple):
    lead: int
    adjacent: bool
    tail: int  # 0 if adjacent


CLASS = struct.Struct("<HHB3sIIq")
EXCEPTION = struct.Struct("<III")
ROOTS = struct.Struct("<IIqQ")


def check_location(location):
    require(1 <= location.kind <= 5, "a location of an unknown kind")
    return location


class Table:
    """A table, taken apart into its parts."""

    def __init__(self, data, address):
        header = self.header = read_header(data)
        text_size = header.text_size
        self.address = address
        self.records = Sequence(header.records, text_size >> header.record_shift, True)
        self.firsts = Sequence(header.functions, header.records, True)
        self.layout_starts = Sequence(header.layouts, header.layout_bits, False)
        self.list_starts = Sequence(header.lists, header.list_bits, False)
        self.conventions = Sequence(header.conventions, header.records, True)
        self.data = data
        self.position = HEADER.size
        places = {name: self.part(size) for name, size in self.part_sizes()}
        require(header.size <= len(data), "a table beyond the end of its segment")
        self.global_roots = self.read_global_roots() if header.features & GLOBAL_ROOTS else []
        require(self.position + 8 == header.size, "a table whose size isn't that of its parts")
        self.open_parts({name: data[start:end] for name, (start, end) in places.items()})
        require(not any(data[self.position : header.size]), "padding that isn't zero")

    def part_sizes(self):
        header = self.header
        return (
            ("records", self.records.size),
            ("firsts", self.firsts.size),
            ("extent_samples", bytes_for(-(-header.functions // 32) * bits_for(header.extent_bits + 1))),
            ("extents", bytes_for(header.extent_bits)),
            ("marks", bytes_for(header.functions)),
            ("mark_samples", bytes_for(-(-header.functions // 128) * bits_for(header.shared_functions + 1))),
            ("shared", bytes_for(header.shared_functions * bits_for(header.shared_layouts))),
            ("layout_starts", self.layout_starts.size),
            ("layouts", bytes_for(header.layout_bits)),
            ("frame_sizes", bytes_for(header.frame_sizes * header.frame_size_width)),
            ("classes", CLASS.size * header.location_classes),
            ("list_starts", self.list_starts.size),
            ("lists", bytes_for(header.list_bits)),
            ("exceptions", EXCEPTION.size * header.exceptions),
            ("conventions", self.conventions.size),
            ("block_starts", 8 * header.details_blocks),
            ("blocks", header.details_size),
        )

    def read_global_roots(self):
        """The addresses; the part's size follows from its own numbers."""
        require(self.position + ROOTS.size <= self.header.size, "global roots beyond the table's end")
        count, shift, start, span = ROOTS.unpack_from(self.data, self.part(ROOTS.size)[0])
        require(count > 0 and shift < 32, "global roots that can't be")
        sequence = Sequence(count, span >> shift, False)
        at, end = self.part(sequence.size)
        require(end + 8 <= self.header.size, "global roots beyond the table's end")
        numbers = sequence.open(self.data[at:end]).items
        require(len(set(numbers)) == count, "a global root that comes twice")
        return [(self.address + start + (number << shift)) % 2**64 for number in numbers]

    def part(self, size):
        start = self.position
        self.position += size
        return start, self.position

    def open_parts(self, parts):
        header = self.header
        self.records.open(parts["records"])
        self.firsts.open(parts["firsts"])
        self.layout_starts.open(parts["layout_starts"])
        self.list_starts.open(parts["list_starts"])
        self.conventions.open(parts["conventions"])
        self.extent_samples = fields_of(
            parts["extent_samples"], -(-header.functions // 32), bits_for(header.extent_bits + 1)
        )
        self.extents = whole_array(parts["extents"], header.extent_bits)
        self.marks = whole_array(parts["marks"], header.functions)
        self.mark_samples = fields_of(
            parts["mark_samples"], -(-header.functions // 128), bits_for(header.shared_functions + 1)
        )
        self.shared = fields_of(parts["shared"], header.shared_functions, bits_for(header.shared_layouts))
        self.layouts = whole_array(parts["layouts"], header.layout_bits)
        self.frame_sizes = fields_of(parts["frame_sizes"], header.frame_sizes, header.frame_size_width)
        self.lists = whole_array(parts["lists"], header.list_bits)
        self.classes = [Class(*fields) for fields in CLASS.iter_unpack(parts["classes"])]
        self.exceptions = list(EXCEPTION.iter_unpack(parts["exceptions"]))
        self.block_starts = struct.unpack(f"<{header.details_blocks}Q", parts["block_starts"])
        self.blocks = parts["blocks"]

    # ---- Frame sizes, locations and lists (section 11)

    def frame_size(self, number):
        """None: unknown."""
        require(number < len(self.frame_sizes), "a frame size that isn't there")
        size = self.frame_sizes[number]
        return None if size == (1 << self.header.frame_size_width) - 1 else size

    def location(self, number):
        require(number < self.header.locations, "a location that isn't there")
        index = bisect.bisect_right(self.classes, number, key=lambda class_: class_.first_number) - 1
        require(index >= 0, "classes that don't start at 0")
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

    # ---- Addresses (sections 4, 8 and 9)

    def text_address(self, offset):
        return (self.address + self.header.text_start + offset) & MASK_64

    def record_offset(self, number):
        return number << self.header.record_shift

    def take_extent(self, reader):
        """One of the extents."""
        header = self.header
        lead = reader.rice(header.lead_parameter)
        adjacent = reader.take(1) == 1
        tail = 0 if adjacent else reader.rice(header.tail_parameter)
        return Extent(lead, adjacent, tail)

    def function_offset(self, first, extent):
        """A function's start, from the offset of its first record (None: no record is above it)."""
        above = self.header.text_size + 1 if first is None else first
        number = (above - 1 >> self.header.function_shift) - extent.lead
        require(above > 0 and number >= 0, "a function that starts before the text")
        return number << self.header.function_shift


# ---- Layouts (section 10) ------------------------------------------------------------------------------


class Items(NamedTuple):
    """What a live set says."""

    pairs: Tuple
    allocas: Tuple
    locations: Optional[Tuple]  # None: a statepoint


class Layout:
    """Reads the fields of a layout up to its sets."""

    def __init__(self, table, position):
        self.table = table
        self.reader = reader = BitReader(table.layouts, position)
        self.frame_size = table.frame_size(reader.take(bits_for(table.header.frame_sizes)))
        self.sets = reader.gamma()
        self.choices = []  # for each location, what its states from 1 on say
        self.changes = self.as_numbers = False  # how the sets are written
        if self.sets > 0:
            self.read_locations()
            self.read_lists()
        if self.sets > 1:
            self.changes = reader.take(1) == 1

    def read_numbers(self, count):
        """The locations' numbers."""
        reader, width = self.reader, bits_for(self.table.header.locations)
        first = reader.take(width)
        form = reader.take(2)
        require(form != 3, "a form of locations that is unknown")
        if form == 0:
            require(first + count <= self.table.header.locations, "a location that isn't there")
            return list(range(first, first + count))
        if form == 1:
            map_size = count + reader.gamma()
            require(map_size <= 4096, "a map of locations that is too large")
            bits = [reader.take(1) for _ in range(map_size)]
            require(sum(bits) == count and bits[0] == bits[-1] == 1, "a map of locations that isn't right")
            return [first + place for place, bit in enumerate(bits) if bit]
        numbers = [first] + [reader.take(width) for _ in range(count - 1)]
        require(all(a <= b for a, b in zip(numbers, numbers[1:])), "locations that don't ascend")
        return numbers

    def read_map(self, count, bit_for_each):
        """A bit for each location, if this bit says so; otherwise they are all alike."""
        if self.reader.take(1) == bit_for_each:
            return [self.reader.take(1) == 1 for _ in range(count)]
        return [bit_for_each == 0] * count

    def read_locations(self):
        reader = self.reader
        count = reader.gamma()
        require(count <= 2**26, "a layout with too many locations")
        if count == 0:
            return
        locations = [self.table.location(number) for number in self.read_numbers(count)]
        selves = self.read_map(count, 0)
        deriveds = self.read_map(count, 1)
        base_counts = [reader.gamma() + 1 if derived else 0 for derived in deriveds]
        for own, location in enumerate(locations):
            choices = [("pair", location, location)] if selves[own] else []
            for _ in range(base_counts[own]):
                base = reader.take(bits_for(count))
                require(base < count, "a base that isn't there")
                choices.append(("pair", locations[base], location))
            self.choices.append(choices)
        pairs = [pair for choices in self.choices for pair in choices]
        require(len(pairs) == len(set(pairs)), "a pair that is there twice")

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

    def lone_set(self):
        return [1 if choices else 0 for choices in self.choices]

    # ---- Sets as rows

    def row_width(self):
        rests = (bits_for(len(choices) + 1) - 1 for choices in self.choices if len(choices) > 1)
        return len(self.choices) + sum(rests)

    def take_row(self):
        """The states of a set that is written as a row."""
        lowest = [self.reader.take(1) for _ in self.choices]
        return [self.whole_state(choices, bit) for choices, bit in zip(self.choices, lowest)]

    def whole_state(self, choices, lowest):
        state = lowest
        if len(choices) > 1:
            state |= self.reader.take(bits_for(len(choices) + 1) - 1) << 1
        require(state <= len(choices), "a state that isn't there")
        return state

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
        require(count > 0, "a change of a location that has one state")
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
        return [self.reader.take(width) for _ in range((self.sets + 7) // 8)]

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
        require(directory == places[8:-1:8] + places[-1:], "a directory that isn't right")
        return [self.with_changes(number, sets.__getitem__) for number in range(self.sets)]

    def all_positions(self, count):
        """The set of each position. The reader is at the layout's end then."""
        width = bits_for(self.sets)
        chosen = [self.reader.take(width) for _ in range(count)]
        require(all(number < self.sets for number in chosen), "a set that isn't there")
        return chosen

    # ---- One set

    def set_at(self, position):
        """The states at one position, without reading more than that takes."""
        if self.sets == 1:
            return self.lone_set()
        directory = self.take_head() if self.changes else None
        start = self.reader.position
        width = self.row_width()
        number = self.number_at(position, directory[-1] if self.changes else self.sets * width)
        if self.changes:
            return self.with_changes(number, lambda own: self.set_by_directory(start, directory, own))
        self.reader.position = start + number * width
        return self.take_row()

    def number_at(self, position, size):
        """The number of the set at a position, which is behind the sets."""
        width = bits_for(self.sets)
        self.reader.skip(size + position * width)
        number = self.reader.take(width)
        require(number < self.sets, "a set that isn't there")
        return number

    def set_by_directory(self, start, directory, number):
        self.reader.position = start + (directory[number // 8 - 1] if number >= 8 else 0)
        for _ in range(number % 8):
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
        self.id = header.id
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
        require(count <= self.header.deopt_max, "a deopt state that is too long")
        state = []
        for number in range(count):
            head = self.deopt.varint()
            require(head < len(self.heads), "a head that isn't there")
            kind, size, register = self.heads[head]
            if number == 0:
                value = self.first_value = (self.first_value + self.first_values.zigzag()) & MASK_64
            else:
                value = self.deopt.zigzag() & MASK_64
            state.append(check_location(Location(kind, register, signed(value, 64), size)))
        return tuple(state)

    def check_end(self):
        require(all(s.position == len(s.data) for s in self.streams), "a stream that is too long")


def open_block(table, number):
    header = table.header
    require(number < header.details_blocks, "a block that isn't there")
    ends = table.block_starts[1:] + (header.details_size,)
    start, end = table.block_starts[number], ends[number]
    require(start <= end <= header.details_size, "a block beyond the end of its part")
    data = table.blocks[start:end]
    require(header.details_codec in (0, 1), "a codec that is unknown")
    if header.details_codec == 1:
        data = decompress(data)
    require(len(data) <= header.details_block_size, "a block that is too large")
    return Block(header, data)


def default_details(header, convention):
    return Details(header.id, convention, header.flags)


def all_details(table):
    header = table.header
    second = set(table.conventions.items)
    require(len(second) == header.conventions, "a record's convention that is there twice")
    require(max(second, default=-1) < header.records, "a convention of no record")
    both = (header.calling_convention, header.second_convention)
    conventions = [both[index in second] for index in range(header.records)]
    require(header.details_columns < 32, "a column that is unknown")
    if header.details_columns == 0:
        require(header.details_blocks == header.details_size == 0, "blocks without a column")
        return [default_details(header, convention) for convention in conventions]
    in_block = 1 << header.details_shift
    require(header.details_blocks == -(-header.records // in_block), "a number of blocks that isn't right")
    require(table.block_starts[:1] in ((), (0,)), "a first block that isn't at the start")
    details = []
    for number in range(header.details_blocks):
        block = open_block(table, number)
        details += [block.next(own) for own in conventions[len(details) : len(details) + in_block]]
        block.check_end()
    return details


# ---- The whole table, from its first byte to its last --------------------------------------------------


class Function(NamedTuple):
    address: int
    end: int
    layout: int


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
        self.offsets = [table.record_offset(number) for number in table.records.items]
        self.extents = self.decode_extents()
        self.starts = self.decode_starts()
        self.ends = self.decode_ends()
        self.check_order()
        self.places = self.decode_places()
        self.layout_numbers = self.decode_layout_numbers()
        self.lists = self.decode_lists()
        self.details = all_details(table)
        self.layouts = self.decode_layouts()

    def check_order(self):
        header = self.table.header
        require(not self.starts or self.starts[0] == 0, "a first function that isn't at the start")
        require(all(a <= b for a, b in zip(self.starts, self.starts[1:])), "functions that don't ascend")
        firsts = [bisect.bisect_right(self.offsets, start) for start in self.starts]
        require(firsts == self.table.firsts.items, "a first record that isn't right")
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
        for first, extent in zip(self.table.firsts.items, self.extents):
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
            end = following[0] - extent.tail if extent.adjacent else known + extent.tail
            require(end >= known, "a function that ends too early")
            require(not following or end <= following[0], "a function that reaches into the next one")
            ends.append(end)
        return ends

    # ---- Section 8

    def decode_places(self):
        """The function and the position of each record."""
        places = [self.place_by_rule(index, offset) for index, offset in enumerate(self.offsets)]
        exceptions = self.table.exceptions
        require(
            all(a[0] < b[0] for a, b in zip(exceptions, exceptions[1:])), "exceptions that don't ascend"
        )
        for index, function, position in exceptions:
            require(index < len(places) and function < len(self.starts), "an exception that can't be")
            places[index] = (function, position)
        require(None not in places, "a record that belongs to no function")
        return places

    def place_by_rule(self, index, offset):
        function = bisect.bisect_left(self.starts, offset) - 1
        if function < 0:
            return None
        return function, index - bisect.bisect_right(self.offsets, self.starts[function])

    def position_counts(self):
        """How many positions each function has."""
        counts = []
        own = [0] * len(self.starts)
        for function, _ in self.places:
            own[function] += 1
        for number, start in enumerate(self.starts):
            following = self.starts[number + 1 : number + 2]
            behind = bisect.bisect_right(self.offsets, following[0]) if following else len(self.offsets)
            counts.append(behind - bisect.bisect_right(self.offsets, start))
        by_rule = list(counts)
        for _, function, position in self.table.exceptions:
            require(position == counts[function], "an exception at a position that isn't right")
            counts[function] += 1
        for number, records in enumerate(own):
            require(records > 0 or counts[number] == by_rule[number], "a function without its exceptions")
        return [count if records > 0 else 0 for count, records in zip(counts, own)]

    # ---- Section 10

    def decode_layout_numbers(self):
        table, header = self.table, self.table.header
        marks = table.marks.fields(header.functions, 1)
        samples = tuple(sum(marks[:place]) for place in range(0, header.functions, 128))
        require(tuple(table.mark_samples) == samples, "a sample that isn't right")
        require(sum(marks) == header.shared_functions, "marks that aren't as many as the header says")
        shared = iter(table.shared)
        own = iter(range(header.shared_layouts, header.layouts))
        numbers = [next(shared) if mark else next(own) for mark in marks]
        require(set(numbers) == set(range(header.layouts)), "a layout that no function has")
        return numbers

    def decode_layouts(self):
        """Of each layout: its frame size, its live sets, and the set of each position."""
        table = self.table
        positions = {}
        for layout, count in zip(self.layout_numbers, self.position_counts()):
            require(positions.setdefault(layout, count) == count, "a layout for different functions")
        starts = table.layout_starts.items
        layouts = []
        for number, start in enumerate(starts):
            layout = Layout(table, start)
            live_sets, chosen = [], []
            require((layout.sets == 0) == (positions[number] == 0), "a layout without sets")
            if layout.sets > 0:
                live_sets = [layout.live_items(states, self.list_at) for states in layout.all_sets()]
                chosen = layout.all_positions(positions[number])
            end = starts[number + 1] if number + 1 < len(starts) else table.header.layout_bits
            require(layout.reader.position == end, "a layout that doesn't end where the next one starts")
            layouts.append((layout.frame_size, live_sets, chosen))
        return layouts

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
        frame_size, live_sets, chosen = self.layouts[self.layout_numbers[function]]
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
        reader = BitReader(table.extents, table.extent_samples[function // 32])
        for _ in range(function % 32):
            table.take_extent(reader)
        return table.take_extent(reader)

    def record_offset(self, index):
        return self.table.record_offset(self.table.records.get(index))

    def start_of(self, function):
        first = self.table.firsts.get(function)
        offset = self.record_offset(first) if first < self.header.records else None
        return self.table.function_offset(offset, self.extent_of(function))

    def answer(self, address):
        """One of the three answers, and the first record's index if it is FOUND."""
        table, header = self.table, self.header
        offset = (address - table.text_address(0)) & MASK_64
        if offset > header.text_size:
            return NOT_MANAGED, None
        number = offset >> header.record_shift
        if number << header.record_shift == offset:
            index = table.records.find(number)
            if index < header.records and table.records.get(index) == number:
                return FOUND, index
        functions = self.functions_up_to(offset)
        if functions > 0 and offset < self.end_of(functions - 1):
            return NOT_SAFEPOINT, None
        return NOT_MANAGED, None

    def functions_up_to(self, offset):
        """How many functions start at or below an offset that has no record."""
        above = self.table.records.find((offset >> self.header.record_shift) + 1)
        low, high = self.table.firsts.find(above), self.table.firsts.find(above + 1)
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
            return self.start_of(function + 1) - extent.tail
        behind = self.header.records
        if function + 1 < self.header.functions:
            behind = self.table.firsts.get(function + 1)
        known = self.start_of(function)
        if behind > 0:
            known = max(known, self.record_offset(behind - 1))
        return known + extent.tail

    def place(self, index):
        """A record's function and position."""
        table = self.table
        found = bisect.bisect_left(table.exceptions, (index,))
        if found < len(table.exceptions) and table.exceptions[found][0] == index:
            return table.exceptions[found][1:]
        function = table.firsts.find(index + 1) - 1
        require(function >= 0, "a record that belongs to no function")
        return function, index - table.firsts.get(function)

    def layout_of(self, function):
        table, header = self.table, self.header
        sampled = function // 128 * 128
        ones = bin(table.marks.field(sampled, function - sampled)).count("1")
        rank = table.mark_samples[function // 128] + ones
        if table.marks.field(function, 1) == 0:
            return header.shared_layouts + function - rank
        return table.shared[rank]

    def list_at(self, number):
        return self.table.read_list(BitReader(self.table.lists, self.table.list_starts.get(number)))

    def convention(self, index):
        """The predicted one."""
        conventions = self.table.conventions
        found = conventions.find(index)
        if found < conventions.count and conventions.get(found) == index:
            return self.header.second_convention
        return self.header.calling_convention

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
        function, position = self.place(index)
        layout = Layout(table, table.layout_starts.get(self.layout_of(function)))
        require(layout.sets > 0, "a record in a layout without sets")
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
        if look_up.place(index) != decoded.places[index] or look_up.record(index) != decoded.record(index):
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
    while index is not None:
        print(as_line(record_as_json(look_up.record(index))))
        index += 1
        if index == table.header.records or table.records.get(index) != table.records.get(index - 1):
            index = None


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
