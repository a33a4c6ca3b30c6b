#!/usr/bin/env python3
"""Make the seeds of the fuzzers: tests/fuzz/corpus/{v3,encode,packed,elf,eh_frame,kept,policy}; with LLVM's folder,
`split` and `graph`, too.

    make_corpus.py STACKPACK [DIRECTORY [LLVM]]

STACKPACK is the command (build/stackpack), which packs the programs; so run this again when the packed format
changes. The same version of it gives the same seeds. Beside it is tests/oracle/random_program, of which some seeds are.

The ELF files are as small as files get that can be packed: one segment holds everything, and only two are long enough
for pages to be cut out.
"""

import itertools
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "oracle"))

from elf_writer import CONSTANT_INDEX, DIRECT, REGISTER, Function, Location, Record  # noqa: E402
from elf_writer import constant, encode_submap, spill_slot  # noqa: E402

BASE = 0x400000
TEXT = BASE + 0x10000
FILE_HEADER, SEGMENT, SECTION, SYMBOL = 64, 56, 64, 24
PROGBITS, SYMTAB, STRTAB = 1, 2, 3
RELA, DYNAMIC_SECTION, DYNSYM, RELR = 4, 6, 11, 19
LOAD, DYNAMIC, INTERP, STACK = 1, 2, 3, 0x6474E551
EXECUTABLE, SHARED = 2, 3


# ---- Stack maps ----------------------------------------------------------------------------------------


def statepoint(offset, pairs=(), deopt=(), allocas=(), convention=0, flags=0, **fields):
    locations = [constant(convention), constant(flags), constant(len(deopt)), *deopt]
    for base, derived in pairs:
        locations += [spill_slot(base), spill_slot(derived)]
    locations += [Location(DIRECT, 8, 6, alloca) for alloca in allocas]
    return Record(fields.pop("id", 0xABCDEF00), offset, locations, **fields)


def plain_pairs(*slots):
    return [(8 * slot, 8 * slot) for slot in slots]


def changing_bases(slots, bases, records):
    """Each slot has one of several bases; some have another at the next record. (Changes as bit maps.)"""
    source = random.Random(1)
    chosen = [source.randrange(bases) for _ in range(slots)]
    result = []
    for number in range(records):
        for slot in range(slots):
            if source.random() < 0.3:
                chosen[slot] = source.randrange(bases)
        pairs = [(8 * ((slot + base) % slots), 8 * slot) for slot, base in enumerate(chosen)]
        result.append(statepoint(4 * number + 5, pairs))
    return result


def hand_made_maps():
    """Sections that each show one thing, by name."""
    empty = encode_submap([])
    one = encode_submap([Function(TEXT, 24, [statepoint(9, plain_pairs(0))])])
    details = [
        statepoint(5, plain_pairs(1), id=1),
        statepoint(9, plain_pairs(1, 2), deopt=[constant(-1), spill_slot(16)], id=2),
        statepoint(17, [(0, 8)], convention=8, flags=3, id=2**64 - 1),
        statepoint(21, allocas=[-16, -64], live_outs=[(7, 8), (16, 16)]),
    ]
    kinds = [
        Record(7, 4, [Location(REGISTER, 8, 3, 0), Location(CONSTANT_INDEX, 8, 0, 1)]),
        Record(8, 4, []),
        Record(9, 4, [constant(5), constant(0), constant(0)]),
    ]
    tree = [statepoint(4 * i + 5, plain_pairs(*(n for n in range(24) if n % 7 != i % 7 or n < i))) for i in range(20)]
    return {
        "nothing": b"",
        "empty_map": empty,
        "one_record": one,
        "two_maps": empty + bytes(8) + one,
        "details": encode_submap([Function(TEXT, 40, details)], [1, 2**64 - 1]),
        "kinds": encode_submap([Function(TEXT, 2**64 - 1, kinds)], [1, 2**63]),
        "tree": encode_submap([Function(TEXT, 200, tree)]),
        "changing_bases": encode_submap([Function(TEXT, 128, changing_bases(16, 8, 20))]),
        "no_records": encode_submap([Function(TEXT + 64 * i, 8 * (i % 3), []) for i in range(6)]),
        "discarded": encode_submap([Function(0, 8, [statepoint(4)]), Function(TEXT, 8, [statepoint(4)])]),
        "same_address": encode_submap(
            [Function(TEXT, 8 * i, [statepoint(6, plain_pairs(i)), statepoint(32)]) for i in range(3)]
            + [Function(TEXT + 32, 8, [statepoint(0), statepoint(4)])]
        ),
        "shared_layouts": encode_submap(
            [Function(TEXT + 32 * i, 24, [statepoint(o, plain_pairs(0, 1)) for o in (5, 9)]) for i in range(9)]
        ),
        "far_apart": encode_submap([Function(1 << bit, 8, [statepoint(1)]) for bit in (4, 22, 40, 62)]),
    }


