#!/usr/bin/env python3
"""Write an executable with random, valid stack maps.

Two profiles:

typical  Looks like the output of a compiler with a precise collector: statepoints with spilled references,
         few live sets in a function, most records like the one before, most references their own base.
         Some object files carry deopt state and IDs; some functions were folded, some discarded.
wild     Everything that the format can say, and its extremes: every kind of location, sizes, registers,
         offsets, IDs and constants at their limits, records that nearly look like statepoints, functions
         in any order, over each other, without records, discarded, twice; code in three places that lie
         gigabytes apart. No compiler would write this; a reader must read it all the same.

The same seed and options give the same bytes.
"""

import argparse
import pathlib
import random
from typing import Iterable, NamedTuple, Sequence

from elf_writer import (
    ALLOC,
    CONSTANT,
    CONSTANT_INDEX,
    DIRECT,
    EXECUTABLE,
    FUNC,
    GLOBAL,
    INDIRECT,
    LOCAL,
    NOTYPE,
    PAGE,
    REGISTER,
    UNKNOWN_STACK_SIZE,
    WEAK,
    Function,
    Location,
    Record,
    Section,
    Symbol,
    constant,
    encode_submap,
    spill_slot,
    write_executable,
)

BASE = 0x400000
NEAR_TEXT = BASE + PAGE
NOP = b"\x90"
DEFAULT_ID = 0xABCDEF00
STACK_POINTER, FRAME_POINTER = 7, 6
CALLEE_SAVED = (3, 6, 12, 13, 14, 15)


class Code(NamedTuple):
    """A function's place: where it starts, and its size."""

    address: int
    size: int


class Program(NamedTuple):
    texts: Sequence[int]  # where the sections of machine code start
    ends: Sequence[int]  # addresses that the code must reach to
    submaps: Sequence[bytes]
    symbols: Iterable[Symbol]


def share_out(source, total, shares, spread):
    """Splits `total` into that many random whole numbers. A higher spread makes them more equal."""
    weights = [source.gammavariate(spread, 1) + 1e-9 for _ in range(shares)]
    scale = total / sum(weights)
    counts = [int(weight * scale) for weight in weights]
    for _ in range(total - sum(counts)):
        counts[source.randrange(shares)] += 1
    return counts


def groups(source, items, average):
    """Cuts a list into pieces of random length."""
    start = 0
    while start < len(items):
        end = start + source.randint(1, 2 * average)
        yield items[start:end]
        start = end


def chance(source, probability):
    return source.random() < probability


# ---- Typical -------------------------------------------------------------------------------------------


class Frame:
    """A function's stack frame, and which of its slots hold live references as control moves through it."""

    def __init__(self, source):
        self.source = source
        self.size = 8 + 16 * int(source.expovariate(1 / 4))
        self.register = STACK_POINTER
        if chance(source, 0.01):
            self.size, self.register = UNKNOWN_STACK_SIZE, FRAME_POINTER
        slot_count = min(1 + int(source.expovariate(1 / 6)), 60)
        self.slots = [spill_slot(self.slot_offset(number), self.register) for number in range(slot_count)]
        if chance(source, 0.02):
            self.slots += [Location(REGISTER, 8, register, 0) for register in CALLEE_SAVED]
        self.bases = {slot: self.base_of(number) for number, slot in enumerate(self.slots)}
        self.allocas = []
        if chance(source, 0.02):
            self.allocas = [Location(DIRECT, 8, self.register, self.slot_offset(slot_count))]
        self.live = {source.choice(self.slots)}

    def slot_offset(self, number):
        return -16 - 8 * number if self.register == FRAME_POINTER else 8 * number

    def base_of(self, number):
        if number == 0 or chance(self.source, 0.6):
            return self.slots[number]
        if chance(self.source, 0.02):
            return constant(0)
        return self.slots[self.source.randrange(number)]

    def move_on(self):
        """Changes the live set, or leaves it as it is, as often as compiled code does."""
        if chance(self.source, 0.36):
            return
        for _ in range(self.source.randint(1, 3)):
            self.live ^= {self.source.choice(self.slots)}

    def locations(self):
        pairs = []
        for slot in sorted(self.live):
            pairs += [self.bases[slot], slot]
        if chance(self.source, 0.01):
            pairs += pairs[:2]
        return pairs + self.allocas


def typical_deopt(source, record_number):
    """A source position and a few locals, as an interpreter would need to take over."""
    state = [constant(record_number)]
    for _ in range(source.randint(0, 4)):
        state.append(source.choice([constant(0), spill_slot(8 * source.randint(0, 9)), spill_slot(4)]))
    return state


