#!/usr/bin/env python3
"""mutate.py STACKPACK LLVM [COUNT [SEED]] - changed files end no command by a crash, and none takes long.

Programs of three machines, with debug info, and files of each kind (kinds.py) are changed at random: a field of a header, of the
section headers, of a table, of the debug info. Each changed file goes to the next subcommand in turn. It fails for a signal, a status
above 2, a report of a sanitizer, 5 seconds of CPU time, or more memory than 60 times the file beyond a floor.
"""
import os
import random
import resource
import subprocess
import sys
import tempfile

from grow import COMMANDS, arguments
from kinds import KINDS

SECONDS_MAX, MEMORY, FLOOR_BYTES = 5, 60, 256 << 20
IR = """
declare ptr addrspace(1) @allocate(i64)
declare void @collect()
define ptr addrspace(1) @f(i64 %n, ptr addrspace(1) %p) gc "statepoint-example" {
  %a = call ptr addrspace(1) @allocate(i64 %n)
  call void @collect()
  store i64 %n, ptr addrspace(1) %a
  %b = call ptr addrspace(1) @f(i64 %n, ptr addrspace(1) %p)
  store i64 %n, ptr addrspace(1) %p
  ret ptr addrspace(1) %b
}
"""
NATIVE = "volatile long x[9]; void collect(void) { x[1]++; } void *allocate(long n) { collect(); return (void *)&x[n % 9]; }"
TRIPLES = ("x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu")
RISCV_OPTIONS = ("-mattr=+m,+a,+f,+d,+c", "-target-abi=lp64d")  # as clang has them
COMMANDS["source"] = ["dump", "--source"]  # here alone: the files of grow.py have no debug info


def run(*words):
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)


def programs(llvm, folder):
    """Paths of programs with stack maps, symbols, unwind tables and debug info."""
    for name, text in (("f.ll", IR), ("native.c", NATIVE)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    at = lambda name: os.path.join(folder, name)
    for triple in TRIPLES:
        run(llvm + "/bin/opt", "-passes=debugify,rewrite-statepoints-for-gc", at("f.ll"), "-o", at("f.bc"))
        run(llvm + "/bin/llc", "-mtriple=" + triple, "-relocation-model=pic", "-filetype=obj", at("f.bc"), "-o", at("f.o"),
            *RISCV_OPTIONS[: 2 * triple.startswith("riscv")])
        run(llvm + "/bin/clang", "--target=" + triple, "-g", "-O1", "-fPIC", "-ffreestanding", "-c", at("native.c"), "-o", at("native.o"))
        for number, options in enumerate((["-static"], ["-pie", "-z", "notext"], ["-shared", "-z", "notext", "-Bsymbolic"])):
            path = at("%s-%d" % (triple, number))
            run(llvm + "/bin/ld.lld", "-e", "f", "-o", path, at("f.o"), at("native.o"), *options)
            yield path


def small_files(folder):
    for kind, make in KINDS.items():
        path = os.path.join(folder, kind)
        make(8 << 10).write(path)
        yield path


VALUES = (0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def places(data, numbers):
    """Where to change: the header, the headers of segments and sections, or anywhere."""
    sections = int.from_bytes(data[40:48], "little")
    choice = numbers.randrange(6)
    if choice == 0:
        return numbers.randrange(16, 64)
    if choice == 1:
        return 64 + numbers.randrange(56 * 8)
    if choice <= 3:
        return sections + numbers.randrange(max(1, len(data) - sections))
    return numbers.randrange(len(data))


def change(data, numbers):
    for _ in range(numbers.choice((1, 1, 2, 4, 16))):
        at = min(places(data, numbers), len(data) - 1)
        size = numbers.choice((1, 1, 2, 4, 8))
        if numbers.randrange(4) == 0:
            data[at] ^= 1 << numbers.randrange(8)
        elif numbers.randrange(3) == 0:  # the bytes of another place
            source = numbers.randrange(len(data))
            data[at : at + size] = data[source : source + size].ljust(size, b"\0")
        else:
            at &= -size
            value = numbers.choice(VALUES) if numbers.randrange(2) else numbers.randrange(2 * len(data))
            data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if numbers.randrange(20) == 0:
        del data[numbers.randrange(1, len(data)) :]


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (4 * SECONDS_MAX, 4 * SECONDS_MAX))


def wrong(words, size):
    """What is wrong with a command's end; None if nothing is."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=limit)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read()
    if process.returncode not in (0, 1, 2) or b"Sanitizer" in text or b"runtime error" in text:
        return "status %d: %s" % (process.returncode, text[-2000:].decode(errors="replace"))
    if usage.ru_utime + usage.ru_stime > SECONDS_MAX:
        return "%.1f s" % (usage.ru_utime + usage.ru_stime)
    memory = usage.ru_maxrss << 10
    return "%d MB" % (memory >> 20) if memory > max(FLOOR_BYTES, MEMORY * size) else None


def main():
    stackpack, llvm = os.path.abspath(sys.argv[1]), sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 10000
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        bases = []
        for path in [*programs(llvm, folder), *small_files(folder)]:
            with open(path, "rb") as file:
                bases.append(file.read())
        path = os.path.join(folder, "changed")
        for number in range(seed, seed + count):
            numbers = random.Random(number)
            data = bytearray(bases[number % len(bases)])
            change(data, numbers)
            with open(path, "wb") as file:
                file.write(data)
            command = list(COMMANDS)[number // len(bases) % len(COMMANDS)]
            words = arguments(stackpack, command, path)
            complaint = wrong(words, len(data))
            if complaint is not None:
                failures += 1
                kept = "mutate.%d" % number
                with open(kept, "wb") as file:
                    file.write(data)
                print("%s: %s: %s" % (kept, " ".join(words[1:]), complaint), flush=True)
        print("%d files from seed %d: %d wrong" % (count, seed, failures))
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