# Random programs that are small, for all that.
SMALL_SEEDS, LARGE_SEEDS = (12, 13, 57, 65, 88, 92, 99, 119), (16, 22, 36, 48)


def random_maps(stackpack, seed, records):
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([stackpack.parent / "tests/oracle/random_program", str(seed), str(records), file.name], check=True)
        return section_bytes(file.read(), ".llvm_stackmaps")


def small_maps(stackpack):
    return hand_made_maps() | {f"random_{seed}": random_maps(stackpack, seed, 24) for seed in SMALL_SEEDS}


def large_maps(stackpack):
    """For packed tables, which are small all the same."""
    maps = {f"random_large_{seed}": random_maps(stackpack, seed, 100) for seed in LARGE_SEEDS}
    many = [Function(TEXT + 64 * i, 8 * (i % 5), [statepoint(9, plain_pairs(i % 11))]) for i in range(1100)]
    return maps | {"many_functions": encode_submap(many)}


# ---- Unwind tables -------------------------------------------------------------------------------------

ABSOLUTE, DATA4, SIGNED4_TO_PLACE, SIGNED2, DATA8 = 0x00, 0x03, 0x1B, 0x0A, 0x04
CODES = {ABSOLUTE: "<Q", DATA4: "<I", 0x0B: "<i", SIGNED2: "<h", DATA8: "<Q", 0x02: "<H", 0x0C: "<q"}


def entry(body, long=False):
    body += bytes(-len(body) % 8)
    return (struct.pack("<IQ", 2**32 - 1, len(body)) if long else struct.pack("<I", len(body))) + body


def cie(encoding, augmentation=b"zR", version=1, data=b""):
    head = struct.pack("<IB", 0, version) + augmentation + b"\0\x01\x78\x10"
    data += bytes([encoding]) if b"R" in augmentation else b""
    return head + (bytes([len(data)]) + data if augmentation else b"")


def number(value, encoding):
    form = CODES[encoding & 0x0F]
    size = struct.calcsize(form)
    return (value % 2 ** (8 * size)).to_bytes(size, "little")


def eh_frame(functions, encoding=SIGNED4_TO_PLACE, address=BASE, cie_body=None, long=False, code=b""):
    section = entry(cie_body or cie(encoding), long)
    head = 16 if long else 8
    for start, size in functions:
        place = len(section) + head
        relative = address + place if encoding & 0x10 else 0
        body = struct.pack("<I", place - 4) + number(start - relative, encoding) + number(size, encoding)
        section += entry(body + b"\0" + code, long)
    return section + bytes(4)


# The rules at a function's start, rsp + 8 among them; then every kind of instruction.
USUAL_RULES = bytes.fromhex("0c0708 9001")
CODE = bytes.fromhex(
    "41 0e10 8302 0a 41 0d06 0201 0c0718 2e20 030100 12067e 137c 0b c3 050402 0603 0703 0803 090403"
    "0401000000 110302 140302 150302 1003027708 16030177 2f0302 0f027708"
)


