#!/usr/bin/env python3
"""Packs random programs with GC entries, and compares what was dropped with what generate.py knows of their calls.

    family.py direct|mixed [--rounds N] [--every N] [--first SEED] [--focus KIND] [--machine aarch64|riscv64]

In a folder of its own, for each program:
* In both families, no statepoint may be dropped that the drawn graph needs; in the family `direct` each other one must be.
* The program runs before and after with the same output; and no return address that recorder.c saw on the stack at a GC
  entry may be one that was dropped, nor one that the drawn graph takes for not needed (which would be the generator's error).

* To a collector, a dropped return address is `not a safepoint`, never code that has no stack maps.

In the environment: STACKPACK (the command), LLVM (a prefix), RECORDER (recorder.so), ANSWERS (what answers.c becomes).
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

import generate
import machines

STACKPACK = os.environ["STACKPACK"]
KINDS_OF_RECORDS = ["--statepoints=all"]  # each has an ID of its own, which leaves it in doubt on RISC-V
LLVM = os.environ["LLVM"]
RECORDER = os.environ["RECORDER"]
ANSWERS = os.environ["ANSWERS"]

# The subjects of the family `mixed`, in turn.
def focuses():
    return (
        *(kind for kind in generate.C_KINDS if kind not in generate.DIRECT_KINDS),
        *(kind for kind in generate.MANAGED_KINDS if kind not in generate.DIRECT_KINDS and kind != "table"),
        *generate.CXX_KINDS,
        *generate.asm_kinds(),
        "library", "interposed",
        *(f"{compiler} {' '.join(flags)}" for compiler, choices in generate.unit_flags().items() for flags in choices if flags),
    )  # fmt: skip


class Failure(Exception):
    """What is wrong with a program."""


@dataclasses.dataclass
class Counts:
    records: int = 0
    kept: int = 0
    seen: int = 0  # return addresses
    refused: int = 0  # modules: none of their functions has the name of a GC entry of another module, or a note stands in the way
    not_recorded: int = 0  # programs with code that the unwind tables don't describe

    def __str__(self):
        return (
            f"kept {self.kept} of {self.records} records; {self.seen} return addresses were seen; {self.refused} modules refused;"
            f" {self.not_recorded} programs not recorded"
        )


def compiler(name):
    """The command of a compiler, with its options for the machine."""
    machine = generate.MACHINE
    prefix = machine.gcc if machine else ""
    options = machine.clang_options if machine else []
    return {"gcc": [f"{prefix}gcc"], "g++": [f"{prefix}g++"], "clang": [f"{LLVM}/bin/clang", *options],
            "clang++": [f"{LLVM}/bin/clang++", *options]}[name]  # fmt: skip


def run_program(path, **options):
    return run(*(generate.MACHINE.emulator if generate.MACHINE else []), path, **options)


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", timeout=120,
                            check=False, **options)  # fmt: skip
    if result.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


# ---- This machine's features -----------------------------------------------------------------------------


def can_build(focus):
    """Whether the compiler knows the flags that a program would be about."""
    name, _, flags = focus.partition(" ")
    if focus == "ifunc" and generate.MACHINE:
        flags = "-Werror=attributes"
    elif not flags:
        return True
    try:
        run(*compiler(name if name in ("gcc", "clang") else "gcc"), *flags.split(), "-x", "c", "-c", "/dev/null", "-o", "/dev/null")
    except Failure:
        print(f"left out, as the compiler doesn't know it: {focus}")
        return False
    return True


def use_linker_that_exists(program):
    prefix = generate.MACHINE.gcc if generate.MACHINE else ""
    exists = shutil.which(f"{prefix}ld.{program.linker}") or (not prefix or program.linker == "mold") and shutil.which(program.linker)
    exists = exists and (program.linker, program.focus) not in generate.cannot_link()
    if program.linker != "lld" and not exists:
        program.linker, program.link_flags = "lld", [flag for flag in program.link_flags if flag == "-rdynamic"]


# ---- Building ------------------------------------------------------------------------------------------


def compile_managed(unit, folder, pic):
    source = folder / f"{unit.name}.ll"
    passes = "rewrite-statepoints-for-gc" if unit.flags == ["-O0"] else "default<O2>,rewrite-statepoints-for-gc"
    run(f"{LLVM}/bin/opt", f"-passes={passes}", source, "-o", source.with_suffix(".bc"))
    run(f"{LLVM}/bin/llc", *(generate.MACHINE.llc_options if generate.MACHINE else []), *unit.flags, "-filetype=obj", f"-relocation-model={'pic' if pic else 'static'}", "-function-sections",
        source.with_suffix(".bc"), "-o", source.with_suffix(".o"))  # fmt: skip


def compile_other(unit, folder, pic):
    suffix = {"c": "c", "c++": "cc", "asm": "s"}[unit.language]
    name = {("gcc", "c++"): "g++", ("clang", "c++"): "clang++", ("clang", "c"): "clang"}.get((unit.compiler, unit.language), "gcc")
    model = "-fPIC" if unit.module == "lib" else "-fPIE" if pic else "-fno-pie"
    tables = ["-fasynchronous-unwind-tables"] if generate.MACHINE else []  # by default, not all machines have them
    run(*compiler(name), "-w", model, *tables, *unit.flags, "-c", folder / f"{unit.name}.{suffix}",
        "-o", folder / f"{unit.name}.o")  # fmt: skip


def build(program, folder):
    """Compiles and links; returns the names of the modules."""
    for name, text in generate.write(program).items():
        (folder / name).write_text(text)
    for unit in program.units:
        pic = program.is_pie or unit.module == "lib"
        (compile_managed if unit.language == "managed" else compile_other)(unit, folder, pic)
    run(*compiler("gcc"), "-O1", "-fPIE", "-fasynchronous-unwind-tables", "-c", folder / "main.c", "-o", folder / "main.o")
    noted = [folder / "note.o"] if generate.MACHINE else []
    for file in noted:
        run(*compiler("gcc"), "-O1", "-fPIE", "-fasynchronous-unwind-tables", "-c", pathlib.Path(__file__).with_name("note.c"), "-o", file)
    link = [*compiler("clang"), f"-fuse-ld={program.linker}", "-Wno-unused-command-line-argument"]
    modules = ["app"]
    (folder / "raw").mkdir()
    libraries = ["-ldl", "-lpthread", "-lstdc++" if any(unit.language == "c++" for unit in program.units) else "-lm"]
    if program.has_library():
        modules.append("libcalled.so")
        objects = [folder / f"{unit.name}.o" for unit in program.units if unit.module == "lib"]
        run(*link, "-shared", "-Wl,-z,notext", "-o", folder / "raw/libcalled.so", *objects, *libraries)
        libraries = [folder / "raw/libcalled.so", "-Wl,-rpath,$ORIGIN", *libraries]
    objects = [folder / f"{unit.name}.o" for unit in program.units if unit.module == "app"]
    run(*link, *(["-pie", "-Wl,-z,notext"] if program.is_pie else ["-no-pie"]), *program.link_flags, "-o", folder / "raw/app",
        folder / "main.o", *noted, *objects, *libraries)  # fmt: skip
    return modules


# ---- Looking -------------------------------------------------------------------------------------------


def records(file):
    """{address: id} of the statepoints."""
    lines = run(STACKPACK, "dump", "--format=json", file).splitlines()
    return {record["address"]: record["id"] for record in map(json.loads, lines)}


def symbols(file):
    """{name: address}"""
    lines = (line.split() for line in run(f"{LLVM}/bin/llvm-nm", "--defined-only", file).splitlines())
    return {fields[2]: int(fields[0], 16) for fields in lines if len(fields) == 3}


def recorded(program, folder, modules, counts):
    """{module: return addresses} that were on the stack when a GC entry was entered."""
    places = []
    for module in modules:
        addresses = symbols(folder / "raw" / module)
        for function in program.functions:
            if function.is_entry and (function.unit.module == "app") == (module == "app"):
                places.append(f"{module}:{addresses[function.name]:x}")
    environment = {"RECORD_OUT": str(folder / "seen")}
    if not generate.MACHINE:
        environment |= {"RECORD_AT": ",".join(places), "LD_PRELOAD": RECORDER}
    seen = {module: set() for module in modules}
    try:
        run_program(folder / "raw/app", env={**os.environ, **environment})
    except Failure:
        # Inline thunks change the stack pointer and the unwind tables omit this, or end before them.
        if not any(flag in program.focus for flag in ("thunk-inline", "unwind-tables", "mcmodel=large")):
            raise
        counts.not_recorded += 1
        return seen
    for line in (folder / "seen").read_text().splitlines():
        module, _, address = line.partition(":")
        if module in seen:
            seen[module].add(int(address, 16))
    counts.seen += sum(map(len, seen.values()))
    return seen


def describe(program, ids):
    known = {id: (function, call) for id, function, call in generate.statepoints(program)}
    for id in sorted(ids)[:5]:
        function, call = known[id]
        yield f"  statepoint {id} in {function.name}: {call.kind} to {', '.join(f.name for f in call.targets)}"


def pack(folder, module, options):
    """Whether the module could be packed; it may be refused, as a whole, for a GC entry that it doesn't know, or a note of its own."""
    raw, packed = folder / "raw" / module, folder / "packed" / module
    try:
        run(STACKPACK, "pack", "--always", *options, "-o", packed, raw)
    except Failure as failure:
        if "which is to be a GC entry" not in str(failure) and "no room for more program headers" not in str(failure):
            raise
        shutil.copy(raw, packed)
        return False
    return True