def typical_records(source, count, deopt_numbers):
    """The records of one function, its frame size, and its size in bytes of code."""
    frame = Frame(source)
    records = []
    offset = source.randint(4, 40)
    for _ in range(count):
        offset += 5 + int(source.expovariate(1 / 25))
        frame.move_on()
        convention = 8 if chance(source, 0.03) else 0
        identifier, deopt = DEFAULT_ID, []
        if deopt_numbers is not None:
            identifier = next(deopt_numbers)
            deopt = typical_deopt(source, identifier)
        head = [constant(convention), constant(0), constant(len(deopt))]
        records.append(Record(identifier, offset, head + deopt + frame.locations()))
    return records, frame.size, offset + source.randint(0, 40)


def typical_function(source, count, address, deopt_numbers):
    records, frame_size, size = typical_records(source, count, deopt_numbers)
    return Function(address, frame_size, records), Code(address, size)


def typical_program(source, record_count, function_count):
    counts = [count for count in share_out(source, record_count, function_count, 0.8) if count]
    numbers = iter(range(1, record_count + 1))
    earlier = {}
    address = NEAR_TEXT
    codes, submaps = [], []
    for object_counts in groups(source, counts, 40):
        deopt_numbers = numbers if chance(source, 0.03) else None
        functions = []
        for count in object_counts:
            if count in earlier and chance(source, 0.02):
                functions.append(earlier[count])
                continue
            function, code = typical_function(source, count, address, deopt_numbers)
            if chance(source, 0.01):
                functions.append(function._replace(address=0))
                continue
            functions.append(function)
            codes.append(code)
            earlier[count] = function
            address += code.size + -code.size % 16
        submaps.append(encode_submap(functions))
    return Program([NEAR_TEXT], [address], submaps, typical_symbols(source, codes))


def typical_symbols(source, codes):
    for number, code in enumerate(codes):
        if chance(source, 0.98):
            binding = LOCAL if chance(source, 0.4) else GLOBAL
            yield Symbol(f"function_{number}", code.address, code.size, FUNC, binding)


# ---- Wild ----------------------------------------------------------------------------------------------

FAR_TEXT = NEAR_TEXT + 2**32 - PAGE  # so that near text plus the greatest offset, 2^32 - 1, lies in it
REMOTE_TEXT = 0x700000000000

SIZES = (0, 1, 2, 4, 8, 16, 64, 255, 256, 32767, 32768, 65535)
REGISTERS = (0, 1, 6, 7, 15, 16, 17, 31, 32, 255, 256, 65535)
OFFSETS = (0, 1, -1, 8, -8, 127, 128, -128, -129, 65536, 2**31 - 1, -(2**31))
IDS = (0, 1, DEFAULT_ID, 2**32, 2**63, 2**64 - 2, 2**64 - 1)
POOL_VALUES = (0, 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 0xFEFEFEFE)
STACK_SIZES = (0, 8, 24, 40, 4096, 2**31, 2**32, 2**63, 2**64 - 2, UNKNOWN_STACK_SIZE)
CONVENTIONS = (0, 1, 8, 9, 13, 15, 64, 92, 1023)
ODD_NAMES = (
    'operator""_kg',
    "back\\slash",
    "naïve_größe",
    "tab\there",
    "_ZN5alpha4betaEv",
    "with space",
    "versioned@@V1",
)


def one_of(source, values, bits, signed=False):
    """Mostly one of the given values, otherwise any that fits into so many bits."""
    if chance(source, 0.7):
        return source.choice(values)
    value = source.getrandbits(bits)
    return value - 2 ** (bits - 1) if signed else value


def wild_location(source):
    """A location; one from the constant pool has the constant itself as its value until it is pooled."""
    kind = source.choice((REGISTER, DIRECT, INDIRECT, CONSTANT, CONSTANT_INDEX))
    size = one_of(source, SIZES, 16)
    if kind == CONSTANT:
        return Location(kind, size, 0, one_of(source, OFFSETS, 32, signed=True))
    if kind == CONSTANT_INDEX:
        return Location(kind, size, 0, one_of(source, POOL_VALUES, 64))
    return Location(kind, size, one_of(source, REGISTERS, 16), one_of(source, OFFSETS, 32, signed=True))


def wild_count(source):
    return int(source.expovariate(1 / 3))


