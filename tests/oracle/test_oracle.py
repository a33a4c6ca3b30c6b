#!/usr/bin/env python3
"""Tests of the oracle and of the scripts beside it.

The rules of the format are tested on bytes written out by hand, so that no writer can share a mistake with
the reader. Then LLVM is the judge: what llc compiles must read as llvm-readobj reads it, and must read the
same however it was linked. Those tests are skipped where LLVM's tools aren't installed.
"""

import io
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import broken_files
import elf_writer
import random_stackmap
import stackmap_oracle as oracle

HERE = pathlib.Path(__file__).resolve().parent

# A header with one function, no constants, one record; the function at 0x1000 with a frame of 24 bytes.
ONE_RECORD = "03 00 0000  01000000 00000000 01000000   0010000000000000 1800000000000000 0100000000000000 "
RECORD_7_AT_16 = "0700000000000000 10000000 0000 "
NO_LIVE_OUTS = "0000 0000  00000000"
CONSTANT_0 = "04 00 0800 0000 0000 00000000 "
SPILL_0 = "03 00 0800 0700 0000 00000000 "
SPILL_8 = "03 00 0800 0700 0000 08000000 "
DIRECT_0 = "02 00 0800 0700 0000 00000000 "
DIRECT_8 = "02 00 0800 0700 0000 08000000 "


def small_constant(value):
    return "04 00 0800 0000 0000 " + struct.pack("<i", value).hex() + " "


def place(kind, register, value, size=8):
    return oracle.Place(kind, register, value, size)


SPILL_0_PLACE, SPILL_8_PLACE = place("indirect", 7, 0), place("indirect", 7, 8)
DIRECT_0_PLACE, DIRECT_8_PLACE = place("direct", 7, 0), place("direct", 7, 8)


def with_locations(*locations):
    """A sub-map in which one record has these locations, as hexadecimal text."""
    count = struct.pack("<H", len(locations)).hex()
    padding = "00000000" if len(locations) % 2 else ""
    return ONE_RECORD + RECORD_7_AT_16 + count + "".join(locations) + padding + NO_LIVE_OUTS


def read(text, statepoints="auto"):
    return oracle.read_records(oracle.parse_section(bytes.fromhex(text)), statepoints)


def only_record(text, statepoints="auto"):
    (record,) = read(text, statepoints).records
    return record


class Submaps(unittest.TestCase):
    def test_fields_of_a_record(self):
        record = only_record(with_locations())
        self.assertEqual(record.address, 0x1010)
        self.assertEqual(record.function_address, 0x1000)
        self.assertEqual(record.offset, 16)
        self.assertEqual(record.frame_size, 24)
        self.assertEqual(record.id, 7)
        self.assertEqual((record.statepoint, record.locations, record.live_outs), (None, (), ()))

    def test_kinds_of_locations(self):
        record = only_record(
            "03 00 0000  01000000 02000000 01000000   0010000000000000 1800000000000000 0100000000000000"
            "0000000001000000 ffffffffffffffff"
            + RECORD_7_AT_16
            + "0600"
            + "01 00 1000 1100 0000 00000000"
            + "02 00 0800 0600 0000 f8ffffff"
            + "03 00 0400 ffff 0000 ffffff7f"
            + "04 00 0800 0000 0000 feffffff"
            + "05 00 0800 0000 0000 00000000"
            + "05 00 ffff 0000 0000 01000000"
            + NO_LIVE_OUTS
        )
        self.assertEqual(
            record.locations,
            (
                place("register", 17, 0, 16),
                place("direct", 6, -8),
                place("indirect", 65535, 2**31 - 1, 4),
                place("constant", None, -2),
                place("constant", None, 2**32),
                place("constant", None, 2**64 - 1, 65535),
            ),
        )

    def test_reserved_bytes_are_not_looked_at(self):
        record = only_record(
            "03 ff ffff  01000000 00000000 01000000   0010000000000000 1800000000000000 0100000000000000"
            "0700000000000000 10000000 ffff 0100"
            "03 ff 0800 0700 ffff 08000000  ffffffff   ffff 0100  0300 ff 08"
        )
        self.assertEqual(record.locations, (SPILL_8_PLACE,))
        self.assertEqual(record.live_outs, ((3, 8),))

    def test_padding_after_locations_and_live_outs(self):
        start = "03 00 0000  01000000 00000000 02000000   0010000000000000 1800000000000000 0200000000000000"
        following = "0800000000000000 20000000 0000 0000" + NO_LIVE_OUTS
        for locations in range(4):
            for live_outs in range(4):
                text = start + RECORD_7_AT_16 + struct.pack("<H", locations).hex()
                text += SPILL_8 * locations + "00000000" * (locations % 2)
                text += "0000" + struct.pack("<H", live_outs).hex() + "0700 00 08" * live_outs
                text += "00000000" * (live_outs % 2 == 0)
                with self.subTest(locations=locations, live_outs=live_outs):
                    first, second = read(text + following).records
                    self.assertEqual(len(first.locations), locations)
                    self.assertEqual(first.live_outs, ((7, 8),) * live_outs)
                    self.assertEqual((second.id, second.address), (8, 0x1020))

    def test_submaps_with_zeros_around(self):
        first = with_locations()
        second = first.replace("0010000000000000", "0020000000000000")
        for zeros in range(0, 33, 8):
            with self.subTest(zeros=zeros):
                maps = read("00" * zeros + first + "00" * zeros + second + "00" * zeros)
                self.assertEqual([record.address for record in maps.records], [0x1010, 0x2010])

    def test_few_zeros_at_the_end(self):
        for zeros in range(1, 8):
            self.assertEqual(len(read(with_locations() + "00" * zeros).records), 1)
            text = with_locations() + "00" * (zeros - 1) + "03"
            self.assertRaises(oracle.Unusable, read, text)

    def test_empty_sections_and_submaps(self):
        self.assertEqual(read("").records, ())
        self.assertEqual(read("00" * 24).records, ())
        self.assertEqual(read("03 00 0000 00000000 00000000 00000000" * 2 + with_locations()).functions, 1)

    def test_each_function_has_the_next_records(self):
        """The third function's first record is where the first function starts; its second is far from it."""
        maps = read(
            "03 00 0000  03000000 00000000 03000000"
            "0030000000000000 0800000000000000 0100000000000000"
            "0020000000000000 1000000000000000 0000000000000000"
            "0010000000000000 1800000000000000 0200000000000000"
            + "0100000000000000 04000000 0000 0000"
            + NO_LIVE_OUTS
            + "0200000000000000 00200000 0000 0000"
            + NO_LIVE_OUTS
            + "0300000000000000 ffffffff 0000 0000"
            + NO_LIVE_OUTS
        )
        self.assertEqual(maps.functions, 3)
        self.assertEqual(
            [(record.address, record.id, record.frame_size) for record in maps.records],
            [(0x3000, 2, 24), (0x3004, 1, 8), (0x100000FFF, 3, 24)],
        )

    def test_extreme_frame_sizes(self):
        for text, size in (("ff" * 8, None), ("fe" + "ff" * 7, 2**64 - 2), ("00" * 8, 0)):
            record = only_record(with_locations().replace("1800000000000000", text))
            self.assertEqual(record.frame_size, size)

    def test_extreme_ids(self):
        for text, identifier in (("ff" * 8, 2**64 - 1), ("00" * 8, 0)):
            record = only_record(with_locations().replace("0700000000000000", text))
            self.assertEqual(record.id, identifier)

    def test_discarded_functions(self):
        discarded = with_locations().replace("0010000000000000", "0000000000000000")
        maps = read(discarded + with_locations() + discarded)
        self.assertEqual((len(maps.records), maps.functions, maps.discarded_functions), (1, 1, 2))

    def test_discarded_records_may_have_any_location(self):
        discarded = with_locations("05 00 0800 0000 0000 00000000").replace("0010000000", "0000000000")
        self.assertEqual(read(discarded).records, ())

    def test_address_beyond_64_bits(self):
        text = with_locations().replace("0010000000000000", "f0ffffffffffffff")
        self.assertRaises(oracle.Unusable, read, text)