def unwind_tables():
    functions = [(TEXT + 32 * i, 16 + i) for i in range(3)]
    return {
        "usual": eh_frame(functions),
        "absolute": eh_frame(functions, ABSOLUTE, cie_body=cie(ABSOLUTE, b"")),
        "data4": eh_frame(functions, DATA4),
        "data8": eh_frame(functions, DATA8),
        "signed2_relative": eh_frame([(BASE + 256, 64)], SIGNED2 | 0x10),
        "personality": eh_frame(functions, cie_body=cie(0x1B, b"zPLR", 1, b"\x03" + bytes(4) + b"\x1b")),
        "signal_frame": eh_frame(functions, cie_body=cie(0x1B, b"zRS", 3)),
        "indirect": eh_frame(functions, 0x9B),
        "long_lengths": eh_frame(functions, long=True),
        "unknown_letter": eh_frame(functions, cie_body=cie(0x1B, b"zXR")),
        "instructions": eh_frame(functions, cie_body=cie(SIGNED4_TO_PLACE) + USUAL_RULES, code=CODE),
        "two_cies": eh_frame(functions[:1])[:-4] + eh_frame(functions[1:], address=BASE + 48),
    }


# ---- ELF files -----------------------------------------------------------------------------------------


class Contents:
    """Sections of a file, one after another."""

    def __init__(self, start, base=BASE):
        self.base = base
        self.data = bytearray(start)
        self.headers = [bytes(SECTION)]
        self.names = bytearray(1)
        self.places = {}

    def next_address(self):
        return self.base + len(self.data) + -len(self.data) % 8

    def add(self, name, data, type_=PROGBITS, loaded=True, link=0, info=0, entry_size=0):
        self.data += bytes(-len(self.data) % 8)
        offset = len(self.data)
        address = self.base + offset if loaded else 0
        fields = (len(self.names), type_, 2 if loaded else 0, address, offset, len(data), link, info, 8, entry_size)
        self.headers.append(struct.pack("<IIQQQQIIQQ", *fields))
        self.places[name] = (offset, len(data))
        self.names += name.encode() + b"\0"
        self.data += data

    def segment(self, type_, name, flags=4):
        offset, size = self.places[name]
        address = self.base + offset
        return struct.pack("<IIQQQQQQ", type_, flags, offset, address, address, size, size, 8)

    def finish(self, kind, segments):
        """The whole file: with names and section headers at its end, and these program headers."""
        self.add(".shstrtab", bytes(self.names) + b".shstrtab\0", STRTAB, False)
        headers_at = len(self.data) + -len(self.data) % 8
        data = self.data + bytes(headers_at - len(self.data)) + b"".join(self.headers)
        ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
        fields = (kind, 62, 1, 0, FILE_HEADER, headers_at, 0, FILE_HEADER, SEGMENT, len(segments))
        sections = (SECTION, len(self.headers), len(self.headers) - 1)
        data[:FILE_HEADER] = ident + struct.pack("<HHIQQQIHHHHHH", *fields, *sections)
        segments = b"".join(segments)
        data[FILE_HEADER : FILE_HEADER + len(segments)] = segments
        return bytes(data)


def load_segment(address, size, flags=5, page=4096):
    return struct.pack("<IIQQQQQQ", LOAD, flags, 0, address, address, size, size, page)


STACK_SEGMENT = struct.pack("<IIQQQQQQ", STACK, 6, 0, 0, 0, 0, 0, 16)


def symbol_table(functions, maps_address):
    names = bytearray(1)
    symbols = [bytes(SYMBOL)]
    for start, size in functions:
        symbols.append(struct.pack("<IBBHQQ", len(names), 0x12, 0, 1, start, size))
        names += b"f%x\0" % start
    symbols.append(struct.pack("<IBBHQQ", len(names), 0x10, 0, 2, maps_address, 0))
    return b"".join(symbols), bytes(names) + b"__LLVM_StackMaps\0"


def program(maps, functions, room=True, unwind=True, lead=0, merged=False, roots=0):
    """An executable with one segment. Without room for program headers, the front must grow. Merged, the stack maps
    stand among other data. With roots, it lists so many words one after another as variables with references."""
    contents = Contents(max(FILE_HEADER + SEGMENT * (4 if room else 2), lead))
    contents.add(".text", b"\x90" * 32)
    maps_address = contents.next_address()
    if merged:
        maps_address += 16
        contents.add(".rodata", b"before".ljust(16) + maps + b"behind" * 9)
    else:
        contents.add(".llvm_stackmaps", maps)
    if unwind:
        contents.add(".eh_frame", eh_frame(functions, address=contents.next_address()))
    if roots > 0:
        start = contents.next_address() + 8 * roots
        contents.add("gc_roots", struct.pack(f"<{roots}Q", *(start + 24 * i for i in range(roots))))
        contents.add(".data", bytes(24 * roots))
    loaded = len(contents.data)
    symbols, names = symbol_table(functions, maps_address)
    contents.add(".symtab", symbols, SYMTAB, False, len(contents.headers) + 1, 1, SYMBOL)
    contents.add(".strtab", names, STRTAB, False)
    return contents.finish(EXECUTABLE, [load_segment(BASE, loaded, 7 if roots > 0 else 5), STACK_SEGMENT])


