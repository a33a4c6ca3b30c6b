#!/usr/bin/env python3
"""Tests of the oracle and of the scripts beside it.

That the oracle reads as `stackpack` does is what other tests compare: tests/cli/random-programs.sh, and most that pack.
Here is the comparison itself, and LLVM is the judge: what llc compiles must read as llvm-readobj reads it, and must read
the same however it was linked. Those tests are skipped where LLVM's tools aren't installed.
"""

import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import elf_writer
import stackmap_oracle as oracle
from elf_writer import constant, spill_slot

HERE = pathlib.Path(__file__).resolve().parent
RANDOM_PROGRAM = pathlib.Path(os.environ.get("BUILD", HERE.parents[1] / "build"), "tests/oracle/random_program")

SECTION_TYPE_RELR = 19


def program(*records, symbols=(), code=b"\x90" * 4096):
    """An ELF file with a function of these records at 0x401000."""
    maps = elf_writer.encode_submap([elf_writer.Function(0x401000, 24, records)])
    text = elf_writer.Section(".text", code, flags=6, address=0x401000)
    section = elf_writer.Section(".llvm_stackmaps", maps, flags=2, address=0x402000)
    return bytes(elf_writer.write_executable([text, section], symbols, 0x401000))


def statepoint(*locations):
    return elf_writer.Record(7, 16, [constant(0)] * 3 + list(locations))


class Signs(unittest.TestCase):
    """Which records are statepoints, by the code."""

    CALLS = ("e8 00 00 00 00", "ff d0", "ff 10", "ff 14 24", "ff 15 00 00 00 00", "ff 14 25 00 00 00 00", "ff 50 08")
    CALLS += ("ff 54 24 08", "ff 90 00 01 00 00", "ff 94 24 00 01 00 00", "41 ff d3", "3e ff d0", "90", "0f 1f 44 00 00")
    OTHERS = ("cc cc cc cc cc cc cc cc", "ff e0 cc", "c3", "48 89 c7")

    def test_calls_and_others(self):
        for code in map(bytes.fromhex, self.CALLS + self.OTHERS):
            elf = oracle.ElfFile(program(statepoint(), code=code.rjust(16, b"\0") + bytes(4080)))
            (record,) = oracle.read_stack_maps(elf).records
            self.assertEqual(record.statepoint is not None, code.hex(" ") in self.CALLS, code.hex(" "))


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


class Compare(WithDirectory):
    def setUp(self):
        super().setUp()
        slot = spill_slot(0)
        records = statepoint(slot, slot, slot, spill_slot(8)), elf_writer.Record(7, 16, [slot])
        symbols = [elf_writer.Symbol("f", 0x401000, 8), elf_writer.Symbol("alias", 0x401000, 8)]
        self.raw = self.write("raw", program(*records, symbols=symbols))
        self.records = [json.loads(line) for line in run("stackmap_oracle.py", self.raw).stdout.splitlines()]

    def compare(self, *options):
        text = "".join(json.dumps(record) + "\n" for record in self.records)
        return run("compare.py", *options, self.raw, "-", text=text)

    def assert_equal(self):
        result = self.compare()
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


# ---- LLVM as the judge ---------------------------------------------------------------------------------


LLC, READOBJ, LLD, GNU_LD = map(shutil.which, ("llc", "llvm-readobj", "ld.lld", "ld.bfd"))


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
        for seed in range(80):
            with self.subTest(seed=seed):
                path = self.directory / "program"
                subprocess.run([RANDOM_PROGRAM, str(seed), "60", path], check=True)
                self.assertEqual(as_readobj(self.raw_submaps(path)[0]), readobj_lines(path))

    def test_meaning(self):
        (submap,) = self.raw_submaps(self.compile("x86_64-linux-gnu"))
        functions = [
            function._replace(address=0x1000 * number) for number, function in enumerate(submap.functions, 1)
        ]
        records = oracle.read_records([submap._replace(functions=functions)], stack_pointer=7).records
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
        maps = oracle.read_stack_maps(elf)
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