class Duplicates(unittest.TestCase):
    def count(self, *texts):
        maps = read("".join(texts))
        self.assertEqual(len(maps.records) + maps.duplicate_records, len(texts))
        return len(maps.records)

    def test_equal_records_count_once(self):
        self.assertEqual(self.count(*[with_locations(SPILL_0)] * 3), 1)

    def test_records_that_differ_stay(self):
        one = with_locations(SPILL_0)
        for old, new in (
            ("0010000000000000", "0011000000000000"),
            ("1800000000000000", "2000000000000000"),
            (RECORD_7_AT_16, "0800000000000000 10000000 0000 "),
            (SPILL_0, SPILL_8),
            ("0000 0000  00000000", "0000 0100  0700 00 08"),
        ):
            with self.subTest(new=new):
                self.assertIn(old, one)
                self.assertEqual(self.count(one, one.replace(old, new)), 2)

    def test_same_address_of_another_function(self):
        one = with_locations()
        other = one.replace("0010000000000000", "0810000000000000").replace(" 10000000", " 08000000")
        self.assertEqual(self.count(one, other), 2)

    def test_order_of_pairs_and_repeated_pairs_say_nothing(self):
        head = (CONSTANT_0,) * 3
        first, second = (SPILL_0, SPILL_0), (SPILL_0, SPILL_8)
        one = with_locations(*head, *first, *second)
        self.assertEqual(self.count(one, with_locations(*head, *second, *first)), 1)
        self.assertEqual(self.count(one, with_locations(*head, *first, *second, *first)), 1)
        self.assertEqual(self.count(one, with_locations(*head, *first)), 2)

    def test_order_of_other_locations_matters(self):
        self.assertEqual(self.count(with_locations(SPILL_0, SPILL_8), with_locations(SPILL_8, SPILL_0)), 2)

    def test_value_of_a_pooled_constant_counts_not_its_index(self):
        start = "03 00 0000  01000000 02000000 01000000   0010000000000000 1800000000000000 0100000000000000"
        low, high = "0000000001000000", "0000000002000000"
        end = "00000000" + NO_LIVE_OUTS
        index_0 = start + low + high + RECORD_7_AT_16 + "0100 05 00 0800 0000 0000 00000000" + end
        index_1 = start + high + low + RECORD_7_AT_16 + "0100 05 00 0800 0000 0000 01000000" + end
        self.assertEqual(self.count(index_0, index_1), 1)


