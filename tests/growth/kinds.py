"""kinds.py - the kinds of files that grow: each has one structure many times, `n` bytes of it or so."""
import struct

from elf import *


def program(functions=4, machine=X86_64, kind=EXEC, more=b"", segments=8):
    file = File(machine, kind, segments)
    file.text = file.add(".text", CODE[machine] * functions + more, flags=ALLOC | EXECUTE)
    file.first = file.address(file.text)
    file.after = file.first + len(CODE[machine]) * functions
    file.add_maps(file.first, functions, machine)
    file.functions = [symbol(1, file.first, file.text, len(CODE[machine]))]
    return file


def named(file, names=b"\0f\0", symbols=()):
    file.add_symbols(names, file.functions + list(symbols))
    return file


def records(n):
    """One function with many records of different sets."""
    count = n // 136
    file = File()
    text = file.add(".text", b"\x50" + b"\xe8\0\0\0\0" * count + b"\x58\xc3", flags=ALLOC | EXECUTE)
    each = b"".join(record(6 + 5 * i, (8 * (i * 7 % 64), 8 * (i * 13 % 61))) for i in range(count))
    file.add(".llvm_stackmaps", stack_map([(file.address(text), 8, count)], each))
    file.functions = [symbol(1, file.address(text), text, 5 * count + 3)]
    return named(file)


def place_record(identity, slots=()):
    """A stack map's record at the return address of CODE's call."""
    text = struct.pack("<QIHH", identity, RETURN[X86_64], 0, len(slots))
    text += b"".join(struct.pack("<BBHHHi", 3, 0, 8, 7, 0, slot) for slot in slots)
    text += b"\0" * (-len(text) % 8) + struct.pack("<HH", 0, 0)
    return text + b"\0" * (-len(text) % 8)


def one_place(slots):
    """Records of one place that differ in their numbers, or in their locations."""
    def make(n):
        count = n // len(place_record(0, slots(0)))
        file = File()
        text = file.add(".text", CODE[X86_64], flags=ALLOC | EXECUTE)
        each = b"".join(place_record(i * 7919 % 1000003, slots(i)) for i in range(count))
        file.add(".llvm_stackmaps", stack_map([(file.address(text), 8, count)], each))
        file.functions = [symbol(1, file.address(text), text, 8)]
        return named(file)
    return make


def call(at, to):
    return b"\xe8" + struct.pack("<i", to - at - 5)


def call_chain(n):
    """Functions that each call the one before; the first one calls by a pointer."""
    count = n // 96
    file = File(flags=READ | RUN)
    code = CODE[X86_64] + b"\x50\xff\x17\x90\x90\x90\x58\xc3"
    code += b"".join(b"\x50" + call(1, -8) + b"\x58\xc3" for _ in range(count))
    text = file.add(".text", code, flags=ALLOC | EXECUTE)
    address = file.address(text)
    file.add(".data", struct.pack("<Q", address), flags=ALLOC | WRITE)
    file.add_maps(address, count + 2)
    file.functions = [symbol(1, address, text, 8)]
    names = b"".join(b"g%06d\0" % i for i in range(count + 1))
    return named(file, b"\0f\0" + names, [symbol(3 + 8 * i, address + 8 + 8 * i, text, 8) for i in range(count + 1)])


def one_callee(is_last):
    """One function with many records calls another one, which has as many calls: the last one of the first function,
    or none."""
    def make(n):
        count = n // 100
        file = File(flags=READ | RUN)
        size = 5 * count + 3
        code = b"\x50" + b"".join(call(1 + 5 * i, size) for i in range(count)) + b"\x58\xc3"
        code += b"\x50" + b"".join(
            call(1 + 5 * i, -size if is_last and i == count - 1 else size) for i in range(count)) + b"\x58\xc3"
        text = file.add(".text", code + b"\xc3", flags=ALLOC | EXECUTE)
        address = file.address(text)
        each = b"".join(record(6 + 5 * i) for i in range(count))
        file.add(".llvm_stackmaps", stack_map([(address, 8, count)], each))
        file.functions = [symbol(1, address, text, size)]
        return named(file, b"\0f\0g\0h\0", [symbol(3, address + size, text, size), symbol(5, address + 2 * size, text, 1)])
    return make