def relative_program(records, relr=False, room=False):
    """A position-independent file: each function's address is a dynamic relocation."""
    functions = [Function(0x10000 + 64 * i, 24, [statepoint(9, plain_pairs(i))] * records) for i in range(5)]
    plain = [function._replace(address=function.address if relr else 0) for function in functions]
    contents = Contents(FILE_HEADER + SEGMENT * (7 if room else 4), 0)
    contents.add(".interp", b"/lib64/ld-linux-x86-64.so.2\0")
    contents.add(".dynsym", bytes(SYMBOL), DYNSYM, True, 3, 1, SYMBOL)
    contents.add(".dynstr", b"\0libc.so.6\0".ljust(64, b"\0"), STRTAB)
    maps_address = contents.next_address() + (48 if relr else 24 * 6)
    places = [maps_address + 16 + 24 * i for i in range(5)]
    if relr:
        table = struct.pack("<6Q", *places, 0x10000)
        contents.add(".relr.dyn", table, RELR, entry_size=8)
    else:
        table = [struct.pack("<QQQ", place, 8, f.address) for place, f in zip(places, functions)]
        contents.add(".rela.dyn", b"".join(table) + struct.pack("<QQQ", 0x10000, 8, 5), RELA, True, 2, 0, 24)
    contents.add(".llvm_stackmaps", encode_submap(plain))
    offset = contents.places[".relr.dyn" if relr else ".rela.dyn"][0]
    tags = [(36, offset), (35, 48), (37, 8)] if relr else [(7, offset), (8, 144), (9, 24), (0x6FFFFFF9, 6)]
    tags += [(5, contents.places[".dynstr"][0]), (6, contents.places[".dynsym"][0]), (22, 0), (30, 12), (0, 0)]
    contents.add(".dynamic", b"".join(struct.pack("<QQ", *tag) for tag in tags), DYNAMIC_SECTION, True, 3)
    segments = [contents.segment(INTERP, ".interp"), load_segment(0, len(contents.data))]
    return contents.finish(SHARED, [*segments, contents.segment(DYNAMIC, ".dynamic"), STACK_SEGMENT])


def programs():
    maps = hand_made_maps()
    functions = [(TEXT, 48), (TEXT + 64, 24)]
    # Records that repeat others are left out: so many of them are long, and their table is short.
    long_maps = encode_submap([Function(TEXT, 24, [statepoint(9, plain_pairs(*range(60)))] * 6)])
    return {
        "layouts": program(maps["shared_layouts"], functions),
        "details": program(maps["details"] + maps["no_records"], functions),
        "kinds": program(maps["kinds"] + maps["same_address"], functions, unwind=False),
        "no_room": program(maps["one_record"], functions, room=False),
        "no_maps": program(b"", functions),
        "cut": program(long_maps, functions, lead=0xE00),
        "cut_no_room": program(long_maps, functions, room=False),
        "roots": program(maps["shared_layouts"], functions, roots=40),
        "merged": program(maps["details"], functions, merged=True),
        "merged_two": program(maps["one_record"] + maps["one_record"], functions, merged=True),
        "merged_long": program(long_maps, functions, merged=True),
        "relative": relative_program(2),
        "relative_room": relative_program(1, room=True),
        "relative_relr": relative_program(2, relr=True),
        "relative_long": relative_program(24),
    }


# ---- Files ---------------------------------------------------------------------------------------------