class Statepoints(unittest.TestCase):
    def statepoint(self, *locations, mode="auto"):
        record = only_record(with_locations(*locations), mode)
        self.assertEqual(record.locations == (), record.statepoint is not None)
        return record.statepoint

    def assert_no_statepoint(self, *locations):
        record = only_record(with_locations(*locations))
        self.assertIsNone(record.statepoint)
        self.assertEqual(len(record.locations), len(locations))

    def test_head_only(self):
        statepoint = self.statepoint(small_constant(1023), small_constant(3), CONSTANT_0)
        self.assertEqual(statepoint, (1023, 3, (), (), ()))

    def test_pairs(self):
        statepoint = self.statepoint(*[CONSTANT_0] * 3, SPILL_0, SPILL_8, CONSTANT_0, SPILL_0)
        null = place("constant", None, 0)
        self.assertEqual(statepoint.pairs, ((SPILL_0_PLACE, SPILL_8_PLACE), (null, SPILL_0_PLACE)))

    def test_repeated_pairs_count_once(self):
        statepoint = self.statepoint(*[CONSTANT_0] * 3, SPILL_0, SPILL_8, SPILL_8, SPILL_8, SPILL_0, SPILL_8)
        self.assertEqual(
            statepoint.pairs, ((SPILL_0_PLACE, SPILL_8_PLACE), (SPILL_8_PLACE, SPILL_8_PLACE))
        )

    def test_deopt_state(self):
        state = [DIRECT_0, SPILL_8, SPILL_8]
        statepoint = self.statepoint(CONSTANT_0, CONSTANT_0, small_constant(3), *state, SPILL_0, SPILL_0)
        self.assertEqual(statepoint.deopt, (DIRECT_0_PLACE, SPILL_8_PLACE, SPILL_8_PLACE))
        self.assertEqual(statepoint.pairs, ((SPILL_0_PLACE, SPILL_0_PLACE),))

    def test_deopt_state_at_the_end(self):
        statepoint = self.statepoint(CONSTANT_0, CONSTANT_0, small_constant(1), DIRECT_0)
        self.assertEqual((statepoint.deopt, statepoint.allocas), ((DIRECT_0_PLACE,), ()))

    def test_direct_locations_at_the_end_are_stack_objects(self):
        statepoint = self.statepoint(*[CONSTANT_0] * 3, SPILL_0, SPILL_0, DIRECT_8, DIRECT_0, DIRECT_8)
        self.assertEqual(statepoint.pairs, ((SPILL_0_PLACE, SPILL_0_PLACE),))
        self.assertEqual(statepoint.allocas, (DIRECT_8_PLACE, DIRECT_0_PLACE, DIRECT_8_PLACE))

    def test_only_stack_objects(self):
        for count in (1, 2, 3):
            statepoint = self.statepoint(*[CONSTANT_0] * 3, *[DIRECT_0] * count)
            self.assertEqual((len(statepoint.pairs), len(statepoint.allocas)), (0, count))

    def test_first_stack_object_completes_the_last_pair(self):
        statepoint = self.statepoint(*[CONSTANT_0] * 3, SPILL_0, DIRECT_0, DIRECT_8)
        self.assertEqual(statepoint.pairs, ((SPILL_0_PLACE, DIRECT_0_PLACE),))
        self.assertEqual(statepoint.allocas, (DIRECT_8_PLACE,))

    def test_direct_locations_before_others_belong_to_pairs(self):
        statepoint = self.statepoint(*[CONSTANT_0] * 3, DIRECT_0, DIRECT_0, DIRECT_8, SPILL_0)
        self.assertEqual(
            statepoint.pairs, ((DIRECT_0_PLACE, DIRECT_0_PLACE), (DIRECT_8_PLACE, SPILL_0_PLACE))
        )

    def test_records_that_are_no_statepoints(self):
        pooled = "05 00 0800 0000 0000 00000000 "
        self.assert_no_statepoint(CONSTANT_0, CONSTANT_0)
        self.assert_no_statepoint(SPILL_0, CONSTANT_0, CONSTANT_0)
        self.assert_no_statepoint(CONSTANT_0, SPILL_0, CONSTANT_0)
        self.assert_no_statepoint(CONSTANT_0, CONSTANT_0, SPILL_0)
        self.assert_no_statepoint(CONSTANT_0, CONSTANT_0, CONSTANT_0, SPILL_0)
        self.assert_no_statepoint(CONSTANT_0, CONSTANT_0, small_constant(2), SPILL_0)
        for wrong in (-1, 1024):
            self.assert_no_statepoint(small_constant(wrong), CONSTANT_0, CONSTANT_0)
        for wrong in (-1, 4):
            self.assert_no_statepoint(CONSTANT_0, small_constant(wrong), CONSTANT_0)
        for wrong in (-1, -2, -(2**31), 2**31 - 1):
            self.assert_no_statepoint(CONSTANT_0, CONSTANT_0, small_constant(wrong))
            self.assert_no_statepoint(CONSTANT_0, CONSTANT_0, small_constant(wrong), SPILL_0)
        self.assertRaises(oracle.Unusable, self.statepoint, pooled, CONSTANT_0, CONSTANT_0)

    def test_pooled_constants_make_no_head(self):
        text = with_locations("05 00 0800 0000 0000 00000000 ", CONSTANT_0, CONSTANT_0)
        text = text.replace("01000000 00000000 01000000", "01000000 01000000 01000000")
        text = text.replace(RECORD_7_AT_16, "0000000000000000 " + RECORD_7_AT_16)
        self.assertIsNone(only_record(text).statepoint)

    def test_mode_none(self):
        record = only_record(with_locations(*[CONSTANT_0] * 3), "none")
        self.assertEqual((record.statepoint, len(record.locations)), (None, 3))

    def test_mode_all(self):
        statepoint = self.statepoint(small_constant(-1), small_constant(9), CONSTANT_0, mode="all")
        self.assertEqual(statepoint[:2], (-1, 9))
        self.assertRaises(oracle.Unusable, self.statepoint, SPILL_0, mode="all")

    def test_live_outs_are_kept(self):
        text = with_locations(*[CONSTANT_0] * 4, SPILL_0).replace(NO_LIVE_OUTS, "0000 0100 0300 00 08")
        self.assertEqual(only_record(text).live_outs, ((3, 8),))