def other_callees(is_kept):
    """One function with a record for a call each of other functions, which each call the one before; the first one
    of them calls the function, or nothing."""
    def make(n):
        count = n // 160
        file = File(flags=READ | RUN)
        size = 5 * count + 3
        code = b"\x50" + b"".join(call(1 + 5 * i, size + 8 * i) for i in range(count)) + b"\x58\xc3"
        code += b"\x50" + (call(1, -size) if is_kept else b"\x90" * 5) + b"\x58\xc3"
        code += (b"\x50" + call(1, -8) + b"\x58\xc3") * (count - 1)
        text = file.add(".text", code, flags=ALLOC | EXECUTE)
        address = file.address(text)
        each = b"".join(record(6 + 5 * i) for i in range(count))
        file.add(".llvm_stackmaps", stack_map([(address, 8, count)], each))
        file.functions = [symbol(1, address, text, size)]
        names = b"".join(b"g%06d\0" % i for i in range(count))
        return named(file, b"\0f\0" + names, [symbol(3 + 8 * i, address + size + 8 * i, text, 8) for i in range(count)])
    return make


def functions(n):
    return named(program(n // 96))


def zeros(machine):
    def make(n):
        return named(program(1, machine, more=b"\0" * n + CODE[machine]))
    return make


def jumps(place, entry):
    """Jumps by tables in one function, and functions after it: by number, the place of a jump's table, and the byte
    that an entry points to."""
    def make(n):
        count = n // 40
        file = File(flags=READ | RUN)
        first = BASE + file.start
        table = (first + 8 + 8 * count + 15) & ~15
        code = CODE[X86_64] + b"".join(b"\xff\x24\xc5" + struct.pack("<I", table + 8 * place(i, count)) for i in range(count))
        code += b"\xc3" * count
        text = file.add(".text", code.ljust(table - first, b"\xcc"), flags=ALLOC | EXECUTE)
        file.add(".rodata", b"".join(struct.pack("<Q", first + 8 + entry(i, count)) for i in range(count)))
        file.add_maps(first, 1)
        file.functions = [symbol(1, first, text, 8), symbol(1, first + 8, text, 7 * count)]
        return named(file, symbols=[symbol(1, first + 8 + 7 * count + i, text, 1) for i in range(count)])
    return make


def inside(i, count):
    return 7 * i


def outside(i, count):
    """Mostly other functions: only one entry of 64 leads into the jumps' own."""
    return 7 * i if i % 64 == 1 else 7 * count + i


def branches(body):
    """A function that jumps by a table, of branches a few bytes apart: a block each, with values and states."""
    def make(n):
        count = n // len(body)
        file = File(flags=READ | RUN)
        first = BASE + file.start
        table = (first + 8 + 7 + len(body) * count + 1 + 15) & ~15
        code = CODE[X86_64] + b"\xff\x24\xc5" + struct.pack("<I", table) + body * count + b"\xc3"
        text = file.add(".text", code.ljust(table - first, b"\xcc"), flags=ALLOC | EXECUTE)
        file.add(".rodata", b"".join(struct.pack("<Q", first + 15 + len(body) * i) for i in range(4)))
        file.add_maps(first, 1)
        file.functions = [symbol(1, first, text, 8), symbol(1, first + 8, text, 8 + len(body) * count)]
        return named(file)
    return make


def jumps_with_more(n):
    """A function that jumps by pointers, with something on the stack."""
    return named(program(1, more=b"\x50" + b"\xff\xe0" * (n // 2) + b"\x58\xc3"))


def auipc(at, to):
    return struct.pack("<I", (to - at + 0x800 & 0xFFFFF000) | 10 << 7 | 0x17) + b"\x67\x80\0\0"


def adrp(at, to):
    pages = (to >> 12) - (at >> 12)
    return struct.pack("<I", 0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5) + b"\xc0\x03\x5f\xd6"


def upper_parts(machine, instructions, is_data):
    """Functions that return with an address's upper part, of code or of data; and words that may be distances."""
    def make(n):
        count, size = n // 48, len(CODE[machine])
        file = File(machine, flags=READ | RUN)
        first = BASE + file.start + size
        to = first + 8 * count if is_data else first
        code = CODE[machine] + b"".join(instructions(first + 8 * i, to + 8 * i) for i in range(count))
        text = file.add(".text", code, flags=ALLOC | EXECUTE)
        file.add(".rodata", b"".join(struct.pack("<ii", -8 * count - 3, -8 * count - 4 * i) for i in range(count)))
        file.add_maps(first - size, 1, machine)
        file.functions = [symbol(1, first - size, text, size)]
        return named(file, symbols=[symbol(1, first + 8 * i, text, 8) for i in range(count)])
    return make


def uleb(value):
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + uleb(value >> 7)


def abbreviation(number, tag, has_children, attributes):
    return uleb(number) + uleb(tag) + bytes([has_children]) + b"".join(uleb(word) for pair in attributes for word in pair) + b"\0\0"


PLACE = [(0x11, 1), (0x12, 7)]  # low_pc as an address, high_pc as 8 bytes


def debug_unit(file, address, size, entries, before=b""):
    """A unit of DWARF 4 with one function, in which there are entries: 3, an inlined function's start and length;
    or 5, with a reference to one before the function: 4 and its name."""
    file.add(".debug_abbrev", abbreviation(1, 0x11, 1, PLACE) + abbreviation(2, 0x2E, 1, [(3, 8)] + PLACE)
             + abbreviation(3, 0x1D, 0, PLACE) + abbreviation(4, 0x2E, 0, [(3, 8)])
             + abbreviation(5, 0x1D, 0, PLACE + [(0x31, 0x13)]) + b"\0", flags=0)
    body = struct.pack("<HIB", 4, 0, 8) + b"\1" + struct.pack("<QQ", address, size)
    body += before + b"\2f\0" + struct.pack("<QQ", address, size) + entries + b"\0\0"
    file.add(".debug_info", struct.pack("<I", len(body)) + body, flags=0)


def inlined_one_name(n):
    """Inlined functions that refer to one entry with a long name."""
    file = program(64)
    count, names = n // 64, b"\4" + b"a" * (n // 2) + b"\0"
    start = 11 + 17  # of the unit's first entry
    debug_unit(file, file.first, 512, b"".join(
        b"\5" + struct.pack("<QQI", file.first + i % 512, 1, start) for i in range(count)), names)
    return named(file)


def inlined_one_text(n):
    """Inlined functions that share the text of their names."""
    file = program(64)
    file.add(".debug_str", b"a" * (n // 2) + b"\0", flags=0)
    file.add(".debug_abbrev", abbreviation(1, 0x11, 1, PLACE) + abbreviation(2, 0x2E, 1, [(3, 8)] + PLACE)
             + abbreviation(3, 0x1D, 0, PLACE + [(3, 0xE)]) + b"\0", flags=0)
    place = struct.pack("<QQ", file.first, 512)
    body = struct.pack("<HIB", 4, 0, 8) + b"\1" + place + b"\2f\0" + place
    body += b"".join(b"\3" + struct.pack("<QQI", file.first + i % 512, 1, 0) for i in range(n // 44)) + b"\0\0"
    file.add(".debug_info", struct.pack("<I", len(body)) + body, flags=0)
    return named(file)


def inlined(n):
    """A function's records after as many inlined functions."""
    count = n // 136
    file = File()
    text = file.add(".text", b"\x90" * count + b"\x50" + b"\xe8\0\0\0\0" * count + b"\x58\xc3", flags=ALLOC | EXECUTE)
    address, size = file.address(text), 6 * count + 3
    each = b"".join(record(count + 6 + 5 * i) for i in range(count))
    file.add(".llvm_stackmaps", stack_map([(address, 8, count)], each))
    file.functions = [symbol(1, address, text, size)]
    debug_unit(file, address, size, b"".join(b"\3" + struct.pack("<QQ", address + i, 1) for i in range(count)))
    return named(file)


def debug_units(n):
    """A unit for each function."""
    count = n // 96
    file = program(count)
    file.add(".debug_abbrev", abbreviation(1, 0x11, 1, PLACE) + abbreviation(2, 0x2E, 0, [(3, 8)] + PLACE) + b"\0", flags=0)
    units = b""
    for i in range(count):
        place = struct.pack("<QQ", file.first + 8 * i, 8)
        body = struct.pack("<HIB", 4, 0, 8) + b"\1" + place + b"\2f\0" + place + b"\0"
        units += struct.pack("<I", len(body)) + body
    file.add(".debug_info", units, flags=0)
    return named(file)


def debug_references(of_unit):
    """A unit for each function, and in it an inlined function of a unit, by number of the unit and their count."""
    def make(n):
        count = n // 128
        file = program(count)
        file.add(".debug_abbrev", abbreviation(1, 0x11, 1, PLACE) + abbreviation(2, 0x2E, 1, [(3, 8)] + PLACE)
                 + abbreviation(3, 0x1D, 0, PLACE + [(0x31, 0x10)]) + b"\0", flags=0)
        header, size = 11 + 17, 11 + 17 + 3 + 16 + 21 + 2
        units = b""
        for i in range(count):
            place = struct.pack("<QQ", file.first + 8 * i, 8)
            units += struct.pack("<IHIB", size - 4, 4, 0, 8) + b"\1" + place + b"\2f\0" + place
            units += b"\3" + place + struct.pack("<I", of_unit(i, count) * size + header) + b"\0\0"
        file.add(".debug_info", units, flags=0)
        return named(file)
    return make


def long_name(n):
    """One function of debug information, with a long name, for all functions."""
    file = program(n // 256)
    file.add(".debug_abbrev", abbreviation(1, 0x11, 1, PLACE) + abbreviation(2, 0x2E, 0, [(3, 8)] + PLACE) + b"\0", flags=0)
    place = struct.pack("<QQ", file.first, 8 * (n // 256))
    body = struct.pack("<HIB", 4, 0, 8) + b"\1" + place + b"\2" + b"a" * (n // 2) + b"\0" + place + b"\0"
    file.add(".debug_info", struct.pack("<I", len(body)) + body, flags=0)
    return named(file)


def long_unit_names(n):
    """Functions of two units in turn, which have long names."""
    count = n // 256
    file = program(count)
    file.add(".debug_abbrev", abbreviation(1, 0x11, 0, [(3, 8), (0x55, 0x17), (0x11, 1)]) + b"\0", flags=0)
    units, ranges = b"", b""
    for unit in range(2):
        body = struct.pack("<HIB", 4, 0, 8) + b"\1/" + b"ab"[unit:unit + 1] * (n // 4) + b"\0" + struct.pack("<IQ", len(ranges), 0)
        units += struct.pack("<I", len(body)) + body
        ranges += b"".join(struct.pack("<QQ", file.first + 8 * i, file.first + 8 * i + 8) for i in range(unit, count, 2)) + b"\0" * 16
    file.add(".debug_info", units, flags=0)
    file.add(".debug_ranges", ranges, flags=0)
    return named(file)


RANGE = [(0x55, 0x17)]  # ranges, as an offset of their list


def line_table(folder, files):
    """A table of lines of version 4, without rows: one folder, and files in it."""
    rest = bytes([1, 1, 1, 0xFB, 14, 13]) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + folder + b"\0\0"
    rest += b"".join(name + b"\0\1\0\0" for name in files) + b"\0"
    return struct.pack("<IHI", len(rest) + 6, 4, len(rest)) + rest


def lines_folder(n):
    """One long folder of many files."""
    return lines_of(program(64), 1, line_table(b"/" + b"d" * (n // 2), [b"a"] * (n // 10)))


def lines_one_table(n):
    """Units that share a table of lines."""
    return lines_of(program(n // 128), n // 128, line_table(b"/d", [b"a%d" % i for i in range(n // 32)]))


def lines_last(n):
    """Units with a table of lines each, in the last one of many sections."""
    file, table, units = program(n // 256), line_table(b"/d", [b"a"]), b""
    for _ in range(min(n // 128, 60000)):
        file.add_at(".x", file.start, 1, flags=0)
    file.add(".debug_line", table * (n // 256), flags=0)
    file.add(".debug_abbrev", abbreviation(1, 0x11, 0, PLACE + [(0x10, 0x17)]) + b"\0", flags=0)
    for i in range(n // 256):
        body = struct.pack("<HIBBQQI", 4, 0, 8, 1, file.first + 8 * i, 8, i * len(table))
        units += struct.pack("<I", len(body)) + body
    file.add(".debug_info", units, flags=0)
    return named(file)


def lines_of(file, units, table):
    file.add(".debug_line", table, flags=0)
    unit_tables(file, units, abbreviation(1, 0x11, 1, PLACE + [(0x10, 0x17)]), 4)
    return named(file)


def unit_tables(file, units, abbreviations, lines=0, entries=b""):
    """Units with a function each, whose table of lines is the first one, if there are some."""
    file.add(".debug_abbrev", abbreviations + abbreviation(2, 0x2E, 1, [(3, 8)] + PLACE) + b"\0", flags=0)
    text = b""
    for i in range(units):
        place = struct.pack("<QQ", file.first + 8 * i, 8)
        body = struct.pack("<HIB", 4, 0, 8) + b"\1" + place + b"\0" * lines + b"\2f\0" + place + entries + b"\0\0"
        text += struct.pack("<I", len(body)) + body
    file.add(".debug_info", text, flags=0)


def abbreviations_one_table(n):
    """Units that share a table of abbreviations, and use its last one."""
    file = program(n // 128)
    more = b"".join(abbreviation(10 + i, 0x34, 0, []) for i in range(n // 16))
    unit_tables(file, n // 128, abbreviation(1, 0x11, 1, PLACE) + more)
    return named(file)


def abbreviations_long(n):
    """Entries of a byte with many attributes."""
    file = program()
    flags = abbreviation(3, 0x1D, 0, [(0x2000 + i % 0x1000, 0x19) for i in range(n // 8)])
    unit_tables(file, 1, abbreviation(1, 0x11, 1, PLACE) + flags, entries=b"\3" * (n // 2))
    return named(file)


def one_list(version):
    """Inlined functions that name one list of ranges."""
    def make(n):
        file = program(64)
        ranges = [(8 * (i % 64), 8 * (i % 64) + 1 + i % 7) for i in range(n // 32)]
        if version == 5:
            entries = struct.pack("<HBBI", 5, 8, 0, 0) + b"".join(b"\4" + uleb(start) + uleb(end) for start, end in ranges) + b"\0"
            file.add(".debug_rnglists", struct.pack("<I", len(entries)) + entries, flags=0)
        else:
            file.add(".debug_ranges", b"".join(struct.pack("<QQ", *each) for each in ranges) + b"\0" * 16, flags=0)
        file.add(".debug_abbrev", abbreviation(1, 0x11, 1, PLACE) + abbreviation(2, 0x2E, 1, [(3, 8)] + PLACE)
                 + abbreviation(3, 0x1D, 0, RANGE) + b"\0", flags=0)
        body = struct.pack("<HBBI", 5, 1, 8, 0) if version == 5 else struct.pack("<HIB", 4, 0, 8)
        place = struct.pack("<QQ", file.first, 512)
        entry = b"\3" + struct.pack("<I", 12 if version == 5 else 0)
        body += b"\1" + place + b"\2f\0" + place + entry * (n // 10) + b"\0\0"
        file.add(".debug_info", struct.pack("<I", len(body)) + body, flags=0)
        return named(file)
    return make


def range_tables(n):
    """Units that have a table of ranges each."""
    count = n // 128
    file = program(count)
    file.add(".debug_abbrev", abbreviation(1, 0x11, 0, RANGE) + b"\0", flags=0)
    units, tables = b"", b""
    for i in range(count):
        body = struct.pack("<HBBI", 5, 1, 8, 0) + b"\1" + struct.pack("<I", len(tables) + 12)
        units += struct.pack("<I", len(body)) + body
        table = struct.pack("<HBBI", 5, 8, 0, 0) + b"\6" + struct.pack("<QQ", file.first + 8 * i, file.first + 8 * i + 8) + b"\0"
        tables += struct.pack("<I", len(table)) + table
    file.add(".debug_info", units, flags=0)
    file.add(".debug_rnglists", tables, flags=0)
    return named(file)


def split_units(count, path):
    """Writes a file of split units, which are all of one program's. (None of KINDS: two files.)"""
    split, file = File(), program(count)
    split.add(".debug_abbrev.dwo", abbreviation(1, 0x11, 1, [(3, 8), (0x2131, 7)])
              + abbreviation(2, 0x2E, 0, [(3, 8), (0x11, 0x1F01), (0x12, 7)]) + b"\0", flags=0)
    file.add(".debug_abbrev", abbreviation(1, 0x11, 0, [(0x2130, 8), (0x2131, 7), (0x2133, 0x17)] + PLACE) + b"\0", flags=0)
    ends, units, addresses = [], [], []
    for i in range(count):
        address = file.first + 8 * i
        end = struct.pack("<HIB", 4, 0, 8) + b"\1u\0" + struct.pack("<Q", i) + b"\2g\0\0" + struct.pack("<Q", 8) + b"\0"
        unit = struct.pack("<HIB", 4, 0, 8) + b"\1" + path.encode() + b"\0" + struct.pack("<QIQQ", i, 8 * i, address, 8)
        ends.append(struct.pack("<I", len(end)) + end)
        units.append(struct.pack("<I", len(unit)) + unit)
        addresses.append(struct.pack("<Q", address))
    split.add(".debug_info.dwo", b"".join(ends), flags=0)
    split.write(path)
    file.add(".debug_info", b"".join(units), flags=0)
    file.add(".debug_addr", b"".join(addresses), flags=0)
    return named(file)


def symbols_one_name(n):
    file = program()
    return named(file, b"\0" + b"a" * (n // 2) + b"\0", [symbol(1, file.first, file.text)] * (n // 48))


def symbols_one_place(n):
    file = program()
    names = b"\0" + b"".join(b"a%d\0" % i for i in range(n // 32))
    starts = [i + 1 for i, byte in enumerate(names[:-1]) if byte == 0]
    return named(file, names, [symbol(start, file.first, file.text) for start in starts])


def symbols_overlapping(n):
    file = program(more=b"\x90" * (n // 25) + b"\xc3")
    return named(file, b"\0f\0", [symbol(1, file.after + i, file.text, n // 25 - i) for i in range(n // 25)])


def sections_one_name(n):
    file = program()
    name = "x" * (n // 2)
    for _ in range(min(n // 128, 60000)):
        file.add_at(name, file.start, 0, flags=0)
    return named(file)


def relocations_one_table(n):
    file = program(kind=DYN)
    entries = struct.pack("<QQq", file.first, 8, 0) * (n // 48)
    table = file.put(entries)
    for _ in range(n // 128):
        file.add_at(".rela.dyn", table, len(entries), RELA, entry=24)
    return named(file)


def bit_maps_one_table(n):
    file = program(kind=DYN)
    words = struct.pack("<Q", file.first & ~7) + struct.pack("<Q", 3) * (n // 16)
    table = file.put(words)
    for _ in range(n // 128):
        file.add_at(".relr.dyn", table, len(words), RELR, entry=8)
    return named(file)


def bit_maps_full(n):
    file = program(kind=DYN)
    table = file.add(".relr.dyn", struct.pack("<Q", file.first & ~7) + b"\xff" * (n & ~7), RELR, entry=8)
    file.add_dynamic([(36, file.address(table)), (35, n // 8 * 8 + 8), (37, 8)])
    return named(file)


def bit_maps_honest(n):
    """A relocation for each word of data."""
    file = program(kind=DYN)
    words = n // 8 // 63 * 63
    data = file.add(".data", struct.pack("<Q", file.first) * (words + 1), flags=ALLOC | WRITE)
    maps = struct.pack("<Q", file.address(data)) + struct.pack("<q", -1) * (words // 63)
    table = file.add(".relr.dyn", maps, RELR, entry=8)
    file.add_dynamic([(36, file.address(table)), (35, len(maps)), (37, 8)])
    return named(file)


def relocations_honest(n):
    file = program(kind=DYN)
    data = file.add(".data", b"\0" * (n // 4), flags=ALLOC | WRITE)
    count = n // 32
    entries = b"".join(struct.pack("<QQq", file.address(data) + 8 * i, 8, file.first) for i in range(count))
    table = file.add(".rela.dyn", entries, RELA, entry=24)
    file.add_dynamic([(7, file.address(table)), (8, len(entries)), (9, 24)])
    return named(file)


def version_needs(n):
    """Each needed version is one of each library's, of which there are as many."""
    file = program()
    strings = file.add(".dynstr", b"\0libfoo.so\0GLIBC_2\0", STRTAB)
    count = n // 96
    symbols = b"\0" * 24 + symbol(1, 0, 0) * count
    table = file.add(".dynsym", symbols, DYNSYM, link=strings, entry=24)
    file.add(".gnu.version", struct.pack("<H", 0) + b"".join(struct.pack("<H", 2 + i % 0x7000) for i in range(count)),
             VERSYM, link=table, entry=2)
    needs = b"".join(
        struct.pack("<HHIII", 1, 0xFFFF, 1, 16, 32) + struct.pack("<IHHII", 0, 0, 0x7FFF, 11, 0) for _ in range(count))
    file.add(".gnu.version_r", needs, VERNEED, link=strings)
    file.add_dynamic([(1, 1)], strings)
    return named(file)


def imports_one_name(n):
    """Functions that replace an allocator, imports of one that allocates, and of one that ends the program."""
    file = program()
    names = b"\0malloc\0printf\0exit\0libc.so.6\0"
    count = n // 80
    symbols = ([symbol(1, file.first, file.text, 8)] + [symbol(8, 0, 0), symbol(15, 0, 0)]) * count
    table = file.add_symbols(names, symbols, DYNSYM)
    file.add_dynamic([(1, 20)], table - 1)
    return named(file)


def finishers(n):
    """Functions that run at the end, and imports of the function that ends the program."""
    count = n // 48
    file = program(more=b"\xc3" * count)
    table = file.add_symbols(b"\0exit\0libc.so.6\0", [symbol(1, 0, 0)] * count, DYNSYM)
    file.add_dynamic([(1, 6)], table - 1)
    file.add(".fini_array", b"".join(struct.pack("<Q", file.after + i) for i in range(count)), 15, ALLOC)
    return named(file, b"\0f\0", [symbol(1, file.after + i, file.text, 1) for i in range(count)])


def entry(body, identity):
    body = struct.pack("<I", identity) + body
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<I", len(body)) + body


RULES = b"\x01\x78\x10"
INITIAL = b"\x0c\x07\x08\x90\x01"


def unwind_two_cies(n):
    file = program()
    long = entry(b"\x01zR" + b"S" * (n // 2) + b"\0" + RULES + b"\x01\0" + INITIAL, 0)
    table = long + entry(b"\x01zR\0" + RULES + b"\x01\0" + INITIAL, 0)
    places = (0, len(long))
    for i in range(n // 56):
        table += entry(struct.pack("<QQB", file.first, 8, 0), len(table) + 4 - places[i % 2])
    file.add(".eh_frame", table + b"\0" * 4)
    return named(file)


def unwind_overlapping(n):
    file = program()
    table = entry(b"\x01zR\0" + RULES + b"\x01\0" + INITIAL, 0)
    for i in range(n // 28):
        table += entry(struct.pack("<QQB", file.first + i % 8, 64, 0), len(table) + 4)
    file.add(".eh_frame", table + b"\0" * 4)
    return named(file)


def unwind_one_call_table(n):
    file = program()
    sites = b"\x01\x01\x01\x00" * (n // 8)
    size, length = len(sites), b""
    while size >= 0x80:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    calls = file.add(".gcc_except_table", b"\xff\xff\x01" + length + bytes([size]) + sites)
    table = entry(b"\x01zLR\0" + RULES + b"\x02\x00\x00" + INITIAL, 0)
    for _ in range(n // 64):
        table += entry(struct.pack("<QQBQ", file.first, 8, 8, file.address(calls)), len(table) + 4)
    file.add(".eh_frame", table + b"\0" * 4)
    return named(file)


def unwind_rows(n, more=b""):
    """One function whose unwind entry has more instructions, and a rule for each call; each has a record."""
    count = n // 136
    file = File()
    text = file.add(".text", b"\x50" + b"\xe8\0\0\0\0" * count + b"\x58\xc3", flags=ALLOC | EXECUTE)
    address, size = file.address(text), 5 * count + 3
    each = b"".join(record(6 + 5 * i) for i in range(count))
    file.add(".llvm_stackmaps", stack_map([(address, 8, count)], each))
    rules = more + b"".join(b"\x45\x0e" + bytes([16 + i % 2 * 8]) for i in range(count))  # advance_loc, def_cfa_offset
    table = entry(b"\x01zR\0" + RULES + b"\x01\0" + INITIAL, 0)
    table += entry(struct.pack("<QQB", address, size, 0) + rules, len(table) + 4)
    file.add(".eh_frame", table + b"\0" * 4)
    file.functions = [symbol(1, address, text, size)]
    return named(file)


def unwind_large_register(n):
    """The same, and a register's number is so large that libdw needs 64 MB. (None of KINDS: more than 60 times the file.)"""
    return unwind_rows(n, b"\x05" + uleb(1 << 22) + b"\1")  # offset_extended


def notes(n):
    count = min(n // 56, 60000)
    file = program(segments=count)
    for _ in range(count):
        file.add_segment(NOTE, file.start, BASE + file.start, 32)
    return named(file)


def dynamic_sections(n):
    count = min(n // 112, 60000)
    file = program(segments=count)
    words = struct.pack("<QQ", 0x6FFF, 1) * (n // 32)
    place = file.put(words)
    for _ in range(count):
        file.add_segment(PT_DYNAMIC, place, BASE + place, len(words))
    return named(file)


def segments(n):
    count = min(n // 120, 30000)
    file = program(segments=count)
    for i in range(count):
        file.add_segment(LOAD, file.start, 0x20000000 + 0x1000 * i, 16)
    for i in range(count):
        file.add_at(".data", file.start, 16, NOBITS, 0)
    return named(file)


def maps_among_data(n):
    """Maps without functions in .rodata, and 24 bytes between two of them."""
    file = program()
    count = n // 64
    place = file.add(".rodata", (stack_map([], b"") + b"\xee" * 24) * count)
    marks = [symbol(3, file.address(place) + 40 * i, place, kind=0, binding=0) for i in range(count)]
    file.sections[2] = (file.name(".others"),) + file.sections[2][1:]
    return named(file, b"\0f\0__LLVM_StackMaps\0", marks)


def map_sections(n):
    file = program(kind=DYN)
    each = stack_map([(file.first, 8, 1)], record(6))
    count = min(n // (2 * (len(each) + 64)), 30000)
    place = file.put(each * count)
    for i in range(count):
        file.add_at(".llvm_stackmaps", place + len(each) * i, len(each))
    entries = struct.pack("<QQq", 0x1234568, 8, 0) * (n // 48)
    table = file.add(".rela.dyn", entries, RELA, entry=24)
    file.add_dynamic([(7, file.address(table)), (8, len(entries)), (9, 24)])
    return named(file)


def roots(n):
    file = program()
    data = file.add(".data", b"\0" * 8, flags=ALLOC | WRITE)
    file.add(".roots", struct.pack("<Q", file.address(data) & ~7) * (n // 8), flags=ALLOC | WRITE)
    return named(file)


KINDS = {
    "records": records,
    "place-numbers": one_place(lambda i: ()),
    "place-locations": one_place(lambda i: (8 * (i * 7919 % 65521),)),
    "other-callees-kept": other_callees(True),
    "other-callees-dropped": other_callees(False),
    "functions": functions,
    "call-chain": call_chain,
    "one-callee-kept": one_callee(True),
    "one-callee-dropped": one_callee(False),
    "zeros-x86-64": zeros(X86_64),
    "zeros-aarch64": zeros(AARCH64),
    "zeros-riscv64": zeros(RISCV64),
    "jumps-one-table": jumps(lambda i, count: 0, inside),
    "jumps-two-tables": jumps(lambda i, count: i % 2 * (count // 2), inside),
    "jumps-many-tables": jumps(lambda i, count: i, inside),
    "jumps-out": jumps(lambda i, count: 0, outside),
    "jumps-out-many-tables": jumps(lambda i, count: i, outside),
    "jumps-with-more": jumps_with_more,
    "branches": branches(b"\x74\0"),
    "branches-and-pushes": branches(b"\x50\x74\0"),
    "upper-parts-code-riscv64": upper_parts(RISCV64, auipc, False),
    "upper-parts-data-riscv64": upper_parts(RISCV64, auipc, True),
    "upper-parts-code-aarch64": upper_parts(AARCH64, adrp, False),
    "upper-parts-data-aarch64": upper_parts(AARCH64, adrp, True),
    "inlined": inlined,
    "inlined-one-name": inlined_one_name,
    "inlined-one-text": inlined_one_text,
    "debug-units": debug_units,
    "debug-references": debug_references(lambda i, count: i),
    "debug-references-others": debug_references(lambda i, count: i * 7919 % count),
    "debug-long-name": long_name,
    "debug-long-unit-names": long_unit_names,
    "debug-range-tables": range_tables,
    "lines-folder": lines_folder,
    "lines-one-table": lines_one_table,
    "lines-last": lines_last,
    "abbreviations-one-table": abbreviations_one_table,
    "abbreviations-long": abbreviations_long,
    "ranges-one-list": one_list(4),
    "ranges-one-list-5": one_list(5),
    "symbols-one-name": symbols_one_name,
    "symbols-one-place": symbols_one_place,
    "symbols-overlapping": symbols_overlapping,
    "sections-one-name": sections_one_name,
    "relocations-one-table": relocations_one_table,
    "relocations-honest": relocations_honest,
    "bit-maps-one-table": bit_maps_one_table,
    "bit-maps-full": bit_maps_full,
    "bit-maps-honest": bit_maps_honest,
    "version-needs": version_needs,
    "imports-one-name": imports_one_name,
    "finishers": finishers,
    "unwind-two-cies": unwind_two_cies,
    "unwind-overlapping": unwind_overlapping,
    "unwind-one-call-table": unwind_one_call_table,
    "unwind-rows": unwind_rows,
    "notes": notes,
    "dynamic-sections": dynamic_sections,
    "segments": segments,
    "maps-among-data": maps_among_data,
    "map-sections": map_sections,
    "roots": roots,
}
