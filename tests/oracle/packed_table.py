"""A second reader of the packed stack-map table, written from format/FORMAT.md alone.

If it reads what `stackpack pack` writes, the document says all that one must know. Its sections are the document's, so
that both can be read side by side. It reads the whole table (class Decoded), and refuses it where the document says
that it is broken; and it answers for a single address by the document's steps (class LookUp). The libraries xxHash and
Zstandard do what their names say.
"""

import ctypes
import struct
from bisect import bisect_left, bisect_right
from collections import namedtuple
from functools import cached_property, lru_cache
from itertools import chain, pairwise

MASK_32 = 2**32 - 1
MASK_64 = 2**64 - 1


class Unusable(Exception):
    """The file can't be read; the text says why."""


def require(condition, problem):
    if not condition:
        raise Unusable(problem)


# ---- Section 3: conventions ----------------------------------------------------------------------------


def bits_for(count):
    return (count - 1).bit_length() if count > 1 else 0


def bytes_for(bits):
    return (bits + 7) // 8


def signed(number, bits):
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


class Part:
    """Bytes that are read by place; nothing outside of them is."""

    def __init__(self, name, data):
        self.name, self.data = name, data

    def __len__(self):
        return len(self.data)

    def cut(self, at, size):
        require(at + size <= len(self.data), f"{self.name}: a read beyond the end")
        return self.data[at : at + size]

    def number(self, at, size):
        return int.from_bytes(self.cut(at, size), "little")

    def field(self, bit, width):
        end = bit + width
        require(end <= 8 * len(self.data), f"{self.name}: a field beyond the end")
        word = int.from_bytes(self.data[bit // 8 : bytes_for(end)], "little")
        return word >> bit % 8 & (1 << width) - 1

    def unpack(self, fields, at):
        return struct.unpack(fields, self.cut(at, struct.calcsize(fields)))

    def items(self, fields):
        """The part as an array."""
        require(len(self) % struct.calcsize(fields) == 0, f"{self.name}: a part of another size")
        return struct.iter_unpack(fields, self.data)


class Cursor:
    """Reads fields, numbers and varints of a part, one after another."""

    def __init__(self, part, byte=0, bit=0):
        self.part, self.bit = part, 8 * byte + bit

    def at_end(self):
        return self.bit >= 8 * len(self.part)

    def take(self, width):
        field = self.part.field(self.bit, width)
        self.bit += width
        return field

    def number(self, size):
        return self.take(8 * size)

    def varint(self):
        number = 0
        for place in range(10):
            byte = self.number(1)
            number |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return number & MASK_64
        raise Unusable(f"{self.part.name}: a varint of more than 10 bytes")

    def zigzag(self):
        number = self.varint()
        return number >> 1 ^ -(number & 1)



# ---- Section 4: where the table is ---------------------------------------------------------------------

SEGMENT_LOAD, SEGMENT_NOTE, FLAG_EXECUTABLE = 1, 4, 1
NOTE = struct.pack("<III12s", 10, 0, 1, b"stackpack")
Segment = namedtuple("Segment", "type flags offset address physical_address file_size memory_size alignment")


def read_segments(file):
    require(file.cut(0, 6) == b"\x7fELF\x02\x01", "not a little-endian 64-bit ELF file")
    table, entry_size, count = file.number(32, 8), file.number(54, 2), file.number(56, 2)
    require(count == 0 or entry_size == 56, "program headers of another size")
    return [Segment(*file.unpack("<IIQQQQQQ", table + 56 * i)) for i in range(count)]


def bytes_at(file, segments, address):
    """The file's bytes from an address to the end of its segment."""
    for segment in segments:
        into = address - segment.address
        if segment.type == SEGMENT_LOAD and 0 <= into < segment.file_size:
            return file.data[segment.offset + into : segment.offset + segment.file_size]
    return b""


def is_code(segment):
    return segment.type == SEGMENT_LOAD and segment.flags & FLAG_EXECUTABLE != 0


def find_table(data):
    """The bytes of the table up to the end of its segment, its address, and where the module's code ends."""
    file = Part("file", data)
    segments = read_segments(file)
    for note in segments:
        if note.type == SEGMENT_NOTE and note.memory_size == len(NOTE):
            found = bytes_at(file, segments, note.address)
            if found[: len(NOTE)] == NOTE:
                code_end = max((one.address + one.memory_size for one in segments if is_code(one)), default=0)
                return found[len(NOTE) :], note.address + len(NOTE), code_end
    raise Unusable("no packed table")


# ---- Section 5: header and parts -----------------------------------------------------------------------

HEADER = struct.Struct("<IHHIHHQQqQqIII15BxI")
Header = namedtuple(
    "Header",
    "magic version header_size header_checksum machine part_count size checksum text_start text_size code_end records stretches "
    "functions bucket_shift record_shift start_shift index_width stretch_width position_width full_width "
    "reference_bytes reference_shift frame_bytes frame_shift frame_width first_width long_width next_width varying_from",
)
PART_NAMES = dict(
    enumerate("directory leaves references layouts frame_sizes classes list_starts lists exceptions".split(), 1)
)
PART_NAMES |= {11: "details", 12: "global_roots", 32: "frames", 33: "sources"}
OPTIONAL = 32  # parts from this number on may be passed over
PADDING = 16


def xxhash(data, bits):
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_64bits.restype = ctypes.c_uint64
    library.XXH32.restype = ctypes.c_uint32
    size = ctypes.c_size_t(len(data))
    return library.XXH32(data, size, 0) if bits == 32 else library.XXH3_64bits(data, size)


def header_checksum(header):
    return xxhash(header[:8] + bytes(4) + header[12:], 32)


def read_header(data):
    """The header. (Checks 1 and 2 of the document's list)"""
    require(len(data) >= HEADER.size, "no room for a header")
    header = Header(*HEADER.unpack_from(data))
    require(header.magic == 0x4B505453, "not a packed table")
    require(header.version == 10, f"a table of version {header.version}, which a newer reader knows")
    require(header.header_size == HEADER.size + 8 * header.part_count, "a header of another size")
    require(header.header_size <= len(data), "a header that is cut off")
    require(header_checksum(data[: header.header_size]) == header.header_checksum, "a header that is damaged")
    return header


def read_parts(header, data):
    """The parts by name. (Checks 3 and 4)"""
    parts = {name: Part(name, b"") for name in PART_NAMES.values()}
    place, last = header.header_size, 0
    for number, size in struct.iter_unpack("<II", data[HEADER.size : header.header_size]):
        require(number > last and size > 0, "parts out of order, or empty")
        require(number in PART_NAMES or number >= OPTIONAL, f"part {number}, which a newer reader knows")
        if number in PART_NAMES:
            parts[PART_NAMES[number]] = Part(PART_NAMES[number], data[place : place + size])
        place, last = place + size, number
    require(place + PADDING == header.size, "parts that don't fill the table")
    return parts


def entry_widths(header):
    """Of the fields of the directory's entries."""
    return header.index_width, header.stretch_width, header.position_width, header.full_width


def check_widths(header):
    """Check 5."""
    require(header.bucket_shift < 60, "buckets that are too large")
    require(max(header.record_shift, header.start_shift) <= header.bucket_shift, "shifts that are too large")
    require(1 <= header.stretch_width <= 32 and header.full_width <= 24, "widths in the directory")
    require(max(header.index_width, header.position_width) <= 32, "widths in the directory")
    require(1 <= header.reference_bytes <= 4 and 1 <= header.frame_bytes <= 8, "sizes of numbers")
    require(header.reference_shift < 8 and header.frame_shift < 32, "shifts that are too large")
    require(max(header.frame_width, header.first_width) <= 25, "widths in layouts")
    require(1 <= header.long_width <= 32 and header.next_width <= 32, "widths in layouts")


class Table:
    """A table that is open: its header is as it should be, and each part is inside."""

    def __init__(self, data, address, code_end=None):
        """Without the module, where its code ends isn't known."""
        self.header, self.address = read_header(data), address
        self.parts = read_parts(self.header, data)
        check_widths(self.header)
        self.leaf_shift = self.header.bucket_shift + 4
        self.low_bytes = max(1, bytes_for(self.header.bucket_shift - self.header.record_shift))
        self.start_bytes = bytes_for(self.leaf_shift - self.header.start_shift)
        self.entry_bytes = bytes_for(sum(entry_widths(self.header)))
        self.leaf_count = (self.header.text_size >> self.leaf_shift) + 1 if self.header.stretches > 0 else 0
        self.frame_sizes = list(self.parts["frame_sizes"].items(f"{self.header.frame_bytes}s"))
        self.classes = [LocationClass(*one) for one in self.parts["classes"].items("<HHB3xIIq")]
        self.list_starts = [start for (start,) in self.parts["list_starts"].items("<I")]
        self.exceptions = [Exceptional(*one) for one in self.parts["exceptions"].items("<III")]
        self.check_counts()
        require(self.header.size <= len(data), "a table that is cut off")
        if code_end is not None and self.header.code_end != 0:
            added = (code_end - address + 2**63 & MASK_64) - 2**63 > self.header.code_end
            require(not added, "code that was added after packing")
        self.data = data[: self.header.size]
        self.location = lru_cache(None)(self.read_location)
        self.frames = Frames(self) if len(self.parts["frames"]) > 0 else None
        self.has_sources = len(self.parts["sources"]) > 0

    def check_counts(self):
        """Check 7."""
        header, directory, references = self.header, len(self.parts["directory"]), len(self.parts["references"])
        if header.stretches == 0:
            require(header.records == header.functions == directory == references == 0, "records without functions")
            return
        require(header.functions <= header.stretches, "more functions than stretches")
        require(directory == (self.leaf_count + 1) * self.entry_bytes, "a directory of another size")
        require(references == header.stretches * header.reference_bytes, "references of another size")
        least = 8 * self.leaf_count + header.records * self.low_bytes + header.stretches * self.start_bytes
        require(least <= len(self.parts["leaves"]), "leaves that are too short")

    def check_checksum(self):
        checksum = xxhash(self.data[self.header.header_size :], 64)
        require(checksum == self.header.checksum, "a table that is damaged")

    def text_address(self, offset):
        return (self.address + self.header.text_start + offset) & MASK_64

    # Section 8: frame sizes, locations, lists

    def frame_size(self, number):
        """None: it is unknown."""
        if number >= len(self.frame_sizes):
            return None
        (stored,) = self.frame_sizes[number]
        if stored == b"\xff" * len(stored):
            return None
        return int.from_bytes(stored, "little") << self.header.frame_shift & MASK_64

    @cached_property
    def location_count(self):
        """One more than the last location's number."""
        ends = [one.end for one in self.classes]
        require(all(a < b for a, b in pairwise(ends)), "classes of locations that don't ascend")
        return ends[-1] if ends else 0

    def read_location(self, number):
        require(number < self.location_count, "a location that isn't there")
        start = 0
        for one in self.classes:
            if number < one.end:
                break
            start = one.end
        return make_location(one.kind, one.size, one.register, one.value + (number - start) * one.step)

    def read_list(self, number):
        """Whether it is a stack map's, and its locations."""
        cursor = Cursor(self.parts["lists"], self.list_starts[number])
        kind, count = cursor.number(1), cursor.varint()
        require(count <= 65535, "a list that is too long")
        return kind != 0, tuple(self.location(cursor.varint()) for _ in range(count))


LocationClass = namedtuple("LocationClass", "size register kind end step value")
Location = namedtuple("Location", "kind register value size")  # the order by which `stackpack dump` sorts pairs


def make_location(kind, size, register, value):
    require(1 <= kind <= 5, "a location of an unknown kind")
    return Location(kind, register, signed(value, 64), size)


# ---- Section 6: directory and leaves -------------------------------------------------------------------

Entry = namedtuple("Entry", "index stretch position full")
Stretch = namedtuple("Stretch", "start layout")  # an offset, and a byte of `layouts`, which is None for a gap
Exceptional = namedtuple("Exceptional", "index stretch position")


def read_entry(table, number):
    cursor = Cursor(table.parts["directory"], number * table.entry_bytes)
    return Entry(*(cursor.take(width) for width in entry_widths(table.header)))


def stretch_layout(table, number):
    """Where a stretch's layout starts; None: it is a gap."""
    size = table.header.reference_bytes
    reference = table.parts["references"].number(number * size, size)
    return None if reference == (1 << 8 * size) - 1 else reference << table.header.reference_shift & MASK_32


class Leaf:
    """A leaf of the table: its counts, and where its arrays are."""

    def __init__(self, table, number):
        first, last = read_entry(table, number), read_entry(table, number + 1)
        header = table.header
        ascends = first.index <= last.index and first.stretch <= last.stretch and first.full <= last.full
        require(ascends, "a directory that doesn't ascend")
        require(last.index <= header.records and last.stretch <= header.stretches, "a directory that tells of more")
        self.table, self.bytes, self.text = table, table.parts["leaves"], number << table.leaf_shift
        self.index, self.stretch, self.position, _ = first
        self.count, self.stretch_count, _, self.full = (b - a for a, b in zip(first, last))
        self.place = 8 * number + 2 * first.full + table.low_bytes * first.index + table.start_bytes * first.stretch
        self.starts_at = self.place + 8
        self.lows_at = self.starts_at + table.start_bytes * self.stretch_count
        self.more_at = self.lows_at + table.low_bytes * self.count
        self.end = self.more_at + 2 * self.full
        require(self.end <= len(self.bytes), "leaves: one beyond the end")
        self.counts = self.read_counts()

    def read_counts(self):
        """How many records each bucket has."""
        cursor = Cursor(self.bytes, self.place)
        counts = [cursor.take(4) for _ in range(16)]
        require(counts.count(15) == self.full, "leaves: another number of full buckets than the directory says")
        more = Cursor(self.bytes, self.more_at)
        counts = [15 + more.number(2) if count == 15 else count for count in counts]
        require(sum(counts) == self.count, "leaves: another number of records than the directory says")
        return counts

    def low(self, record):
        return self.bytes.number(self.lows_at + record * self.table.low_bytes, self.table.low_bytes)

    def offsets(self):
        """Of all records."""
        header, offsets = self.table.header, []
        for bucket, count in enumerate(self.counts):
            for _ in range(count):
                low = self.low(len(offsets)) << header.record_shift
                require(low >> header.bucket_shift == 0, "leaves: a record of another bucket")
                offsets.append(self.text + (bucket << header.bucket_shift) + low)
        return offsets

    def start(self, number):
        """The offset of a stretch."""
        size = self.table.start_bytes
        start = self.bytes.number(self.starts_at + number * size, size) << self.table.header.start_shift
        require(start >> self.table.leaf_shift == 0, "leaves: a stretch that starts in another leaf")
        return self.text + start

    def starts_below(self, offset):
        return sum(self.start(number) < offset for number in range(self.stretch_count))


def read_leaves(table):
    """The offsets of all records, and all stretches."""
    header, offsets, stretches = table.header, [], []
    if header.stretches > 0:
        require(read_entry(table, 0) == (0, 0, 0, 0), "a directory that doesn't start at 0")
        last = read_entry(table, table.leaf_count)
        require(last[:2] == (header.records, header.stretches), "a directory that ends too early")
    for leaf in (Leaf(table, number) for number in range(table.leaf_count)):
        before = bisect_right(offsets, stretches[-1].start) if stretches else 0
        require(leaf.position == leaf.index - before, "a directory with another position than the leaves tell")
        offsets += leaf.offsets()
        stretches += [
            Stretch(leaf.start(number), stretch_layout(table, leaf.stretch + number))
            for number in range(leaf.stretch_count)
        ]
    starts = [stretch.start for stretch in stretches]
    require(offsets == sorted(offsets) and starts == sorted(starts), "records or stretches out of order")
    require(max(offsets[-1:] + starts[-1:], default=0) <= header.text_size, "text beyond its end")
    functions = sum(stretch.layout is not None for stretch in stretches)
    require(functions == header.functions, "another number of functions")
    return offsets, stretches


def place_by_rule(starts, offsets, index):
    """A record's stretch (-1: there is none), and its position."""
    stretch = bisect_left(starts, offsets[index]) - 1
    return stretch, index - bisect_right(offsets, starts[stretch] if stretch >= 0 else -1)


def read_places(table, offsets, stretches):
    """Each record's stretch and position."""
    indices = [one.index for one in table.exceptions]
    require(all(a < b for a, b in pairwise(indices)), "exceptions out of order")
    exceptions = {one.index: (one.stretch, one.position) for one in table.exceptions}
    starts = [stretch.start for stretch in stretches]
    places = [exceptions.get(index) or place_by_rule(starts, offsets, index) for index in range(len(offsets))]
    for stretch, _ in places:
        require(0 <= stretch < len(stretches), "a record in no stretch")
        require(stretches[stretch].layout is not None, "a record in a gap")
    return places


# ---- Section 7: layouts --------------------------------------------------------------------------------

PLAIN_LONG = 15  # so many plain slots say that the head is long
ROW_MAX = 57


class Group:
    """Some of a layout's slots, and where what is told of them stands."""

    def __init__(self, table, start, positions_end=None):
        self.table, self.bytes, width = table, table.parts["layouts"], table.header.next_width
        self.positions_end = start if positions_end is None else positions_end
        require(start < 8 * len(self.bytes), "layouts: a group beyond the end")
        cursor = Cursor(self.bytes, bit=start)
        self.read_head(table.header, cursor)
        self.row_width = self.plain + self.derived + bits_for(self.assignments)
        require(self.row_width <= ROW_MAX, "layouts: rows that are too wide")
        self.next = cursor.bit + cursor.take(width) if self.has_next else None
        require(self.next != cursor.bit - width, "layouts: a group that is its own next one")
        self.numbers_at = cursor.bit
        self.bases_at = self.numbers_at + self.width * (self.derived + self.plain * self.is_scattered)
        self.rows_at = self.bases_at + self.width * self.assignments * self.derived
        self.end = self.rows_at + self.row_width * self.rows
        require(self.end <= 8 * len(self.bytes), "layouts: a group that ends beyond the end")

    def read_head(self, header, cursor):
        self.first, is_extended, self.plain = cursor.take(header.first_width), cursor.take(1), cursor.take(4)
        self.is_long = self.plain == PLAIN_LONG
        if self.is_long:
            self.first, self.plain = cursor.take(header.long_width), cursor.take(header.long_width)
        self.rows = cursor.take(header.long_width if self.is_long else 5) + 1
        self.is_scattered = self.has_next = self.width = self.derived = 0
        self.assignments = 1
        if is_extended:
            width = header.long_width if self.is_long else 4
            self.is_scattered, self.has_next, self.width = cursor.take(1), cursor.take(1), cursor.take(5)
            self.derived, self.assignments = cursor.take(width), cursor.take(width) + 1

    def row_of(self, position):
        """The number of a position's row."""
        row = self.bytes.field(self.start_of_position(position), self.position_width(position))
        require(row < self.rows, "layouts: a row that isn't there")
        return row

    def position_width(self, position):
        return min(bits_for(position + 1), bits_for(self.rows))

    def start_of_position(self, position):
        width = self.position_width(position)
        start = self.positions_end - (position + 1) * width + (1 << width) - 1
        require(start >= 0, "layouts: a position before the part")
        return start

    def location(self, at, number):
        """The location that a field tells: the one of this number from a place on."""
        return self.first + self.bytes.field(at + number * self.width, self.width) & MASK_32

    def pair(self, slot, assignment):
        """The numbers of a slot's base and of its own location."""
        if slot < self.plain:
            own = self.location(self.numbers_at, slot) if self.is_scattered else self.first + slot & MASK_32
            require(own < self.table.location_count, "layouts: a plain slot without a location")
            return own, own
        derived = slot - self.plain
        own = self.location(self.numbers_at, slot if self.is_scattered else derived)
        return self.location(self.bases_at, assignment * self.derived + derived), own

    def pairs(self, position):
        """Those that are live: numbers of locations, and of lists."""
        slots = self.plain + self.derived
        row = Cursor(self.bytes, bit=self.rows_at + self.row_of(position) * self.row_width)
        live, assignment = row.take(slots), row.take(bits_for(self.assignments))
        require(assignment < self.assignments, "layouts: an assignment that isn't there")
        return [self.pair(slot, assignment) for slot in range(slots) if live >> slot & 1]


Items = namedtuple("Items", "pairs allocas locations")  # a live set; a statepoint's locations are None


class Layout:
    def __init__(self, table, start):
        self.table, self.start, width = table, start, table.header.frame_width
        self.groups_at = 8 * start + width
        require(self.groups_at < 8 * len(table.parts["layouts"]), "a layout beyond the end")
        self.frame = table.parts["layouts"].field(8 * start, width)
        self.frame_size = table.frame_size(self.frame)
        self.items = lru_cache(None)(self.read_items)

    @cached_property
    def groups(self):
        groups = [Group(self.table, self.groups_at, 8 * self.start)]
        while groups[-1].next is not None:
            groups.append(Group(self.table, groups[-1].next))
        return groups

    def read_items(self, position):
        """The live set of a position. A base beyond all locations stands for a list (section 8)."""
        table = self.table
        numbers = list(chain(*(group.pairs(position) for group in self.groups)))
        pairs = {(table.location(base), table.location(own)) for base, own in numbers if base < table.location_count}
        lists = [base - table.location_count for base, _ in numbers if base >= table.location_count]
        require(max(lists, default=-1) < len(table.list_starts), "a list that isn't there")
        is_stack_map, locations = table.read_list(lists[0]) if lists else (False, ())
        require(not (is_stack_map and pairs), "a stack map with pairs")
        return Items(pairs, () if is_stack_map else locations, locations if is_stack_map else None)


# ---- Section 9: details --------------------------------------------------------------------------------

STATEPOINT_ID = 0xABCDEF00  # that LLVM gives to a statepoint without one
COLUMN_ID, COLUMN_CONVENTION, COLUMN_FLAGS, COLUMN_DEOPT, COLUMN_LIVE_OUTS = 1, 2, 4, 8, 16
DETAILS_HEADER = struct.Struct("<QiiIHHIBBBx")
DetailsHeader = namedtuple(
    "DetailsHeader", "id convention flags block_size deopt_max live_outs_max block_count shift codec columns"
)
Details = namedtuple("Details", "id convention flags deopt live_outs")


def read_details_header(table):
    part = table.parts["details"]
    if len(part) == 0:
        return DetailsHeader(STATEPOINT_ID, *9 * [0])
    header = DetailsHeader(*part.unpack(DETAILS_HEADER.format, 0))
    require(header.codec <= 1 and header.columns < 32 and header.shift < 32, "a header of details")
    blocks = -(-table.header.records >> header.shift) if header.columns > 0 else 0
    require(header.block_count == blocks, "details: another number of blocks")
    require(header.block_size <= 2**24, "details: blocks that are too large")
    part.cut(DETAILS_HEADER.size, 4 * blocks)
    return header


def decompress(data, most):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(most + 1)
    size = library.ZSTD_decompress(room, ctypes.c_size_t(most), data, ctypes.c_size_t(len(data)))
    require(size <= most, "details: a block that can't be decoded")
    return room.raw[:size]


def read_streams(part, header, number):
    """The streams of a block, and its size when decoded."""
    blocks = DETAILS_HEADER.size + 4 * header.block_count
    start = part.number(DETAILS_HEADER.size + 4 * number - 4, 4) if number > 0 else 0
    end = part.number(DETAILS_HEADER.size + 4 * number, 4)
    require(start <= end, "details: blocks out of order")
    data = part.cut(blocks + start, end - start)
    data = decompress(data, header.block_size) if header.codec == 1 else data
    require(len(data) <= header.block_size, "details: a block that is too large")
    block, streams, place = Part("details", data), [], 32
    for length in block.unpack("<8I", 0):
        streams.append(Cursor(Part("details", block.cut(place, length))))
        place += length
    return streams, len(data)


class DeoptStates:
    """The deopt states of a block's records, one after another."""

    def __init__(self, header, states, first_values, heads):
        self.header, self.states, self.first_values = header, states, first_values
        self.heads = list(struct.iter_unpack("<BHH", heads.part.data[: len(heads.part) // 5 * 5]))
        self.state, self.first_value = [], 0

    def take_location(self, number):
        head = self.states.varint()
        require(head < len(self.heads), "details: a head that isn't there")
        return make_location(*self.heads[head], self.states.zigzag() if number > 0 else 0)

    def take(self):
        count = self.states.varint()
        if count > 0:
            require(count - 1 <= self.header.deopt_max, "details: a deopt state that is too long")
            self.state = [self.take_location(number) for number in range(count - 1)]
        if self.state:
            self.first_value = signed(self.first_value + self.first_values.zigzag(), 64)
            self.state[0] = self.state[0]._replace(value=self.first_value)
        return tuple(self.state)


def take_live_outs(header, counts, live_outs):
    count = counts.varint()
    require(count <= header.live_outs_max, "details: too many live-outs")
    return tuple((live_outs.number(2), live_outs.number(1)) for _ in range(count))


def read_block(header, streams, count):
    """The details of a block's records."""
    ids, conventions, flag_numbers, *deopt, live_out_counts, live_outs = streams
    states, own_id = DeoptStates(header, *deopt), header.id
    for _ in range(count):
        convention, flags, state, outs = header.convention, header.flags, (), ()
        if header.columns & COLUMN_ID:
            own_id = (own_id + ids.zigzag()) & MASK_64
        if header.columns & COLUMN_CONVENTION:
            convention = signed(convention + conventions.zigzag(), 32)
        if header.columns & COLUMN_FLAGS:
            flags = signed(flags + flag_numbers.zigzag(), 32)
        if header.columns & COLUMN_DEOPT:
            state = states.take()
        if header.columns & COLUMN_LIVE_OUTS:
            outs = take_live_outs(header, live_out_counts, live_outs)
        yield Details(own_id, convention, flags, state, outs)


def read_details(table):
    """The details of each record."""
    if table.header.records == 0:
        return []
    header = read_details_header(table)
    if header.columns == 0:
        return [Details(header.id, header.convention, header.flags, (), ())] * table.header.records
    left, details = 2**26 + 2048 * table.header.size, []
    for number in range(header.block_count):
        streams, size = read_streams(table.parts["details"], header, number)
        left -= size
        for one in read_block(header, streams, min(1 << header.shift, table.header.records - len(details))):
            left -= 12 * len(one.deopt) + 4 * len(one.live_outs)
            require(left >= 0, "details that expand to more than any program has")
            details.append(one)
    return details


# ---- Section 9: global roots ---------------------------------------------------------------------------


def read_global_roots(table):
    """Their addresses."""
    part, roots = table.parts["global_roots"], []
    if len(part) == 0:
        return roots
    distance, shift = part.unpack("<qB", 0)
    require(shift < 64, "a shift of roots")
    address, cursor = table.address + distance, Cursor(part, 9)
    while not cursor.at_end():
        address = address + (cursor.varint() << shift) & MASK_64
        require(not roots or address > roots[-1], "roots out of order")
        roots.append(address)
    return roots


# ---- Section 9: frames ---------------------------------------------------------------------------------

WORD = 8
IS_SIGNED, HAS_LOST = 32, 64  # of a shape's first byte, after the register
NOT_KNOWN = 255  # a shape's second byte
OTHERS = 3  # a tag
FRAMES_HEADER = struct.Struct("<7BxIII")
FramesHeader = namedtuple(
    "FramesHeader",
    "stack_pointer return_address pushed tag_width other_width shape_width extra_width shapes_size others exceptions",
)
Array = namedtuple("Array", "part width")  # of fields
FrameShape = namedtuple("FrameShape", "register offset is_signed lost saved")  # the CFA's register and offset; or None
Frame = namedtuple("Frame", "size cfa_offset shape")  # of a record; each is None where it isn't known


def read_shape(cursor, stack_pointer):
    """None for one that says that nothing is known."""
    first, count = cursor.number(1), cursor.number(1)
    if count == NOT_KNOWN:
        return None
    offset = None if first % 32 == stack_pointer else WORD * cursor.number(1)
    lost = cursor.number(4) if first & HAS_LOST else 0
    saved = {cursor.number(1): -WORD * place for place in range(1, count + 1)}
    saved = {register: saved[register] for register in sorted(saved) if register < 32}
    return FrameShape(first % 32, offset, bool(first & IS_SIGNED), lost, saved)


def read_shapes(part, stack_pointer):
    """Those that are there; one that is cut off isn't."""
    cursor, shapes = Cursor(part), []
    try:
        while True:
            shapes.append(read_shape(cursor, stack_pointer))
    except Unusable:
        return shapes


def at(array, number):
    return array.part.field(number * array.width, array.width)


class Frames:
    """What is known of the frame that waits at each record."""

    def __init__(self, table):
        self.part, self.place = table.parts["frames"], FRAMES_HEADER.size
        self.header = own = FramesHeader(*self.part.unpack(FRAMES_HEADER.format, 0))
        require(max(own.stack_pointer, own.return_address) < 32, "frames: registers that aren't told of")
        require(own.tag_width <= 2 and own.extra_width <= 25, "frames: a width")
        require(max(own.other_width, own.shape_width) <= 16, "frames: a width")
        samples = table.header.stretches // 128 + 1 if own.other_width > 0 else 0
        starts = table.header.records // 256 + 2 if own.exceptions > 0 else 0
        shapes = self.take_array(own.shapes_size, 8)
        self.tags = self.take_array(table.header.stretches, own.tag_width)
        self.samples = self.take_array(samples, bits_for(own.others + 1))
        self.others = self.take_array(own.others, own.other_width)
        self.starts = self.take_array(starts, bits_for(own.exceptions + 1))
        self.numbers = self.take_array(own.exceptions, 8)
        self.exceptions = self.take_array(own.exceptions, own.shape_width + own.extra_width)
        self.shapes = read_shapes(shapes.part, own.stack_pointer)
        self.check_order(starts)

    def check_order(self, starts):
        """Blocks of exceptions follow each other, and numbers in a block ascend."""
        ends = [at(self.starts, i) for i in range(starts)] or [0]
        require(ends[0] == 0 and ends[-1] == self.header.exceptions, "frames: starts of exceptions")
        for start, end in pairwise(ends):
            require(start <= end <= self.header.exceptions, "frames: starts of exceptions")
            numbers = self.numbers.part.data[start:end]
            require(all(a < b for a, b in pairwise(numbers)), "frames: exceptions out of order")

    def take_array(self, count, width):
        size = bytes_for(count * width)
        self.place += size
        return Array(Part("frames", self.part.cut(self.place - size, size)), width)

    def shape_of_stretch(self, stretch):
        """The number of its shape."""
        tag = at(self.tags, stretch)
        if tag != OTHERS or self.header.other_width == 0:
            return tag
        sample = stretch // 128
        other = at(self.samples, sample) + sum(at(self.tags, s) == OTHERS for s in range(128 * sample, stretch))
        return OTHERS + at(self.others, other) if other < self.header.others else len(self.shapes)

    def exception(self, record):
        """The number of the shape of a record's exception, and by how many bytes its frame is larger."""
        own = self.header
        if own.exceptions == 0:
            return None, 0
        block, number = divmod(record, 256)
        end = min(at(self.starts, block + 1), own.exceptions)
        start = min(at(self.starts, block), end)
        place = start + sum(other < number for other in self.numbers.part.data[start:end])
        if place == end or at(self.numbers, place) != number:
            return None, 0
        both = at(self.exceptions, place)
        shape = both & (1 << own.shape_width) - 1 if own.shape_width > 0 else None
        return shape, WORD * (both >> own.shape_width)

    def frame(self, record, stretch, size, is_varying):
        """A record's frame, given the size of its function's frames."""
        number, extra = self.exception(record)
        if number is None:
            number = self.shape_of_stretch(stretch)
        if size is not None and is_varying:
            size = size + extra & MASK_64
        if number >= len(self.shapes) or self.shapes[number] is None:
            return Frame(size, None, None)
        shape, offset = self.shapes[number], self.shapes[number].offset
        if offset is None:
            offset = (extra if size is None else size) + self.header.pushed
        return Frame(size, offset, shape)


# ---- All of it, from the first byte to the last --------------------------------------------------------

Record = namedtuple("Record", "address function_address frame_size frame items details")


# ---- Section 9: sources --------------------------------------------------------------------------------

SOURCES_HEADER = struct.Struct("<IIIIIBBBB")
SourceEntry = namedtuple("SourceEntry", "name file line records")  # file: the number of its entry, or None
Tail = namedtuple("Tail", "function line inner")
Place = namedtuple("Place", "function file line")
GROUP, CODE_BYTES, NAMES_MOST = 16, 32, 2**24
USUAL, WHOLE, NOWHERE = range(3)


def take_nibbles(cursor):
    number = 0
    for place in range(22):
        nibble = cursor.take(4)
        number |= (nibble & 7) << 3 * place
        if nibble < 8:
            return number & MASK_64
    raise Unusable("sources: a number of more than 22 nibbles")


def unzigzag(number):
    return number >> 1 ^ -(number & 1)


class Sources:
    """Where each record is in its sources: frames, innermost first."""

    def __init__(self, table):
        self.part, self.place = table.parts["sources"], SOURCES_HEADER.size
        self.stretches = table.header.stretches
        header = self.part.unpack(SOURCES_HEADER.format, 0)
        self.functions, self.files, self.tail_count, self.names_size, tails_size, self.depth, flags, literals, pairs = header
        start_bytes, tail_start_bytes, self.has_lines = flags & 7, flags >> 3 & 7, flags & 64
        require(1 <= start_bytes <= 4 and 1 <= tail_start_bytes <= 4, "sources: the size of starts")
        require(self.functions >= self.stretches and self.names_size <= NAMES_MOST, "sources: a count")
        require(self.functions + self.files < MASK_32, "sources: a count")
        self.codes = [bytes([literal]) for literal in self.take(literals + 1)]
        pairs = self.take(2 * pairs)
        starts = self.take_starts((self.functions + self.files) // GROUP + 1, start_bytes)
        tail_starts = self.take_starts(self.tail_count // GROUP + 1, tail_start_bytes)
        tails, entries = Part("tails", self.take(tails_size)), Part("entries", self.part.data[self.place :])
        self.add_codes(pairs)
        require(self.functions + self.files <= len(entries), "sources: entries without bytes")
        require(self.tail_count <= 8 * tails_size, "sources: tails without bits")
        self.entries = self.read_groups(entries, starts, self.functions + self.files, self.read_entry)
        self.tails = self.read_groups(tails, tail_starts, self.tail_count, self.read_tail)
        self.left = 2**24 + 256 * (len(tails) + len(entries))
        self.records = {}

    def take(self, size):
        self.place += size
        return self.part.cut(self.place - size, size)

    def take_starts(self, count, size):
        return [int.from_bytes(start, "little") for (start,) in struct.iter_unpack(f"{size}s", self.take(count * size))]

    def add_codes(self, pairs):
        """None is the string of a broken code: a pair with a later one, or of too many bytes."""
        for left, right in struct.iter_unpack("BB", pairs):
            both = [self.codes[code] if code < len(self.codes) else None for code in (left, right)]
            is_sound = None not in both and sum(map(len, both)) <= CODE_BYTES
            self.codes.append(b"".join(both) if is_sound else None)

    def read_groups(self, part, starts, count, read):
        items, cursor = [], None
        for number in range(count):
            if number % GROUP == 0:
                require(starts[number // GROUP] <= len(part), "sources: a start beyond the end")
                cursor, before = Cursor(part, starts[number // GROUP]), None
            item = read(cursor, number, before)
            items.append(item)
            before = item or before
        return items

    def read_name(self, codes):
        name = [self.codes[code] if code < len(self.codes) else None for code in codes]
        require(None not in name, "sources: a broken code")
        name = b"".join(name)
        require(len(name) < self.names_size, "sources: a long name")
        return name

    def read_entry(self, cursor, number, before):
        def take_bytes():
            size = cursor.varint()
            cursor.bit += 8 * size
            return cursor.part.cut(cursor.bit // 8 - size, size)

        head = cursor.varint()
        if head == 0:
            return None
        line = (unzigzag((head - 1) >> 1) + (before.line if before else 0)) & MASK_32
        file = before.file if before else None
        if (head - 1) & 1:
            other = cursor.varint()
            require(other <= self.files, "sources: a file that isn't there")
            file = self.functions + other - 1 if other > 0 else None
        name = self.read_name(take_bytes())
        return SourceEntry(name, file, line, take_bytes() if number < self.stretches else None)

    def read_tail(self, cursor, _, before):
        """The line is relative to the function's."""
        if before is None:
            function, is_new = cursor.take(bits_for(self.functions)), True
        else:
            is_new = cursor.take(1) == 1
            function = before.function + (1 + take_nibbles(cursor) if is_new else 0) & MASK_32
        line = 0
        if self.has_lines:
            number = take_nibbles(cursor)
            line = unzigzag(number) if is_new else before.line + number
        require(function < self.functions, "sources: a broken tail")
        return Tail(function, line & MASK_32, self.take_tail(cursor))

    def take_tail(self, cursor):
        tail = cursor.take(bits_for(self.tail_count)) if cursor.take(1) else None
        require(tail is None or tail < self.tail_count, "sources: a tail that isn't there")
        return tail

    def read_records(self, stretch):
        """Kinds, lines and tails of a stretch's records, one after another."""
        cursor = Cursor(Part("records", self.entries[stretch].records))
        is_mixed, tail, line = cursor.take(1), None, 0
        while True:
            kind = cursor.take(2) if is_mixed else USUAL
            require(kind <= NOWHERE, "sources: another kind of record")
            if self.tail_count > 0 and kind != NOWHERE and cursor.take(1):
                tail = self.take_tail(cursor)
            if self.has_lines and kind == USUAL:
                line += unzigzag(take_nibbles(cursor))
            yield kind, line & MASK_32, tail

    def record(self, stretch, position):
        """The frames of a record, or None."""
        if self.entries[stretch] is None:
            return None
        reader, read = self.records.setdefault(stretch, (self.read_records(stretch), []))
        while len(read) <= position:
            self.left -= 1
            require(self.left >= 0, "sources: more records than any program has")
            read.append(next(reader))
        kind, line, tail = read[position]
        if kind == NOWHERE:
            return None
        steps = [(stretch, line)] if kind == USUAL else []
        while tail is not None:
            require(len(steps) < self.depth, "sources: more frames than told")
            steps.append(self.tails[tail][:2])
            tail = self.tails[tail].inner
        require(len(steps) > 0, "sources: a record without frames")
        self.left -= len(steps)
        return [self.frame(*step) for step in reversed(steps)]

    def frame(self, function, line):
        entry = self.entries[function]
        require(entry is not None, "sources: an empty entry")
        file = self.entries[entry.file] if entry.file is not None else SourceEntry(b"", None, 0, None)
        require(file is not None, "sources: an empty entry")
        return Place(entry.name, file.name, (entry.line + line) & MASK_32)


class Decoded:
    """All stretches and records in lists."""

    def __init__(self, table):
        self.table = table
        self.offsets, self.stretches = read_leaves(table)
        self.places = read_places(table, self.offsets, self.stretches)
        self.layouts = {start: Layout(table, start) for start in {one.layout for one in self.stretches} - {None}}
        self.check_groups()
        self.details = read_details(table)
        sources = Sources(table) if table.has_sources else None
        self.sources = [sources.record(*place) if sources else None for place in self.places]
        self.global_roots = read_global_roots(table)
        self.records = [self.record(index) for index in range(len(self.offsets))]

    def check_groups(self):
        left = 2**24 + 256 * self.table.header.size
        for stretch, _ in self.places:
            left -= len(self.layouts[self.stretches[stretch].layout].groups)
        require(left >= 0, "live sets of more groups than any program has")

    def record(self, index):
        table, (stretch, position) = self.table, self.places[index]
        layout = self.layouts[self.stretches[stretch].layout]
        frame = Frame(layout.frame_size, None, None)
        if table.frames is not None:
            is_varying = layout.frame >= table.header.varying_from
            frame = table.frames.frame(index, stretch, layout.frame_size, is_varying)
        address, function = table.text_address(self.offsets[index]), table.text_address(self.stretches[stretch].start)
        return Record(address, function, layout.frame_size, frame, layout.items(position), self.details[index])


# ---- Section 10: looking up an address -----------------------------------------------------------------

FOUND, NOT_MANAGED, NOT_SAFEPOINT = "found", "not managed", "not a safepoint"


class LookUp:
    """Answers for one address, from the leaves that belong to it."""

    def __init__(self, table):
        self.table = table

    def find(self, leaf, place):
        """The number in its leaf of the first record at a place; None: there is none."""
        header = self.table.header
        bucket, low = divmod(place, 1 << header.bucket_shift)
        if low % (1 << header.record_shift) != 0:
            return None
        low >>= header.record_shift
        first = sum(leaf.counts[:bucket])
        for record in range(first, first + leaf.counts[bucket]):
            if leaf.low(record) >= low:
                return record if leaf.low(record) == low else None
        return None

    def place(self, leaf, index, offset):
        """A record's stretch, and its position."""
        exceptions = self.table.exceptions
        found = bisect_left(exceptions, index, key=lambda one: one.index)
        if found < len(exceptions) and exceptions[found].index == index:
            return exceptions[found].stretch, exceptions[found].position
        starts, place = leaf.starts_below(offset), index - leaf.index
        require(leaf.stretch + starts > 0, "a record before all functions")
        if starts == 0:
            return leaf.stretch - 1, leaf.position + place
        start = leaf.start(starts - 1)
        return leaf.stretch + starts - 1, place - sum(other <= start for other in leaf.offsets())

    def answer(self, address):
        """The answer; and of the first record that was found the index, and its stretch and position."""
        header = self.table.header
        offset = (address - self.table.text_address(0)) & MASK_64
        if offset > header.text_size or header.stretches == 0:
            return NOT_MANAGED, None, None
        leaf = Leaf(self.table, offset >> self.table.leaf_shift)
        record = self.find(leaf, offset - leaf.text)
        if record is not None:
            return FOUND, leaf.index + record, self.place(leaf, leaf.index + record, offset)
        stretch = leaf.stretch + leaf.starts_below(offset + 1) - 1
        if offset == header.text_size or stretch < 0:
            return NOT_MANAGED, None, None
        return (NOT_MANAGED if stretch_layout(self.table, stretch) is None else NOT_SAFEPOINT), None, None