class Refusals(unittest.TestCase):
    def test_every_cut_is_noticed(self):
        whole = bytes.fromhex(with_locations(SPILL_0, SPILL_8).replace(NO_LIVE_OUTS, "0000 0100 0300 00 08"))
        self.assertEqual(len(oracle.parse_section(whole)), 1)
        for end in range(1, len(whole)):
            with self.subTest(end=end):
                self.assertRaises(oracle.Unusable, oracle.parse_section, whole[:end])

    def test_missing_padding_is_noticed(self):
        whole = bytes.fromhex(with_locations())
        self.assertRaises(oracle.Unusable, oracle.parse_section, whole[:-4])


# ---- ELF -----------------------------------------------------------------------------------------------


SECTION_TYPE_RELR = 19
MAPS_ADDRESS = 0x402000
FUNCTION_ADDRESS_AT = MAPS_ADDRESS + 16


def program(*sections, symbols=(), maps=None, machine=oracle.MACHINE_X86_64, maps_name=".llvm_stackmaps", code=4096 * b"\x90"):
    """An ELF file with one stack map, whose function is at 0x1000 unless a relocation says otherwise."""
    text = elf_writer.Section(".text", code, flags=6, address=0x401000)
    contents = bytes.fromhex(with_locations()) if maps is None else maps
    maps_section = elf_writer.Section(maps_name, contents, flags=2, address=MAPS_ADDRESS)
    image = elf_writer.write_executable([text, maps_section, *sections], symbols, 0x401000)
    struct.pack_into("<H", image, 18, machine)
    return oracle.ElfFile(bytes(image))


class Signs(unittest.TestCase):
    """Which records are statepoints, by the code and by live-outs."""

    CALLS = ("e8 00 00 00 00", "ff d0", "ff 10", "ff 14 24", "ff 15 00 00 00 00", "ff 14 25 00 00 00 00", "ff 50 08")
    CALLS += ("ff 54 24 08", "ff 90 00 01 00 00", "ff 94 24 00 01 00 00", "41 ff d3", "3e ff d0", "90", "0f 1f 44 00 00")
    OTHERS = ("cc cc cc cc cc cc cc cc", "ff e0 cc", "c3", "48 89 c7")

    def kind(self, code, record="10000000"):
        maps = with_locations(*[CONSTANT_0] * 3).replace("0010000000000000", "0010400000000000")
        text = bytearray(4096)
        text[16 - len(code) : 16] = code
        elf = program(maps=bytes.fromhex(maps.replace("10000000", record, 1)), code=bytes(text))
        (record,) = oracle.read_stack_maps(elf, ".llvm_stackmaps", "auto").records
        return record.statepoint is not None

    def test_calls(self):
        for code in self.CALLS:
            self.assertTrue(self.kind(bytes.fromhex(code)), code)

    def test_others(self):
        for code in self.OTHERS:
            self.assertFalse(self.kind(bytes.fromhex(code)), code)


def function_addresses(elf):
    return [
        record.function_address for record in oracle.read_stack_maps(elf, ".llvm_stackmaps", "auto").records
    ]


def relocations(*entries, flags=oracle.SECTION_FLAG_ALLOC, link=0):
    """A RELA section of (address, symbol, type, addend)."""
    data = b"".join(
        struct.pack("<QIIq", address, kind, symbol, addend) for address, symbol, kind, addend in entries
    )
    return elf_writer.Section(".rela.dyn", data, oracle.SECTION_TYPE_RELA, flags, 0x403000, link)


class Relocations(unittest.TestCase):
    def test_without(self):
        self.assertEqual(function_addresses(program()), [0x1000])

    def test_relative(self):
        for machine, kind in ((62, 8), (183, 1027)):
            table = relocations((FUNCTION_ADDRESS_AT, 0, kind, 0x401040), (0x500000, 0, kind, 1))
            self.assertEqual(function_addresses(program(table, machine=machine)), [0x401040])

    def test_symbolic(self):
        symbols = [elf_writer.Symbol("f", 0x401080, 8)]
        for machine, kind in ((62, 1), (183, 257)):
            table = relocations((FUNCTION_ADDRESS_AT, 1, kind, 8), link=4)
            elf = program(table, symbols=symbols, machine=machine)
            self.assertEqual(elf.sections[4].name, ".symtab")
            self.assertEqual(function_addresses(elf), [0x401088])

    def test_undefined_symbol_means_discarded(self):
        table = relocations((FUNCTION_ADDRESS_AT, 0, 1, 8), link=4)
        self.assertEqual(function_addresses(program(table)), [])

    def test_relr_has_addends_in_place(self):
        words = struct.pack("<QQ", FUNCTION_ADDRESS_AT, 0b11)
        table = elf_writer.Section(".relr.dyn", words, SECTION_TYPE_RELR, 2, 0x403000)
        self.assertEqual(function_addresses(program(table)), [0x1000])

    def test_none(self):
        table = relocations((FUNCTION_ADDRESS_AT, 0, 0, 99))
        self.assertEqual(function_addresses(program(table)), [0x1000])

    def test_relocations_that_were_for_the_linker(self):
        table = relocations((FUNCTION_ADDRESS_AT, 0, 8, 99), flags=0)
        self.assertEqual(function_addresses(program(table)), [0x1000])

    def test_borders_of_the_section(self):
        submap = bytes.fromhex(with_locations())
        one_before, last = MAPS_ADDRESS - 8, MAPS_ADDRESS + len(submap)
        both = relocations((one_before, 0, 8, 1), (last + 8, 0, 8, 1))
        self.assertEqual(function_addresses(program(both, maps=submap + bytes(8))), [0x1000])
        first = relocations((MAPS_ADDRESS, 0, 8, 0x100000003), (last, 0, 8, 0))
        self.assertEqual(function_addresses(program(first, maps=submap + b"garbage!")), [0x1000])

    def test_refused(self):
        last = MAPS_ADDRESS + len(bytes.fromhex(with_locations()))
        for entry in (
            (FUNCTION_ADDRESS_AT, 0, 6, 0),
            (FUNCTION_ADDRESS_AT, 2, 1, 0),
            (MAPS_ADDRESS - 7, 0, 8, 0),
            (MAPS_ADDRESS - 1, 0, 8, 0),
            (last - 7, 0, 8, 0),
            (last - 1, 0, 8, 0),
        ):
            with self.subTest(entry=entry):
                elf = program(relocations(entry, link=4), symbols=[elf_writer.Symbol("f", 0x401000, 8)])
                self.assertRaises(oracle.Unusable, function_addresses, elf)

    def test_symbols_that_are_not_there(self):
        elf = program(relocations((FUNCTION_ADDRESS_AT, 0, 1, 0), link=7))
        self.assertEqual(len(elf.sections), 7)
        self.assertRaises(oracle.Unusable, function_addresses, elf)