class Vocabulary:
    """The locations that a function's records are made of, so that there is something to find again."""

    def __init__(self, source):
        self.source = source
        self.all = [wild_location(source) for _ in range(source.randint(2, 12))]
        self.direct = [Location(DIRECT, 8, STACK_POINTER, 8 * number) for number in range(3)]

    def locations(self, count):
        return [self.source.choice(self.all) for _ in range(count)]

    def allocas(self):
        return [self.source.choice(self.direct) for _ in range(self.source.choice((0, 0, 0, 1, 2, 5)))]

    def statepoint(self):
        deopt = self.locations(self.source.choice((0, 0, wild_count(self.source))))
        convention = self.source.choice(CONVENTIONS)
        head = [constant(convention), constant(self.source.randrange(4)), constant(len(deopt))]
        return head + deopt + self.locations(2 * wild_count(self.source)) + self.allocas()

    def nearly_statepoint(self):
        """A statepoint with one thing changed, so that it is none, or only just one."""
        locations = self.statepoint()
        place = self.source.randrange(3)
        change = self.source.randrange(6)
        if change == 0:
            locations[place] = constant(self.source.choice((4, 1024, -1, 2**31 - 1, -(2**31))))
        elif change == 1:
            locations[place] = Location(CONSTANT_INDEX, 8, 0, self.source.choice((0, 2**40)))
        elif change == 2:
            locations[place] = self.source.choice(self.all)
        elif change == 3:
            locations[2] = constant(len(locations) - 3 + self.source.randint(-1, 1))
        elif change == 4:
            locations.append(self.source.choice(self.all + self.direct))
        else:
            del locations[self.source.randint(1, 4) :]
        return locations

    def any_locations(self):
        shape = self.source.random()
        if shape < 0.5:
            return self.statepoint()
        if shape < 0.65:
            return self.nearly_statepoint()
        if shape < 0.95:
            return self.locations(wild_count(self.source))
        return []


def wild_live_outs(source):
    if chance(source, 0.9):
        return []
    count = 300 if chance(source, 0.002) else source.randint(1, 5)
    return [(one_of(source, REGISTERS, 16), source.getrandbits(8)) for _ in range(count)]


def wild_offsets(source, count, size):
    """Offsets of records: sorted or not, some repeated, some past the function's end."""
    reach = size if chance(source, 0.8) else 4 * size
    offsets = [source.randint(0, reach) for _ in range(count)]
    if chance(source, 0.8):
        offsets = sorted(set(offsets))
        offsets += [reach + 1 + number for number in range(count - len(offsets))]
    if offsets and chance(source, 0.2):
        offsets[0] = 0
    if offsets and chance(source, 0.3):
        offsets[-1] = size
    return offsets


def wild_records(source, count, size):
    vocabulary = Vocabulary(source)
    return [
        Record(one_of(source, IDS, 64), offset, vocabulary.any_locations(), wild_live_outs(source))
        for offset in wild_offsets(source, count, size)
    ]


class Places:
    """Gives functions their places in three texts, back to back or with gaps."""

    def __init__(self, source):
        self.source = source
        self.next = {NEAR_TEXT: NEAR_TEXT, FAR_TEXT: FAR_TEXT, REMOTE_TEXT: REMOTE_TEXT}

    def take(self, size):
        text = self.source.choice((NEAR_TEXT,) * 6 + (FAR_TEXT,) * 3 + (REMOTE_TEXT,))
        address = self.next[text]
        self.next[text] += size + self.source.choice((0, 0, -size % 16, 4096))
        return Code(address, size)


def wild_codes(source, counts):
    """A place for each function; in the order of the sub-maps they are in no order."""
    places = Places(source)
    sizes = [1 + 4 * count + int(source.expovariate(1 / 40)) for count in counts]
    order = list(range(len(counts)))
    source.shuffle(order)
    codes = {number: places.take(sizes[number]) for number in order}
    return [codes[number] for number in range(len(counts))]


def wild_functions(source, counts, codes):
    """The functions: some as one that came before, in all or just in the address; some discarded."""
    functions = []
    earlier = {}
    for count, code in zip(counts, codes):
        fate = source.random()
        if count in earlier and fate < 0.03:
            functions.append(earlier[count])
            continue
        address = code.address
        if fate > 0.97:
            address = 0
        elif functions and fate > 0.95:
            address = functions[-1].address
        records = wild_records(source, count, code.size)
        functions.append(Function(address, one_of(source, STACK_SIZES, 64), records))
        earlier[count] = functions[-1]
    return functions


def add_extremes(source, functions):
    """Gives a few records what is too large to be everywhere: very many locations, the greatest offset."""
    many = [number for number, function in enumerate(functions) if function.records]
    for length in (65535, 65534, 3000, 1000):
        number = source.choice(many)
        locations = Vocabulary(source).locations(length)
        functions[number] = replace_last(functions[number], locations=locations)
    number = source.choice(many)
    functions[number] = replace_last(functions[number], live_outs=[(7, 8)] * 65535)
    for number in many:
        if chance(source, 0.005) and NEAR_TEXT <= functions[number].address < FAR_TEXT:
            functions[number] = replace_last(functions[number], offset=2**32 - 1)