def check_module(program, folder, module, family, seen, counts):
    """Packs a module, and looks at which of its records were kept."""
    raw = records(folder / "raw" / module)
    options = [f"--gc-entry={function.name}" for function in program.functions if function.is_entry] + KINDS_OF_RECORDS
    if not pack(folder, module, options):
        counts.refused += 1
        return
    kept = records(folder / "packed" / module)
    counts.records, counts.kept = counts.records + len(raw), counts.kept + len(kept)
    expected = generate.needed(program)
    command = f"pack {' '.join(options)}"
    if set(kept.items()) - set(raw.items()):
        raise Failure(f"{module}: {command} invents records")
    asked = "".join(f"{address:x}\n" for address in raw)
    answers = dict(zip(raw, run(ANSWERS, folder / "packed" / module, input=asked).splitlines()))
    wrong = [f"{a:#x} {answers[a]}" for a in raw if answers[a] != ("found" if a in kept else "not a safepoint")]
    if wrong:
        raise Failure(f"{module}: {command} leaves wrong answers: {wrong[:5]}")
    lost = {id for address, id in raw.items() if id in expected and address not in kept}
    if lost:
        raise Failure("\n".join([f"{module}: {command} drops what is needed:", *describe(program, lost)]))
    if not (seen & raw.keys()) <= kept.keys():
        raise Failure(f"{module}: dropped, but seen on the stack: {[hex(a) for a in sorted(seen & raw.keys() - kept.keys())]}")
    strange = {raw[address] for address in seen & raw.keys()} - expected
    if strange:
        raise Failure("\n".join(["the generator's truth is wrong: seen on the stack:", *describe(program, strange)]))
    superfluous = {id for address, id in kept.items() if id not in expected}
    if family == "direct" and superfluous:
        raise Failure("\n".join([f"{module}: {command} keeps what isn't needed:", *describe(program, superfluous)]))
    if family == "direct":
        check_unreachable(program, folder, module, raw, options)