class Names(unittest.TestCase):
    def names(self, *symbols, machine=oracle.MACHINE_X86_64):
        return oracle.names_by_address(program(symbols=symbols, machine=machine))

    def test_best_name_first(self):
        symbol = elf_writer.Symbol
        names = self.names(
            symbol("label", 0x401000, 0, elf_writer.NOTYPE, elf_writer.GLOBAL),
            symbol("local", 0x401000, 8, elf_writer.FUNC, elf_writer.LOCAL),
            symbol("weak", 0x401000, 8, elf_writer.FUNC, elf_writer.WEAK),
            symbol("global", 0x401000, 8, elf_writer.FUNC, elf_writer.GLOBAL),
            symbol("other", 0x401010, 8, oracle.SYMBOL_TYPE_GNU_IFUNC),
        )
        self.assertEqual(names, {0x401000: ["global", "weak", "local", "label"], 0x401010: ["other"]})

    def test_symbols_that_name_no_function(self):
        data, section, file = 1, 3, 4
        symbols = [elf_writer.Symbol(f"s{kind}", 0x401000, 8, kind) for kind in (data, section, file)]
        self.assertEqual(self.names(*symbols, elf_writer.Symbol("", 0x401000, 8)), {})

    def test_mapping_symbols(self):
        symbols = [elf_writer.Symbol(name, 0x401000, 0, elf_writer.NOTYPE) for name in ("$x", "$d.1", "f")]
        self.assertEqual(self.names(*symbols, machine=183), {0x401000: ["f"]})
        self.assertEqual(len(self.names(*symbols)[0x401000]), 3)

    def test_undefined_symbols(self):
        entry = struct.pack("<IBBHQQ", 1, 18, 0, 0, 0x401000, 0)
        strings = elf_writer.Section(".dynstr", b"\0f\0", 3, 2, 0x404000)
        table = elf_writer.Section(".dynsym", entry, oracle.SECTION_TYPE_DYNSYM, 2, 0x403000, link=4)
        self.assertEqual(oracle.names_by_address(program(table, strings)), {})

    def test_dynamic_symbols(self):
        entry = struct.pack("<IBBHQQ", 1, 18, 0, 1, 0x401000, 0)
        strings = elf_writer.Section(".dynstr", b"\0f\0", 3, 2, 0x404000)
        table = elf_writer.Section(".dynsym", entry, oracle.SECTION_TYPE_DYNSYM, 2, 0x403000, link=4)
        self.assertEqual(oracle.names_by_address(program(table, strings)), {0x401000: ["f"]})


class ElfFiles(unittest.TestCase):
    def test_extended_section_count(self):
        plain = program()
        image = bytearray(plain.data)
        headers = struct.unpack_from("<Q", image, 40)[0]
        count, names = struct.unpack_from("<HH", image, 60)
        struct.pack_into("<HH", image, 60, 0, 0xFFFF)
        struct.pack_into("<QI", image, headers + 32, count, names)
        found = oracle.ElfFile(bytes(image)).sections
        self.assertEqual([section.name for section in found], [section.name for section in plain.sections])

    def test_two_sections_of_one_name(self):
        second = elf_writer.Section(".llvm_stackmaps", b"", flags=2, address=0x404000)
        self.assertRaises(oracle.Unusable, function_addresses, program(second))

    def test_object_files(self):
        image = bytearray(program().data)
        struct.pack_into("<H", image, 16, 1)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "object")
            path.write_bytes(image)
            self.assertRaises(oracle.Unusable, oracle.load, path)

    def test_missing_file(self):
        self.assertRaises(oracle.Unusable, oracle.load, "/nonexistent/file")


# ---- The command lines ---------------------------------------------------------------------------------


def run(script, *arguments, text=None):
    return subprocess.run(
        [sys.executable, HERE / script, *arguments], input=text, capture_output=True, text=True, check=False
    )


class WithDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def write(self, name, contents):
        path = self.directory / name
        path.write_bytes(contents)
        return path


