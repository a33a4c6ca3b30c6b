#!/usr/bin/env python3
"""Print every record of a packed stack-map table, one JSON object per line.

    packed_decoder.py FILE                        print the records
    packed_decoder.py --compare=STACKPACK FILE    compare them with `STACKPACK dump --format=json FILE`
    packed_decoder.py --check-look-ups=N FILE     look up N random addresses, and those around every record
                                                  and function; compare the answers with a search in lists
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


def align8(size):
    return (size + 7) // 8 * 8


def words_size(bits):
    """The bytes of a bit array."""
    return (bits + 63) // 64 * 8


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

HEADER = struct.Struct("<IHHIIQQqQIIIIQIIIIQQI8BIQIHHQii")


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
    tail_bits: int
    exceptions: int
    record_shift: int
    function_shift: int
    tail_parameter: int
    frame_size_width: int
    details_codec: int
    details_columns: int
    details_shift: int
    reserved: int
    details_blocks: int
    details_size: int
    details_block_size: int
    deopt_max: int
    live_outs_max: int
    id: int
    calling_convention: int
    flags: int

    @property
    def layouts(self):
        return self.shared_layouts + self.functions - self.shared_functions


def read_header(data):
    """The header, which is sound in itself."""
    require(len(data) >= HEADER.size, "a table that is too short")
    header = Header(*HEADER.unpack_from(data))
    require(header.magic == 0x4B505453, "no table: its magic number differs")
    require(header.version == 1, f"a table of version {header.version}, which needs another reader")
    require(header.header_size == HEADER.size, "a header of another size")
    blanked = data[:12] + bytes(4) + data[16 : HEADER.size]
    require(header.header_checksum == xxh32(blanked), "a header whose checksum differs")
    require(header.features == 0, "a table with features that need a newer reader")
    shifts = (header.record_shift, header.function_shift, header.tail_parameter, header.details_shift)
    require(max(shifts) < 32 and header.frame_size_width <= 64, "a shift or width that is too large")
    require(header.shared_layouts <= header.shared_functions <= header.functions, "counts that contradict")
    require(header.location_classes > 0 or header.locations == 0, "locations without a class")
    sizes = (header.layout_bits, header.list_bits, header.details_size)
    require(max(sizes) < 2**50, "a size that is too large")
    require(header.tail_bits < 2**32, "tails that are too large")
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
        sampled = self.buckets if for_find else count
        self.sample_count = (sampled + 127) // 128
        self.sizes = (
            words_size(count * self.low_width),
            words_size(self.high_bits),
            words_size(self.sample_count * 32),
        )
        self.size = sum(self.sizes)
        self.low = None
        self.high = ""  # a character for each bit, for speed
        self.samples = self.items = ()

    def open(self, data):
        low_size, high_size, _ = self.sizes
        self.low = BitArray(data[:low_size], self.count * self.low_width)
        high = BitArray(data[low_size : low_size + high_size], self.high_bits)
        samples = BitArray(data[low_size + high_size :], self.sample_count * 32)
        for array in (self.low, high, samples):
            array.check_padding()
        self.high = f"{int.from_bytes(high.data, 'little'):b}"[::-1].ljust(self.high_bits, "0")
        self.samples = samples.fields(self.sample_count, 32)
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
        places = bucket_places[: self.buckets] if self.for_find else element_places
        require(self.samples == places[::128], "a sample that isn't right")
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
            place = self.at_one(self.samples[number // 128], number % 128)
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


CLASS = struct.Struct("<HHB3sIIq")
EXCEPTION = struct.Struct("<III")


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
        self.functions = Sequence(header.functions, text_size >> header.function_shift, True)
        self.layout_starts = Sequence(header.layouts, header.layout_bits, False)
        self.list_starts = Sequence(header.lists, header.list_bits, False)
        self.data = data
        self.position = HEADER.size
        places = {name: self.part(size) for name, size in self.part_sizes()}
        require(self.position + 8 == header.size, "a table whose size isn't that of its parts")
        require(header.size <= len(data), "a table beyond the end of its segment")
        self.open_parts({name: data[start:end] for name, (start, end) in places.items()})
        require(not any(data[self.position : header.size]), "padding that isn't zero")

    def part_sizes(self):
        header = self.header
        return (
            ("records", self.records.size),
            ("functions", self.functions.size),
            ("marks", words_size(header.functions)),
            ("mark_samples", 4 * -(-header.functions // 512)),
            ("shared", words_size(header.shared_functions * bits_for(header.shared_layouts))),
            ("tail_samples", 4 * -(-header.functions // 32)),
            ("tails", words_size(header.tail_bits)),
            ("layout_starts", self.layout_starts.size),
            ("layouts", words_size(header.layout_bits)),
            ("frame_sizes", words_size(header.frame_sizes * header.frame_size_width)),
            ("classes", CLASS.size * header.location_classes),
            ("list_starts", self.list_starts.size),
            ("lists", words_size(header.list_bits)),
            ("exceptions", EXCEPTION.size * header.exceptions),
            ("block_starts", 8 * header.details_blocks),
            ("blocks", header.details_size),
        )

    def part(self, size):
        start = self.position
        self.position += align8(size)
        require(not any(self.data[start + size : self.position]), "padding that isn't zero")
        return start, start + size

    def open_parts(self, parts):
        header = self.header
        self.records.open(parts["records"])
        self.functions.open(parts["functions"])
        self.layout_starts.open(parts["layout_starts"])
        self.list_starts.open(parts["list_starts"])
        self.marks = BitArray(parts["marks"], header.functions)
        self.mark_samples = struct.unpack(f"<{len(parts['mark_samples']) // 4}I", parts["mark_samples"])
        self.shared_width = bits_for(header.shared_layouts)
        self.shared = BitArray(parts["shared"], header.shared_functions * self.shared_width)
        self.tail_samples = struct.unpack(f"<{len(parts['tail_samples']) // 4}I", parts["tail_samples"])
        self.tails = BitArray(parts["tails"], header.tail_bits)
        self.layouts = BitArray(parts["layouts"], header.layout_bits)
        frame_sizes = BitArray(parts["frame_sizes"], header.frame_sizes * header.frame_size_width)
        self.lists = BitArray(parts["lists"], header.list_bits)
        for array in (self.marks, self.shared, self.tails, self.layouts, frame_sizes, self.lists):
            array.check_padding()
        self.frame_sizes = frame_sizes.fields(header.frame_sizes, header.frame_size_width)
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

    # ---- Addresses (sections 4 and 8)

    def text_address(self, offset):
        return (self.address + self.header.text_start + offset) & MASK_64

    def record_offset(self, number):
        return number << self.header.record_shift

    def function_offset(self, number):
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
        self.items = []
        self.tree = False
        if self.sets > 0:
            self.read_pairs()
            self.read_lists()
            require(len(self.items) <= 2**26, "a layout with too many items")
        if self.sets > 1:
            self.tree = reader.take(1) == 1

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
        return [first] + [reader.take(width) for _ in range(count - 1)]

    def read_pairs(self):
        reader = self.reader
        count = reader.gamma()
        if count == 0:
            return
        numbers = self.read_numbers(count)
        require(all(a < b for a, b in zip(numbers, numbers[1:])), "locations that don't ascend")
        locations = [self.table.location(number) for number in numbers]
        all_selves = reader.take(1) == 1
        for location in locations:
            if all_selves or reader.take(1) == 1:
                self.items.append(("pair", location, location))
        width = bits_for(count)
        for _ in range(reader.gamma()):
            base, derived = reader.take(width), reader.take(width)
            require(max(base, derived) < count, "a pair of a location that isn't there")
            self.items.append(("pair", locations[base], locations[derived]))

    def read_lists(self):
        reader, header = self.reader, self.table.header
        if header.lists == 0:
            return
        for _ in range(reader.gamma()):
            kind = "locations" if reader.take(1) == 1 else "allocas"
            number = reader.take(bits_for(header.lists))
            require(number < header.lists, "a list that isn't there")
            self.items.append((kind, number))

    def live_items(self, members, lists):
        """What the items with these numbers say; `lists` knows the contents of a list."""
        require(len(members) <= 65535, "a live set with too many items")
        chosen = [self.items[number] for number in sorted(members)]
        pairs = tuple(item[1:] for item in chosen if item[0] == "pair")
        others = [item for item in chosen if item[0] != "pair"]
        require(len(others) <= 1, "a live set with two lists")
        if not others:
            return Items(pairs, (), None)
        kind, contents = others[0][0], tuple(lists(others[0][1]))
        if kind == "allocas":
            return Items(pairs, contents, None)
        require(not pairs, "a stack map with pairs")
        return Items((), (), contents)

    # ---- All sets in order

    def all_sets(self):
        """The item numbers of each set; the reader is behind them then."""
        if self.sets == 1:
            return [set(range(len(self.items)))]
        if self.tree:
            return self.all_tree_sets()
        width = len(self.items)
        sets = []
        for _ in range(self.sets):
            bits = self.reader.take(width)
            sets.append({number for number in range(width) if bits >> number & 1})
        return sets

    def take_tree_set(self):
        """A set's parent, and the items in which it differs."""
        reader, width = self.reader, bits_for(len(self.items))
        parent = reader.take(bits_for(self.sets + 1))
        require(parent <= self.sets, "a parent that isn't there")
        flips = [reader.take(width) for _ in range(reader.gamma())]
        require(all(a < b for a, b in zip(flips, flips[1:])), "items that don't ascend")
        require(not flips or flips[-1] < len(self.items), "an item that isn't there")
        return parent, flips

    def take_directory(self):
        width = self.reader.take(6)
        return [self.reader.take(width) for _ in range((self.sets + 7) // 8)]

    def all_tree_sets(self):
        directory = self.take_directory()
        start = self.reader.position
        parents, flips, places = [], [], []
        for _ in range(self.sets):
            places.append(self.reader.position - start)
            parent, own = self.take_tree_set()
            parents.append(parent)
            flips.append(own)
        places.append(self.reader.position - start)
        require(directory == places[8:-1:8] + places[-1:], "a directory that isn't right")
        sets = []
        for number in range(self.sets):
            members, chain, depth = set(), number + 1, 0
            while chain > 0:
                members ^= set(flips[chain - 1])
                chain = parents[chain - 1]
                depth += 1
                require(depth <= 5, "a tree that is too deep")
            sets.append(members)
        return sets

    def all_positions(self, count):
        """The set of each position. The reader is at the layout's end then."""
        width = bits_for(self.sets)
        chosen = [self.reader.take(width) for _ in range(count)]
        require(all(number < self.sets for number in chosen), "a set that isn't there")
        return chosen

    # ---- One set

    def set_at(self, position):
        """The item numbers of the set at one position, without reading more than that takes."""
        reader, items = self.reader, len(self.items)
        if self.sets == 1:
            return set(range(items))
        start = reader.position
        if self.tree:
            directory = self.take_directory()
            start = reader.position
            reader.skip(directory[-1])
        else:
            reader.skip(self.sets * items)
        width = bits_for(self.sets)
        reader.skip(position * width)
        number = reader.take(width)
        require(number < self.sets, "a set that isn't there")
        if not self.tree:
            bits = reader.array.field(start + number * items, items)
            return {item for item in range(items) if bits >> item & 1}
        members, depth = set(), 0
        chain = number + 1
        while chain > 0:
            require(depth <= 4, "a tree that is too deep")
            depth += 1
            chain, flips = self.tree_set_at(start, directory, chain - 1)
            members ^= set(flips)
        return members

    def tree_set_at(self, start, directory, number):
        self.reader.position = start + (directory[number // 8 - 1] if number >= 8 else 0)
        for _ in range(number % 8):
            self.take_tree_set()
        return self.take_tree_set()


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
        self.values = [0] * 16
        contents = Stream(data)
        lengths = struct.unpack("<8I", contents.bytes(32))
        streams = [Stream(contents.bytes(length)) for length in lengths]
        self.streams = streams
        (self.ids, self.conventions, self.flags, self.deopt_counts) = streams[:4]
        (self.deopt_heads, self.deopt_values, self.live_out_counts, self.live_outs) = streams[4:]

    def next(self):
        header = self.header
        columns = header.details_columns
        convention, flags, deopt, live_outs = header.calling_convention, header.flags, (), ()
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
        count = self.deopt_counts.varint()
        require(count <= self.header.deopt_max, "a deopt state that is too long")
        state = []
        for number in range(count):
            kind, size, register = DEOPT_HEAD.unpack(self.deopt_heads.bytes(5))
            value = self.deopt_values.zigzag()
            if number < 16:
                value = self.values[number] = (self.values[number] + value) & MASK_64
            state.append(check_location(Location(kind, register, signed(value & MASK_64, 64), size)))
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


def default_details(header):
    return Details(header.id, header.calling_convention, header.flags)


def all_details(table):
    header = table.header
    if header.details_columns == 0:
        return [default_details(header)] * header.records
    in_block = 1 << header.details_shift
    require(header.details_blocks == -(-header.records // in_block), "a number of blocks that isn't right")
    details = []
    for number in range(header.details_blocks):
        block = open_block(table, number)
        details += [block.next() for _ in range(min(in_block, header.records - len(details)))]
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
        self.starts = [table.function_offset(number) for number in table.functions.items]
        self.offsets = [table.record_offset(number) for number in table.records.items]
        self.check_order()
        self.ends = self.decode_ends()
        self.places = self.decode_places()
        self.layout_numbers = self.decode_layout_numbers()
        self.lists = self.decode_lists()
        self.details = all_details(table)
        self.layouts = self.decode_layouts()

    def check_order(self):
        header = self.table.header
        require(not self.starts or self.starts[0] == 0, "a first function that isn't at the start")
        require(max(self.starts + self.offsets + [0]) <= header.text_size, "an address beyond the text")
        require(not self.offsets or self.starts, "records without a function")

    # ---- Section 9

    def decode_ends(self):
        table, reader = self.table, BitReader(self.table.tails)
        ends = []
        for number, start in enumerate(self.starts):
            if number % 32 == 0:
                require(table.tail_samples[number // 32] == reader.position, "a sample that isn't right")
            following = self.starts[number + 1 : number + 2]
            behind = bisect.bisect_right(self.offsets, following[0]) if following else len(self.offsets)
            known = max(start, self.offsets[behind - 1]) if behind > 0 else start
            ends.append(known + reader.rice(table.header.tail_parameter))
            require(not following or ends[-1] <= following[0], "a function that reaches into the next one")
        require(reader.position == table.tails.size, "tails of another size")
        require(max(ends + [0]) <= table.header.text_size, "an end beyond the text")
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
        samples = tuple(sum(marks[:place]) for place in range(0, header.functions, 512))
        require(table.mark_samples == samples, "a sample that isn't right")
        require(sum(marks) == header.shared_functions, "marks that aren't as many as the header says")
        shared = iter(table.shared.fields(header.shared_functions, table.shared_width))
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
                live_sets = [layout.live_items(members, self.list_at) for members in layout.all_sets()]
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

    def start_of(self, function):
        return self.table.function_offset(self.table.functions.get(function))

    def record_above(self, offset):
        return self.table.records.find((offset >> self.header.record_shift) + 1)

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
        above = table.functions.find((offset >> header.function_shift) + 1)
        if above > 0 and offset < self.end_of(above - 1):
            return NOT_SAFEPOINT, None
        return NOT_MANAGED, None

    def end_of(self, function):
        table = self.table
        start = self.start_of(function)
        behind = self.header.records
        if function + 1 < self.header.functions:
            behind = self.record_above(self.start_of(function + 1))
        known = start
        if behind > 0:
            known = max(start, table.record_offset(table.records.get(behind - 1)))
        reader = BitReader(table.tails, table.tail_samples[function // 32])
        for _ in range(function % 32):
            reader.rice(self.header.tail_parameter)
        return known + reader.rice(self.header.tail_parameter)

    def place(self, index):
        """A record's function and position."""
        table = self.table
        found = bisect.bisect_left(table.exceptions, (index,))
        if found < len(table.exceptions) and table.exceptions[found][0] == index:
            return table.exceptions[found][1:]
        offset = table.record_offset(table.records.get(index))
        function = table.functions.find(-(-offset >> self.header.function_shift)) - 1
        require(function >= 0, "a record that belongs to no function")
        return function, index - self.record_above(self.start_of(function))

    def layout_of(self, function):
        table, header = self.table, self.header
        sampled = function // 512 * 512
        ones = bin(table.marks.field(sampled, function - sampled)).count("1")
        rank = table.mark_samples[function // 512] + ones
        if table.marks.field(function, 1) == 0:
            return header.shared_layouts + function - rank
        return table.shared.field(rank * table.shared_width, table.shared_width)

    def list_at(self, number):
        return self.table.read_list(BitReader(self.table.lists, self.table.list_starts.get(number)))

    def details(self, index):
        """A record's details; the records of a block are kept, as only its first one can be got at."""
        if self.header.details_columns == 0:
            return default_details(self.header)
        number = index >> self.header.details_shift
        if number not in self.blocks:
            block = open_block(self.table, number)
            first = number << self.header.details_shift
            count = min(1 << self.header.details_shift, self.header.records - first)
            self.blocks = {number: [block.next() for _ in range(count)]}
        return self.blocks[number][index - (number << self.header.details_shift)]

    def record(self, index):
        table = self.table
        function, position = self.place(index)
        layout = Layout(table, table.layout_starts.get(self.layout_of(function)))
        require(layout.sets > 0, "a record in a layout without sets")
        return Record(
            table.text_address(table.record_offset(table.records.get(index))),
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
