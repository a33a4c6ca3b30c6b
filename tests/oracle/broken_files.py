#!/usr/bin/env python3
"""Write a family of broken programs into a directory, each named after what is wrong with it, and a valid one.

For each broken file a line is printed: its name, and what a tool must do with it:

refuse   every command must fail with a message: the stack maps can't be read
pack     `pack` must fail, and leave the file as it was: the records can be read by the section headers, but
         a file like this can't be rewritten
survive  the damage is beside the point: anything goes but a crash, a hang, or a wrong record

All of them are a small valid program (`valid_program`) with one thing changed.
"""

import argparse
import pathlib
import struct

from elf_writer import (
    ALLOC,
    CONSTANT_INDEX,
    EXECUTABLE,
    FILE_HEADER_SIZE,
    PROGRAM_HEADER_SIZE,
    SECTION_HEADER_SIZE,
    Function,
    Location,
    Record,
    Section,
    Symbol,
    constant,
    encode_record,
    encode_submap,
    spill_slot,
    write_executable,
)

REFUSE, PACK, SURVIVE = "refuse", "pack", "survive"

TEXT, MAPS, RODATA = 0x401000, 0x402000, 0x403000
FUNCTION_SIZE = 256

# The numbers of sections and segments in `valid_program`.
MAPS_SECTION, RODATA_SECTION, SYMBOL_SECTION, STRING_SECTION, NAME_SECTION = 2, 3, 4, 5, 6
SECTION_COUNT = 7
MAPS_SEGMENT, RODATA_SEGMENT = 3, 4


# ---- The valid program ---------------------------------------------------------------------------------


def statepoint(offset, *pairs):
    return Record(0xABCDEF00, offset, [constant(0), constant(0), constant(0), *pairs])


def first_records():
    pooled = Location(CONSTANT_INDEX, 8, 0, 0)
    return [
        statepoint(16, spill_slot(8), spill_slot(8)),
        statepoint(32, spill_slot(8), spill_slot(16)),
        Record(7, 48, [pooled, spill_slot(24)], [(0, 8), (3, 8), (7, 8)]),
    ]


def first_functions():
    records = first_records()
    return [Function(TEXT, 40, records[:2]), Function(TEXT + FUNCTION_SIZE, 24, records[2:])]


CONSTANTS = [2**40, 2**63]


def first_submap():
    return encode_submap(first_functions(), CONSTANTS)


def second_submap():
    return encode_submap([Function(TEXT + 2 * FUNCTION_SIZE, 56, [statepoint(64)])])


def program_with(maps):
    sections = [
        Section(".text", b"\x90" * (4 * FUNCTION_SIZE), flags=ALLOC | EXECUTABLE, address=TEXT, alignment=16),
        Section(".llvm_stackmaps", maps, flags=ALLOC, address=MAPS),
        Section(".rodata", bytes(range(64)), flags=ALLOC, address=RODATA),
    ]
    symbols = [
        Symbol(name, TEXT + FUNCTION_SIZE * number, FUNCTION_SIZE)
        for number, name in enumerate(("first", "second", "third"))
    ]
    return write_executable(sections, symbols, TEXT)


def valid_program():
    return program_with(first_submap() + bytes(8) + second_submap())


# ---- Changing bytes ------------------------------------------------------------------------------------


def patched(image, offset, layout, value):
    changed = bytearray(image)
    struct.pack_into("<" + layout, changed, offset, value)
    return changed


def patched_program(*patches):
    image = valid_program()
    for patch in patches:
        image = patched(image, *patch)
    return image


FILE_HEADER_FIELDS = {
    "class": (4, "B"),
    "byte order": (5, "B"),
    "program headers": (32, "Q"),
    "section headers": (40, "Q"),
    "program header size": (54, "H"),
    "program header count": (56, "H"),
    "section header size": (58, "H"),
    "section header count": (60, "H"),
    "section names": (62, "H"),
}
SECTION_FIELDS = {
    "name": (0, "I"),
    "type": (4, "I"),
    "flags": (8, "Q"),
    "address": (16, "Q"),
    "offset": (24, "Q"),
    "size": (32, "Q"),
    "link": (40, "I"),
}
SEGMENT_FIELDS = {"type": (0, "I"), "offset": (8, "Q"), "address": (16, "Q"), "file size": (32, "Q")}