class Output(WithDirectory):
    def lines(self, maps, *options, symbols=()):
        path = self.write("program", program(maps=bytes.fromhex(maps), symbols=symbols).data)
        result = run("stackmap_oracle.py", *options, path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.splitlines()

    def test_statepoint(self):
        head = (small_constant(8), small_constant(1), small_constant(1))
        maps = with_locations(*head, SPILL_8, SPILL_0, SPILL_0, DIRECT_0)
        slot = '{"kind":"indirect","register":7,"offset":0,"size":8}'
        self.assertEqual(
            self.lines(maps),
            [
                '{"address":4112,"function":null,"function_address":4096,"offset":16,"frame_size":24,"id":7,'
                '"kind":"statepoint","calling_convention":8,"flags":1,'
                '"deopt":[{"kind":"indirect","register":7,"offset":8,"size":8}],'
                f'"gc":[{{"base":{slot},"derived":{slot}}}],'
                '"allocas":[{"kind":"direct","register":7,"offset":0,"size":8}],"live_outs":[]}'
            ],
        )

    def test_stackmap(self):
        maps = with_locations(small_constant(-5), "01 00 0800 0300 0000 00000000")
        maps = maps.replace(NO_LIVE_OUTS, "0000 0100 0300 00 08").replace("1800000000000000", "ff" * 8)
        maps = maps.replace("0010000000000000", "0010400000000000")
        self.assertEqual(
            self.lines(maps, symbols=[elf_writer.Symbol('a"b', 0x401000, 8)]),
            [
                '{"address":4198416,"function":"a\\"b","function_address":4198400,"offset":16,'
                '"frame_size":null,"id":7,"kind":"stackmap","locations":[{"kind":"constant","value":-5,"size":8},'
                '{"kind":"register","register":3,"offset":0,"size":8}],"live_outs":[{"register":3,"size":8}]}'
            ],
        )

    def test_statepoints_option(self):
        maps = with_locations(*[CONSTANT_0] * 3)
        self.assertIn('"kind":"stackmap"', self.lines(maps, "--statepoints=none")[0])

    def test_section_option(self):
        path = self.write("program", program(maps_name=".other").data)
        self.assertEqual(run("stackmap_oracle.py", path).returncode, 2)
        self.assertEqual(run("stackmap_oracle.py", "--section=.other", path).returncode, 0)

    def test_summary(self):
        path = self.write("program", program().data)
        self.assertIn("1 records, 1 functions; skipped 0 discarded", run("stackmap_oracle.py", path).stderr)


class Compare(WithDirectory):
    def setUp(self):
        super().setUp()
        maps = with_locations(*[CONSTANT_0] * 3, SPILL_0, SPILL_0, SPILL_0, SPILL_8) + with_locations(SPILL_0)
        maps = maps.replace("0010000000000000", "0010400000000000")
        symbols = [elf_writer.Symbol("f", 0x401000, 8), elf_writer.Symbol("alias", 0x401000, 8)]
        self.raw = self.write("raw", program(maps=bytes.fromhex(maps), symbols=symbols).data)
        self.records = [json.loads(line) for line in run("stackmap_oracle.py", self.raw).stdout.splitlines()]

    def compare(self, *options):
        text = "".join(json.dumps(record) + "\n" for record in self.records)
        return run("compare.py", *options, self.raw, "-", text=text)

    def assert_equal(self, *options):
        result = self.compare(*options)
        self.assertEqual((result.returncode, result.stdout), (0, "2 records equal\n"), result.stderr)

    def assert_differs(self, *texts, count=1):
        result = self.compare()
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1], f"2 records, {count} differences")
        for text in texts:
            self.assertIn(text, result.stdout)

    def test_equal(self):
        self.assert_equal()

    def test_from_a_file(self):
        dump = self.write("dump", run("stackmap_oracle.py", self.raw).stdout.encode())
        self.assertEqual(run("compare.py", self.raw, dump).returncode, 0)

    def test_order_of_records_and_pairs(self):
        self.records.reverse()
        self.records[1]["gc"].reverse()
        self.assert_equal()

    def test_repeated_pair(self):
        self.records[0]["gc"].append(self.records[0]["gc"][0])
        self.assert_differs("gc: expected")

    def test_each_field(self):
        for field in self.records[0].keys() - {"function", "address"}:
            with self.subTest(field=field):
                kept = self.records[0].pop(field)
                self.assert_differs(f"{field}: expected", "found nothing")
                self.records[0][field] = kept

    def test_types(self):
        self.records[0]["flags"] = False
        self.assert_differs("flags: expected 0, found false")

    def test_further_field(self):
        self.records[1]["more"] = 1
        self.assert_differs("more: expected nothing, found 1")

    def test_missing_and_unexpected_records(self):
        self.records.append(dict(self.records.pop(), address=5))
        self.assert_differs("missing: {", "0x5: unexpected: {", count=2)

    def test_repeated_record(self):
        self.records.append(self.records[0])
        self.assert_differs("unexpected: {")

    def test_names(self):
        self.records[0]["function"] = "alias"
        self.assert_equal()
        for wrong in ("g", None):
            self.records[0]["function"] = wrong
            self.assert_differs("function: expected one of ['f', 'alias']")
            self.assert_equal("--no-names")

    def test_ten_differences_are_shown(self):
        self.records += [dict(self.records[0], address=address) for address in range(20)]
        result = self.compare()
        self.assertEqual(result.stdout.count("unexpected: {"), 10)
        self.assertTrue(result.stdout.endswith("2 records, 20 differences\n"))

    def test_unusable_input(self):
        self.assertEqual(run("compare.py", self.raw, "-", text="text\n").returncode, 2)
        self.assertEqual(run("compare.py", self.raw, "-", text="[]\n").returncode, 2)
        self.assertEqual(run("compare.py", self.raw, "/nonexistent/dump").returncode, 2)
        self.assertEqual(run("compare.py", "/nonexistent/raw", "-", text="").returncode, 2)