def check_unreachable(program, folder, module, raw, options):
    """With --drop-unreachable, what is in functions that nothing reaches is dropped as well, and no more.

    A computed goto's labels are addresses in data, by which its function might be entered: such a program may keep more. And so may
    one for RISC-V, whose data are so near that the upper part of an address may be that of a function.
    """
    has_labels = any(call.kind == "goto" for function in program.functions for call in function.calls)
    may_keep_more = has_labels or (generate.MACHINE is not None and generate.MACHINE.name == "riscv64")
    for with_entries in (True, False):
        run_at_all = generate.reachable(program, with_entries)
        expected = {id for id, function, _ in generate.statepoints(program) if function.number in run_at_all}
        more = options if with_entries else []
        if with_entries:
            expected &= generate.needed(program)
        run(STACKPACK, "pack", "--always", "--drop-unreachable", *more, "-o", folder / "other", folder / "raw" / module)
        kept = set(records(folder / "other").values())
        wanted = expected & set(raw.values())
        if not wanted <= kept or (kept != wanted and not may_keep_more):
            raise Failure("\n".join([f"{module}: pack --drop-unreachable {' '.join(more)} drops wrongly:", *describe(program, wanted - kept),
                                     f"{module}: keeps wrongly:", *describe(program, kept - wanted)]))  # fmt: skip


def check(program, folder, family, counts):
    modules = build(program, folder)
    (folder / "packed").mkdir()
    seen = recorded(program, folder, modules, counts)
    for module in modules:
        check_module(program, folder, module, family, seen[module], counts)
    if run_program(folder / "packed/app") != run_program(folder / "raw/app"):
        raise Failure("another output when packed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("family", choices=("direct", "mixed"))
    parser.add_argument("--rounds", type=int, help="how many programs (default: one for each focus)")
    parser.add_argument("--every", type=int, default=1, help="of these rounds, one in N")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--focus", help="only programs about this")
    parser.add_argument("--machine", choices=machines.MACHINES)
    arguments = parser.parse_args()
    generate.MACHINE = machines.MACHINES.get(arguments.machine)
    chosen = (arguments.focus,) if arguments.focus else ("",) if arguments.family == "direct" else focuses()
    chosen = tuple(filter(can_build, chosen))
    rounds = arguments.rounds or len(chosen)
    failures, counts = 0, Counts()
    for seed in range(arguments.first, arguments.first + rounds, arguments.every):
        focus = chosen[seed % len(chosen)]
        program = generate.draw(seed, arguments.family, focus)
        use_linker_that_exists(program)
        folder = pathlib.Path(f"program-{seed}").resolve()
        folder.mkdir()
        try:
            check(program, folder, arguments.family, counts)
            shutil.rmtree(folder)
        except Failure as failure:
            failures += 1
            print(f"seed {seed}{f', about {focus!r}' if focus else ''}, {program.linker}{', PIE' if program.is_pie else ''}: {failure}")
    print(f"{len(range(0, rounds, arguments.every))} programs, {failures} failed; {counts}")
    if not failures and arguments.every == 1 and counts.kept == counts.records:
        print("nothing was ever dropped: these programs show nothing")
        failures = 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