def in_header(field, value):
    offset, layout = FILE_HEADER_FIELDS[field]
    return offset, layout, value


def section_headers_offset():
    return struct.unpack_from("<Q", valid_program(), 40)[0]


def in_section(number, field, value):
    offset, layout = SECTION_FIELDS[field]
    return section_headers_offset() + SECTION_HEADER_SIZE * number + offset, layout, value


def in_segment(number, field, value):
    offset, layout = SEGMENT_FIELDS[field]
    return FILE_HEADER_SIZE + PROGRAM_HEADER_SIZE * number + offset, layout, value


# ---- Broken stack maps ---------------------------------------------------------------------------------


def counts():
    """Where a sub-map counts, and by what code."""
    first_record = 16 + 24 * 2 + 8 * len(CONSTANTS)
    live_outs = first_record + len(encode_record(first_records()[0])) - 6
    yield from (("functions", 4, "I"), ("constants", 8, "I"), ("records", 12, "I"))
    yield from (("first_functions_records", 32, "Q"), ("second_functions_records", 56, "Q"))
    yield from (("locations", first_record + 14, "H"), ("live_outs", live_outs, "H"))


def wrong_counts():
    submap = first_submap()
    for name, offset, layout in counts():
        size = 8 * struct.calcsize(layout)
        (count,) = struct.unpack_from("<" + layout, submap, offset)
        for wrong in (2**size - 1, 2 ** (size - 1), 2 ** (size - 3), 0 if name == "records" else count + 100):
            yield f"{wrong}_{name}", patched(submap, offset, layout, wrong)
    for name, first, second in (("64_bits", 2**63 + 2, 2**63 + 1), ("to_3", 2**64 - 1, 4), ("32_bits", 2, 2**32 + 1)):
        yield f"functions_records_wrap_{name}", patched(patched(submap, 32, "Q", first), 56, "Q", second)
    yield "function_bytes_wrap_32_bits", patched(submap, 4, "I", (2**32 + 8) // 24)


def wrong_locations():
    indexes = [Location(CONSTANT_INDEX, 8, 0, index) for index in (len(CONSTANTS), 2**29, 2**31, 2**32 - 1)]
    for location in indexes + [Location(kind, 8, 7, 0) for kind in (0, 6, 255)]:
        for name, record in (("", Record(1, 4, [location])), ("statepoint_", statepoint(4, spill_slot(0), location))):
            maps = encode_submap([Function(TEXT, 8, [record])], CONSTANTS)
            yield f"{name}location_{location.kind}_{location.value}", maps


def garbage():
    first, second = first_submap(), second_submap()
    for version in (0, 1, 2, 4, 255):
        yield f"version_{version}", patched(first, 0, "B", version)
        yield f"version_{version}_in_second_submap", first + patched(second, 0, "B", version)
    for end in range(1, len(first), 9):
        yield f"section_ends_after_{end}", first[:end]
    words = {"ones": b"\xff" * 8, "text": b"garbage!", "a_late_byte": bytes(7) + b"\1", "a_header": b"\3\0\0\0\1\0\0\0"}
    words |= {"a_byte": b"\1", "a_version": b"\3", "a_byte_after_zeros": bytes(4) + b"\1", "few_zeros": bytes(4)}
    for name, word in words.items():
        yield f"{name}_between_submaps", first + word + second
        if name != "few_zeros":
            yield f"{name}_before_first_submap", word + first
            yield f"{name}_after_padding", first + bytes(8) + word + second
            yield f"{name}_after_last_submap", first + word


def broken_maps():
    for family in (wrong_counts, wrong_locations, garbage):
        for name, maps in family():
            yield name, REFUSE, program_with(bytes(maps))
    wrapping = encode_submap([Function(2**64 - 8, 8, [statepoint(16)])])
    yield "record_address_wraps_64_bits", SURVIVE, program_with(wrapping)


# ---- Broken ELF files ----------------------------------------------------------------------------------


def not_elf():
    yield "not_elf_empty_file", b""
    yield "not_elf_one_byte", b"\x7f"
    yield "not_elf_magic_only", b"\x7fELF"
    yield "not_elf_text", b"#!/bin/sh\nexit 0\n" * 100
    yield "not_elf_archive", b"!<arch>\n"
    yield "not_elf_zeros", bytes(8192)
    yield "not_elf_header_only", valid_program()[:FILE_HEADER_SIZE]
    yield "elf_32_bit", patched_program(in_header("class", 1))
    yield "elf_class_0", patched_program(in_header("class", 0))
    yield "elf_big_endian", patched_program(in_header("byte order", 2))
    yield "elf_byte_order_0", patched_program(in_header("byte order", 0))


def broken_section_headers():
    size = len(valid_program())
    for name, offset in (
        ("just_beyond_the_file", size),
        ("partly_beyond_the_file", size - 100),
        ("far_beyond_the_file", 2**40),
        ("wrap_64_bits", 2**64 - 64),
        ("missing", 0),
    ):
        yield f"section_headers_{name}", patched_program(in_header("section headers", offset))
    for entry_size in (0, 1, 40, 63, 65, 128, 65535):
        patch = in_header("section header size", entry_size)
        yield f"section_header_size_{entry_size}", patched_program(patch)
    yield "section_count_65535", patched_program(in_header("section header count", 65535))
    yield "section_count_1", patched_program(in_header("section header count", 1))
    no_count = in_header("section header count", 0)
    yield "section_count_0", patched_program(no_count)
    for exponent in (32, 58, 63):
        many = in_section(0, "size", 2**exponent)
        yield f"extended_section_count_2_to_{exponent}", patched_program(no_count, many)
    stripped = [in_header(field, 0) for field in ("section headers", "section names")]
    yield "section_headers_stripped_off", patched_program(no_count, *stripped)


def broken_names():
    for index in (SECTION_COUNT, 0xFF00, 0xFFFE):
        yield f"section_names_index_{index}", patched_program(in_header("section names", index))
    extended = in_header("section names", 0xFFFF)
    yield "section_names_index_extended_out_of_range", patched_program(
        extended, in_section(0, "link", 2**32 - 1)
    )
    for name_offset in (2**31, 2**32 - 1):
        patch = in_section(MAPS_SECTION, "name", name_offset)
        yield f"section_name_offset_{name_offset}", patched_program(patch)
    names_beyond = in_section(NAME_SECTION, "offset", 2**40)
    yield "section_names_beyond_the_file", patched_program(names_beyond)
    yield "no_stack_maps_section", valid_program().replace(b".llvm_stackmaps\0", b".llvm_otherwise\0")


def broken_maps_section():
    size = len(valid_program())
    for name, offset in (
        ("just_beyond_the_file", size),
        ("partly_beyond_the_file", size - 16),
        ("2_to_63", 2**63),
        ("wraps_64_bits", 2**64 - 8),
    ):
        yield f"section_offset_{name}", patched_program(in_section(MAPS_SECTION, "offset", offset))
    for name, section_size in (
        ("beyond_the_file", size),
        ("2_to_32", 2**32),
        ("2_to_63", 2**63),
        ("wraps_64_bits", 2**64 - MAPS),
        ("2_to_64_minus_1", 2**64 - 1),
    ):
        yield f"section_size_{name}", patched_program(in_section(MAPS_SECTION, "size", section_size))
    yield "section_nobits", patched_program(in_section(MAPS_SECTION, "type", 8))
    yield "section_compressed", patched_program(in_section(MAPS_SECTION, "flags", ALLOC | 0x800))


def overlap(number, offset, address):
    return patched_program(in_section(number, "offset", offset), in_section(number, "address", address))


def broken_for_rewriting():
    size = len(valid_program())
    maps_offset = valid_program().index(first_submap())
    beyond = 2**40 + RODATA % 4096
    for name, offset in (
        ("just_beyond_the_file", size),
        ("partly_beyond_the_file", size - 60),
        ("wrap_64_bits", 2**64 - 56),
    ):
        yield f"program_headers_{name}", patched_program(in_header("program headers", offset))
    for entry_size in (0, 32, 55, 57, 65535):
        patch = in_header("program header size", entry_size)
        yield f"program_header_size_{entry_size}", patched_program(patch)
    yield "program_header_count_65534", patched_program(in_header("program header count", 65534))
    yield "program_header_count_0", patched_program(in_header("program header count", 0))
    yield "segment_with_stack_maps_missing", patched_program(in_segment(MAPS_SEGMENT, "type", 0))
    yield "segment_elsewhere_in_memory", patched_program(in_segment(MAPS_SEGMENT, "address", 0x10002000))
    yield "segment_elsewhere_in_file", patched_program(in_segment(MAPS_SEGMENT, "offset", 0))
    yield "segment_covers_half_the_section", patched_program(in_segment(MAPS_SEGMENT, "file size", 64))
    yield "segment_beyond_the_file", patched_program(in_segment(RODATA_SEGMENT, "offset", beyond))
    yield "segment_size_wraps_64_bits", patched_program(in_segment(RODATA_SEGMENT, "file size", 2**64 - 8))
    yield "other_section_overlaps_stack_maps", overlap(RODATA_SECTION, maps_offset + 32, MAPS + 32)
    yield "other_section_starts_before_stack_maps", overlap(RODATA_SECTION, maps_offset - 32, MAPS - 32)
    yield "string_table_overlaps_stack_maps", patched_program(
        in_section(STRING_SECTION, "offset", maps_offset + 8)
    )
    elsewhere = in_section(MAPS_SECTION, "address", MAPS + 8)
    yield "section_address_is_not_its_segments", patched_program(elsewhere)


def broken_beside():
    yield "symbol_table_without_strings", patched_program(in_section(SYMBOL_SECTION, "link", 99))
    yield "symbol_table_beyond_the_file", patched_program(in_section(SYMBOL_SECTION, "offset", 2**40))
    yield "symbol_table_size_wraps_64_bits", patched_program(in_section(SYMBOL_SECTION, "size", 2**64 - 24))
    image = valid_program()
    symbols = struct.unpack_from("<Q", image, in_section(SYMBOL_SECTION, "offset", 0)[0])[0]
    yield "symbol_name_out_of_range", patched(image, symbols + 24, "I", 2**32 - 1)
    yield "symbol_size_wraps_64_bits", patched(image, symbols + 24 + 16, "Q", 2**64 - 1)
    yield "other_section_name_offset_2_to_31", patched_program(in_section(RODATA_SECTION, "name", 2**31))
    yield "other_section_beyond_the_file", patched_program(in_section(RODATA_SECTION, "offset", 2**40))


def truncated_files():
    image = valid_program()
    headers = section_headers_offset()
    maps = image.index(first_submap())
    borders = [FILE_HEADER_SIZE, headers, headers + SECTION_HEADER_SIZE * SECTION_COUNT, maps, len(image)]
    borders += [maps + 16, maps + len(first_submap()), maps + len(first_submap()) + 8]
    places = {border + change for border in borders for change in (-1, 0, 1)}
    places |= set(range(97, len(image), 397))
    for place in sorted(places):
        if place < len(image):
            yield f"truncated_at_{place:06}", image[:place]


def broken_files():
    """(name, what a tool must do, bytes) of every file."""
    yield from broken_maps()
    for expectation, families in (
        (REFUSE, (not_elf, broken_section_headers, broken_names, broken_maps_section, truncated_files)),
        (PACK, (broken_for_rewriting,)),
        (SURVIVE, (broken_beside,)),
    ):
        for family in families:
            for name, image in family():
                yield name, expectation, image


def main():
    parser = argparse.ArgumentParser(description="Write broken programs, each named after what is wrong.")
    parser.add_argument("directory", type=pathlib.Path)
    directory = parser.parse_args().directory
    directory.mkdir()
    (directory / "valid").write_bytes(valid_program())
    for name, expectation, image in broken_files():
        (directory / name).write_bytes(image)
        print(f"{name}\t{expectation}")


if __name__ == "__main__":
    main()