def replace_last(function, **fields):
    records = list(function.records)
    records[-1] = records[-1]._replace(**fields)
    return function._replace(records=records)


class Pool:
    """A sub-map's constants, with some that nobody uses and some that are there twice."""

    def __init__(self, source):
        self.values = [one_of(source, POOL_VALUES, 64) for _ in range(wild_count(source))]
        self.indexes = {value: index for index, value in enumerate(self.values)}

    def index_of(self, value):
        if value not in self.indexes:
            self.indexes[value] = len(self.values)
            self.values.append(value)
        return self.indexes[value]

    def pooled(self, location):
        if location.kind == CONSTANT_INDEX:
            return location._replace(value=self.index_of(location.value))
        return location

    def pooled_function(self, function):
        records = [
            record._replace(locations=[self.pooled(location) for location in record.locations])
            for record in function.records
        ]
        return function._replace(records=records)


def wild_submap(source, functions):
    pool = Pool(source)
    functions = [pool.pooled_function(function) for function in functions]
    return encode_submap(functions, pool.values)


def wild_submaps(source, functions):
    submaps = []
    for members in groups(source, functions, source.choice((1, 5, 40))):
        submaps.append(wild_submap(source, members))
        submaps.append(bytes(8 * source.choice((0, 0, 1, 2, 5, 17))))
        if chance(source, 0.05):
            submaps.append(wild_submap(source, []))
    return submaps


def wild_symbols(source, codes):
    odd_names = list(ODD_NAMES)
    for number, code in enumerate(codes):
        if chance(source, 0.3):
            continue
        name = odd_names.pop() if odd_names else f"function_{number}"
        binding = source.choice((LOCAL, GLOBAL, WEAK))
        yield Symbol(name, code.address, code.size, FUNC, binding)
        if chance(source, 0.1):
            yield Symbol(f"alias_{number}", code.address, code.size, FUNC, source.choice((GLOBAL, WEAK)))
        if chance(source, 0.05):
            yield Symbol(f"label_{number}", code.address, 0, NOTYPE, LOCAL)


def wild_program(source, record_count, function_count):
    counts = share_out(source, record_count, function_count, 0.3)
    codes = wild_codes(source, counts)
    functions = wild_functions(source, counts, codes)
    if record_count >= 1000:
        add_extremes(source, functions)
    ends = [code.address + code.size for code in codes]
    for function in functions:
        ends += [function.address + record.offset for record in function.records if function.address]
    submaps = wild_submaps(source, functions)
    return Program([NEAR_TEXT, FAR_TEXT, REMOTE_TEXT], ends, submaps, wild_symbols(source, codes))


# ---- The file ------------------------------------------------------------------------------------------

PROFILES = {"typical": typical_program, "wild": wild_program}


def text_section(start, limit, ends):
    """Code from `start` to a little after the last end that lies below `limit`."""
    end = max([start] + [end for end in ends if start <= end < limit]) + 64
    return Section(".text", NOP * (end - start), flags=ALLOC | EXECUTABLE, address=start, alignment=16)


def executable_with(program):
    limits = list(program.texts[1:]) + [2**64]
    texts = [text_section(*range_, program.ends) for range_ in zip(program.texts, limits)]
    maps_address = -(-(NEAR_TEXT + len(texts[0].data)) // PAGE) * PAGE
    maps = Section(".llvm_stackmaps", b"".join(program.submaps), flags=ALLOC, address=maps_address)
    sections = [texts[0], maps] + [text for text in texts[1:]]
    return write_executable(sections, list(program.symbols), NEAR_TEXT, BASE)


def random_executable(seed, record_count, function_count, profile):
    source = random.Random(seed)
    return executable_with(PROFILES[profile](source, record_count, function_count))


def main():
    parser = argparse.ArgumentParser(description="Write an executable with random, valid stack maps.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--records", type=int, required=True, help="in the section, with those to be skipped")
    parser.add_argument("--functions", type=int, help="default: an eighth of the records")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="typical")
    parser.add_argument("-o", dest="output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    function_count = arguments.functions or max(1, arguments.records // 8)
    image = random_executable(arguments.seed, arguments.records, function_count, arguments.profile)
    arguments.output.write_bytes(image)
    arguments.output.chmod(0o755)


if __name__ == "__main__":
    main()