def packed(stackpack, file):
    """A program, packed. None if that's refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program"
        path.write_bytes(file)
        path.chmod(0o755)
        options = ["--global-roots=gc_roots"] if b"gc_roots" in file else []
        done = subprocess.run([stackpack, "pack", "--always", "--quiet", "--conflicts=omit", *options, path], check=False, capture_output=True)
        return path.read_bytes() if done.returncode == 0 else None


def section_bytes(file, wanted):
    (at,) = struct.unpack_from("<Q", file, 40)
    count, names = struct.unpack_from("<HH", file, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", file, at + SECTION * n) for n in range(count)]
    for name, _, _, _, offset, size, *_ in headers:
        if file.startswith(wanted.encode() + b"\0", headers[names][4] + name):
            return file[offset : offset + size]
    raise ValueError(f"no section {wanted}")


def packed_tables(stackpack):
    for name, maps in (small_maps(stackpack) | large_maps(stackpack)).items():
        if (file := packed(stackpack, program(maps, [(TEXT, 64)]))) is not None:
            yield name, section_bytes(file, ".stackpack")
    yield "roots", section_bytes(packed(stackpack, programs()["roots"]), ".stackpack")


def elf_files(stackpack):
    for name, file in programs().items():
        yield name, file
        if (result := packed(stackpack, file)) is not None:
            yield name + "_packed", result


def kept_files(stackpack):
    """What `pack --keep-raw` wrote, with the packed program after it."""
    for name in ("layouts", "cut", "relative_relr"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program"
            kept = pathlib.Path(folder) / "kept"
            path.write_bytes(programs()[name])
            subprocess.run([stackpack, "pack", "--always", "--quiet", "--keep-raw", kept, path], check=True)
            yield name, kept.read_bytes() + path.read_bytes()


def choices():
    """fuzz_encode's input has no form: any bytes will do."""
    for seed in range(8):
        yield f"random_{seed}", random.Random(seed).randbytes(64 << seed % 5)


SPLIT_SOURCE = """
$shared = comdat any
declare void @collect()
declare token @llvm.experimental.gc.statepoint.p0(i64 immarg, i32 immarg, ptr, i32 immarg, i32 immarg, ...)
define linkonce_odr void @shared() noinline comdat gc "statepoint-example" {
  %p = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 7, i32 0,
      ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0) ["deopt"(i64 81985529216486895, i64 5)]
  ret void
}
define weak void @run() gc "statepoint-example" {
  call void @shared()
  call void @collect()
  ret void
}
"""