class RandomPrograms(WithDirectory):
    def records(self, seed, count, profile):
        image = random_stackmap.random_executable(seed, count, max(1, count // 8), profile)
        elf = oracle.ElfFile(bytes(image))
        return oracle.read_stack_maps(elf, ".llvm_stackmaps", "auto")

    def test_same_seed_same_bytes(self):
        for profile in ("typical", "wild"):
            paths = [self.directory / f"{profile}{number}" for number in range(3)]
            for path, seed in zip(paths, "112"):
                options = ("--seed", seed, "--records", "50", "--profile", profile, "-o", path)
                self.assertEqual(run("random_stackmap.py", *options).returncode, 0)
            same, again, other = [path.read_bytes() for path in paths]
            self.assertEqual(same, again)
            self.assertNotEqual(same, other)

    def test_every_size_can_be_read(self):
        for profile in ("typical", "wild"):
            for count in list(range(20)) + [1000]:
                with self.subTest(profile=profile, count=count):
                    maps = self.records(count, count, profile)
                    self.assertLessEqual(len(maps.records), count)

    def test_wild_programs_have_everything(self):
        records = [record for seed in range(3) for record in self.records(seed, 2000, "wild").records]
        places = {place for record in records for place in record.locations}
        self.assertEqual({place.kind for place in places}, {"register", "direct", "indirect", "constant"})
        self.assertTrue({0, 65535} <= {place.size for place in places})
        self.assertTrue({0, 65535} <= {place.register for place in places if place.kind == "register"})
        self.assertTrue({-(2**31), 2**31 - 1, 2**64 - 1} <= {place.value for place in places})
        self.assertTrue({0, 2**64 - 1} <= {record.id for record in records})
        self.assertTrue({None, 0, 2**64 - 2} <= {record.frame_size for record in records})
        self.assertTrue({0, 2**32 - 1} <= {record.offset for record in records})
        self.assertEqual(max(len(record.locations) for record in records), 65535)
        self.assertEqual(max(len(record.live_outs) for record in records), 65535)
        statepoints = [record.statepoint for record in records if record.statepoint]
        self.assertTrue(any(point.deopt and point.pairs and point.allocas for point in statepoints))
        addresses = [record.address for record in records]
        self.assertGreater(max(addresses) - min(addresses), 2**40)
        starts = [record.function_address for record in records]
        self.assertNotEqual(starts, sorted(starts))

    def test_wild_programs_have_discarded_and_repeated_functions(self):
        maps = self.records(1, 5000, "wild")
        self.assertGreater(maps.discarded_functions, 0)
        self.assertGreater(maps.duplicate_records, 0)


class BrokenFiles(WithDirectory):
    def test_valid_program(self):
        elf = oracle.ElfFile(bytes(broken_files.valid_program()))
        self.assertEqual(len(oracle.read_stack_maps(elf, ".llvm_stackmaps", "auto").records), 4)

    def test_verdicts(self):
        names = set()
        for name, expectation, image in broken_files.broken_files():
            with self.subTest(name=name):
                self.assertNotIn(name, names)
                names.add(name)
                refused = self.is_refused(bytes(image))
                if expectation != broken_files.SURVIVE:
                    self.assertEqual(refused, expectation == broken_files.REFUSE)

    def is_refused(self, image):
        try:
            elf = oracle.ElfFile(image)
            oracle.read_stack_maps(elf, ".llvm_stackmaps", "auto")
            oracle.names_by_address(elf)
        except oracle.Unusable:
            return True
        return False

    def test_command_line(self):
        result = run("broken_files.py", self.directory / "new" / "directory")
        self.assertEqual(result.returncode, 0, result.stderr)
        listed = dict(line.split("\t") for line in result.stdout.splitlines())
        self.assertEqual(listed.keys(), {path.name for path in (self.directory / "new/directory").iterdir()})
        self.assertEqual(set(listed.values()), {"refuse", "pack", "survive"})


# ---- LLVM as the judge ---------------------------------------------------------------------------------


OLDEST_LLVM = 15  # the first one that reads pointers without a type, as every_location.ll has them


def find_tool(name):
    """One of LLVM's tools, which distributions install with the version in the name or without."""
    for candidate in [f"{name}-{version}" for version in range(40, OLDEST_LLVM - 1, -1)] + [name]:
        path = shutil.which(candidate)
        if path and llvm_version(path) >= OLDEST_LLVM:
            return path
    return None


def llvm_version(tool):
    output = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(?:LLVM version|LLD) (\d+)", output)
    return int(found[1]) if found else 0


LLC, READOBJ, LLD = find_tool("llc"), find_tool("llvm-readobj"), find_tool("ld.lld")
GNU_LD = shutil.which("ld.bfd")


def readobj_location(location, constants):
    kind, _, register, value = location
    if kind == oracle.REGISTER:
        return f"Register R#{register}"
    if kind == oracle.DIRECT:
        return f"Direct R#{register} + {value}"
    if kind == oracle.INDIRECT:
        return f"Indirect [R#{register} + {value}]"
    if kind == oracle.SMALL_CONSTANT:
        return f"Constant {value % 2**32}"
    return f"ConstantIndex #{value} ({constants[value]})"


def as_readobj(submap):
    """A sub-map in the words of llvm-readobj --stackmap."""
    out = io.StringIO()
    print("LLVM StackMap Version: 3", file=out)
    print(f"Num Functions: {len(submap.functions)}", file=out)
    for function in submap.functions:
        print(
            f"Function address: {function.address}, stack size: {function.stack_size},"
            f" callsite record count: {function.record_count}",
            file=out,
        )
    print(f"Num Constants: {len(submap.constants)}", file=out)
    for number, value in enumerate(submap.constants, 1):
        print(f"#{number}: {value}", file=out)
    print(f"Num Records: {len(submap.records)}", file=out)
    for record in submap.records:
        print(f"Record ID: {record.id}, instruction offset: {record.offset}", file=out)
        print(f"{len(record.locations)} locations:", file=out)
        for number, location in enumerate(record.locations, 1):
            text = readobj_location(location, submap.constants)
            print(f"#{number}: {text}, size: {location.size}", file=out)
        live_outs = "".join(f"R#{register} ({size}-bytes) " for register, size in record.live_outs)
        print(f"{len(record.live_outs)} live-outs: [ {live_outs}]", file=out)
    return out.getvalue().splitlines()


def readobj_lines(path):
    result = subprocess.run([READOBJ, "--stackmap", path], capture_output=True, text=True, check=True)
    lines = [line.strip() for line in result.stdout.splitlines()]
    return lines[lines.index("LLVM StackMap Version: 3") :]


@unittest.skipUnless(LLC and READOBJ, "llc and llvm-readobj are not installed")
class LlvmReader(WithDirectory):
    def compile(self, triple, *options):
        path = self.directory / f"{triple}.o"
        source = HERE / "every_location.ll"
        options = ("-relocation-model=pic", "-function-sections", *options)
        command = [LLC, f"-mtriple={triple}", "-filetype=obj", *options, source, "-o", path]
        subprocess.run(command, check=True, capture_output=True)
        return path

    def raw_submaps(self, path):
        elf = oracle.ElfFile(path.read_bytes())
        return oracle.parse_section(elf.contents(elf.find_section(".llvm_stackmaps")))

    def test_object_files_read_as_llvm_reads_them(self):
        for triple in ("x86_64-linux-gnu", "aarch64-linux-gnu"):
            with self.subTest(triple=triple):
                path = self.compile(triple)
                (submap,) = self.raw_submaps(path)
                self.assertEqual(as_readobj(submap), readobj_lines(path))

    def test_random_programs_read_as_llvm_reads_them(self):
        """llvm-readobj reads the first sub-map only."""
        for seed in range(40):
            for profile in ("typical", "wild"):
                with self.subTest(seed=seed, profile=profile):
                    image = random_stackmap.random_executable(seed, 60, 4, profile)
                    path = self.write("program", image)
                    self.assertEqual(as_readobj(self.raw_submaps(path)[0]), readobj_lines(path))

    def test_meaning(self):
        (submap,) = self.raw_submaps(self.compile("x86_64-linux-gnu"))
        functions = [
            function._replace(address=0x1000 * number) for number, function in enumerate(submap.functions, 1)
        ]
        records = oracle.read_records([submap._replace(functions=functions)]).records
        deopt, allocas, empty, values, dynamic, patch, twin, other_twin = records
        self.assertEqual(
            [place.value for place in deopt.statepoint.deopt if place.kind == "constant"],
            [5, -1, 0x123456789ABCDEF0, -7],
        )
        self.assertEqual(len(deopt.statepoint.deopt), 5)
        self.assertEqual(allocas.statepoint[:3], (8, 2, ()))
        self.assertEqual((len(allocas.statepoint.pairs), len(allocas.statepoint.allocas)), (1, 2))
        self.assertEqual((empty.id, empty.locations), (2**64 - 1, ()))
        self.assertEqual(
            [place.value for place in values.locations if place.kind == "constant"],
            [2**31 - 1, 2**31, -(2**31), 2**32, -1],
        )
        self.assertIsNone(dynamic.frame_size)
        self.assertGreater(len(patch.live_outs), 0)
        self.assertEqual((twin.id, other_twin.id), (4, 4))

    def linked(self, linker, triple, *options):
        path = self.directory / "linked"
        command = [linker, *options, self.compile(triple), "-o", path]
        subprocess.run(command, check=True, capture_output=True)
        elf = oracle.load(path)
        maps = oracle.read_stack_maps(elf, ".llvm_stackmaps", "auto")
        names = oracle.names_by_address(elf)
        return elf, maps, [self.without_addresses(record, names) for record in maps.records]

    @staticmethod
    def without_addresses(record, names):
        return oracle.record_as_json(record, names) | {"address": 0, "function_address": 0}

    def assert_same_however_linked(self, linker, triple, text_options):
        base = ("-e", "0", "--unresolved-symbols=ignore-all")
        _, maps, expected = self.linked(linker, triple, *base, "-no-pie")
        self.assertEqual((len(expected), maps.discarded_functions, maps.duplicate_records), (8, 0, 0))
        self.assertNotIn(None, [record["function"] for record in expected])
        for options in (
            ("-pie",),
            ("-shared",),
            ("-shared", "-Bsymbolic"),
            ("-pie", "-z", "pack-relative-relocs"),
        ):
            with self.subTest(linker=linker, options=options):
                elf, _, found = self.linked(linker, triple, *base, *text_options, *options)
                self.assertEqual(found, expected)
                has_relr = SECTION_TYPE_RELR in {section.type for section in elf.sections}
                self.assertEqual(has_relr, "pack-relative-relocs" in options)

    @unittest.skipUnless(LLD, "ld.lld is not installed")
    def test_linked_by_lld(self):
        for triple in ("x86_64-linux-gnu", "aarch64-linux-gnu"):
            self.assert_same_however_linked(LLD, triple, ("-z", "notext"))

    @unittest.skipUnless(GNU_LD, "GNU ld is not installed")
    def test_linked_by_gnu_ld(self):
        self.assert_same_however_linked(GNU_LD, "x86_64-linux-gnu", ())

    @unittest.skipUnless(LLD, "ld.lld is not installed")
    def test_identical_code_folding(self):
        options = ("-e", "0", "--unresolved-symbols=ignore-all", "--icf=all")
        _, maps, records = self.linked(LLD, "x86_64-linux-gnu", *options)
        self.assertEqual((len(records), maps.duplicate_records), (7, 1))


if __name__ == "__main__":
    unittest.main()