def split_files(stackpack, programs):
    """Objects that LLVM makes, and an archive of two."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "source.ll").write_text(SPLIT_SOURCE)
        subprocess.run([programs / "opt", "-passes=rewrite-statepoints-for-gc", "source.ll", "-o", "bc"], cwd=path, check=True)
        kinds = {
            "sections": ["-mtriple=x86_64-linux-gnu", "-function-sections", "-addrsig"],
            "together": ["-mtriple=x86_64-linux-gnu"],
            "aarch64": ["-mtriple=aarch64-linux-gnu", "-function-sections"],
            "riscv": ["-mtriple=riscv64-linux-gnu", "-mattr=+c,+relax"],
        }
        for name, options in kinds.items():
            subprocess.run([programs / "llc", "-filetype=obj", *options, "bc", "-o", name], cwd=path, check=True)
            yield name, (path / name).read_bytes()
        subprocess.run([programs / "llvm-ar", "rcs", "archive", "sections", "together"], cwd=path, check=True)
        yield "archive", (path / "archive").read_bytes()
        subprocess.run([programs / "ld.lld", "-r", "-o", "joined", "sections"], cwd=path, check=True)
        subprocess.run([stackpack, "split", "-q", "-o", "again", "joined"], cwd=path, check=True)
        yield "split", (path / "again").read_bytes()


# The call graph's sources: code, symbols, relocations, a jump table, types, tables of pointers, ways of exceptions.
GRAPH_SOURCE = """
module asm ".section .stackpack.types"
module asm ".quad f0, 7, f1, 7, 0, 8"
@table = constant [2 x ptr] [ptr @f0, ptr @f1]
@hook = global ptr @f1
declare void @qsort(ptr, i64, i64, ptr)
declare i32 @personality(...)
define void @collect() noinline { ret void }
define i32 @f0(ptr %a, ptr %b) {
  ret i32 1
}
define i32 @f1(ptr %a, ptr %b) gc "statepoint-example" {
  call void @collect()
  ret i32 2
}
define internal i32 @choose(i32 %n) noinline {
  switch i32 %n, label %other [ i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %d
    i32 4, label %e ]
a:
  %va = call i32 @f0(ptr null, ptr null)
  ret i32 %va
b:
  %vb = call i32 @f1(ptr null, ptr null)
  ret i32 %vb
c:
  call void @collect()
  ret i32 5
d:
  call void @qsort(ptr @hook, i64 1, i64 8, ptr @f0)
  ret i32 6
e:
  %p = load ptr, ptr @hook
  %ve = tail call i32 %p(ptr null, ptr null)
  ret i32 %ve
other:
  unreachable
}
define i32 @_start(i32 %n, ptr addrspace(1) %kept) gc "statepoint-example" personality ptr @personality {
  %slot = getelementptr [2 x ptr], ptr @table, i32 0, i32 %n
  %p = load ptr, ptr %slot
  %t = call i32 %p(ptr null, ptr null) "statepoint-id"="7"
  %v = invoke i32 @choose(i32 %n) to label %done unwind label %pad
pad:
  %caught = landingpad token cleanup
  call void @collect()
  %w = load i32, ptr addrspace(1) %kept
  ret i32 %w
done:
  ret i32 %v
}
"""


def graph_files(programs):
    """Small programs with code, as lld links them."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)

        def run(program, *arguments):
            subprocess.run([programs / program, *arguments], cwd=path, check=True)

        (path / "source.ll").write_text(GRAPH_SOURCE)
        run("opt", "-passes=rewrite-statepoints-for-gc", "source.ll", "-o", "bc")
        kinds = {
            "program": ("static", ["--defsym=qsort=f0", "--defsym=personality=f0"]),
            "pie": ("pic", ["-pie", "--defsym=qsort=f0", "--defsym=personality=f0", "-z", "pack-relative-relocs"]),
            "library": ("pic", ["-shared", "--build-id"]),
        }
        machines = {"x86_64": [], "aarch64": [], "riscv64": ["-mattr=+m,+a,+f,+d,+c", "-target-abi=lp64d"]}
        for (machine, more), (kind, (model, options)) in itertools.product(machines.items(), kinds.items()):
            name = kind if machine == "x86_64" else f"{machine}_{kind}"
            run("llc", "-filetype=obj", f"-mtriple={machine}-linux-gnu", *more, "-O2", f"-relocation-model={model}", "bc", "-o", "object")
            run("ld.lld", "-z", "notext", "-z", "noseparate-code", "-z", "norelro", "-z", "max-page-size=4096", *options, "object", "-o", name)
            yield name, (path / name).read_bytes()
            run("llvm-strip", name, "-o", "stripped")
            yield name + "_stripped", (path / "stripped").read_bytes()


def policies():
    yield "both", b"# a comment\ngc-entry  heap_allocate_slow\n\n gc-entry safepoint_*\r\nno-gc\ttrace_[a-z]*?\n"
    yield "list", b"collect\nheap_*\n*a*a*a*a*a*b\n"
    yield "no_end", b"no-gc f\\*"
    yield "quoted", b'gc-entry "rt::collect(int, char)"\nno-gc "a b"\n'


def write_corpus(directory, seeds):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for name, data in seeds:
        (directory / name).write_bytes(data)


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit("usage: make_corpus.py STACKPACK [DIRECTORY [LLVM]]")
    stackpack = pathlib.Path(sys.argv[1]).resolve()
    top = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "corpus"
    write_corpus(top / "v3", small_maps(stackpack).items())
    write_corpus(top / "encode", choices())
    write_corpus(top / "packed", packed_tables(stackpack))
    write_corpus(top / "elf", elf_files(stackpack))
    write_corpus(top / "kept", kept_files(stackpack))
    write_corpus(top / "eh_frame", unwind_tables().items())
    write_corpus(top / "policy", policies())
    if len(sys.argv) == 4:
        write_corpus(top / "split", split_files(stackpack, pathlib.Path(sys.argv[3]) / "bin"))
        write_corpus(top / "graph", graph_files(pathlib.Path(sys.argv[3]) / "bin"))


if __name__ == "__main__":
    main()
