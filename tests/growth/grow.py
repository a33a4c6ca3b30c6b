#!/usr/bin/env python3
"""grow.py [--short] STACKPACK [KIND...] - whether work and memory stay in proportion to a file's size.

Each kind of file (kinds.py) doubles four times, and each subcommand reads it. It fails where CPU time or memory grows
by more than 2.4 from one size to the next, beyond a floor, or where memory exceeds 60 times the file.

--short: doubles the kinds that were wrong once, and counts instructions by valgrind: these are the same on a machine
that does other things, too.
"""
import os
import re
import resource
import subprocess
import sys
import tempfile

from kinds import KINDS

FACTOR, MEMORY = 2.4, 60
FLOOR_SECONDS, FLOOR_BYTES, FLOOR_INSTRUCTIONS = 0.2, 24 << 20, 8_000_000
SIZES = [64 << 10 << i for i in range(5)]
SHORT_SIZES = [16 << 10, 32 << 10]
SHORT_TIMES = {"place-locations": 8}  # larger files: in smaller ones other work is more
SECONDS_MAX = 60
POLICY = ["--gc-entry=f", "--drop-unreachable"]
COMMANDS = {
    "dump": ["dump"],
    "dump-json": ["dump", "--format=json"],
    "dump-source": ["dump", "--source"],
    "stats": ["stats", "--filter=(f|g)*h"],
    "stats-json": ["stats", "--format=json"],
    "report": ["report", "-o", "OUT"],
    "callgraph": ["callgraph"],
    "callgraph-json": ["callgraph", "--format=json"],
    "lookup": ["lookup"],
    "why": ["why"] + POLICY,
    "pack": ["pack", "--always", "-o", "OUT"],
    "pack-policy": ["pack", "--always"] + POLICY + ["-o", "OUT"],
    "pack-keep": ["pack", "--always", "--keep-raw=OUT.raw", "-o", "OUT"],
    "verify": ["verify"],  # what the command before it has written
    "pack-source": ["pack", "--always", "--source=lines", "-o", "OUT"],
    "pack-roots": ["pack", "--always", "--global-roots=.roots", "-o", "OUT"],
    "split": ["split", "-o", "OUT"],
}
SHORT = {
    "place-locations": ["pack"],
    "jumps-one-table": ["callgraph"],
    "jumps-out": ["callgraph"],
    "jumps-with-more": ["callgraph"],
    "upper-parts-data-riscv64": ["callgraph"],
    "symbols-one-name": ["stats"],
    "relocations-one-table": ["callgraph"],
    "bit-maps-one-table": ["callgraph"],
    "bit-maps-full": ["callgraph"],
    "version-needs": ["callgraph"],
    "imports-one-name": ["pack-policy"],
    "finishers": ["pack-policy"],
    "unwind-one-call-table": ["callgraph"],
    "segments": ["callgraph"],
    "roots": ["pack-roots"],
}


def arguments(stackpack, command, path):
    words = [word.replace("OUT", path + ".out") for word in COMMANDS[command]]
    after = {"why": ["f"], "lookup": ["0x401000"], "verify": [path + ".out"]}.get(command, [])
    return [stackpack] + words + [path] + after


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_MAX, SECONDS_MAX))


def measure(words):
    """CPU seconds, and bytes of memory, of which the floor covers those of this program, as forked."""
    process = subprocess.Popen(["sh", "-c", 'exec "$@"', "sh"] + words, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 2):
        sys.exit("%s: status %d" % (" ".join(words), process.returncode))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


def count(words):
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"] + words,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    return int(re.search(rb"Collected : (\d+)", run.stderr).group(1))


def too_much(before, now, floor):
    return before is not None and now > floor and now > FACTOR * max(before, floor / FACTOR)


def grow(stackpack, kind, folder):
    """Prints a line for each size and command; returns how many are wrong."""
    wrong, before = 0, {}
    for size in SIZES:
        path = os.path.join(folder, "%s.%d" % (kind, size))
        KINDS[kind](size).write(path)
        bytes_ = os.path.getsize(path)
        for command in COMMANDS:
            if command == "pack-roots" and kind != "roots":
                continue
            seconds, memory = measure(arguments(stackpack, command, path))
            last = before.get(command, (None, None))
            is_wrong = (too_much(last[0], seconds, FLOOR_SECONDS) or too_much(last[1], memory, FLOOR_BYTES)
                        or (memory > FLOOR_BYTES and memory > MEMORY * bytes_))
            before[command] = (seconds, memory)
            wrong += is_wrong
            print("%-22s %8d bytes  %-15s %6.2f s %5d MB %5.0f times%s" % (
                kind, bytes_, command, seconds, memory >> 20, memory / bytes_, "  WRONG" if is_wrong else ""), flush=True)
        os.remove(path)
    return wrong


def grow_short(stackpack, kind, folder):
    wrong = 0
    sizes = [size * SHORT_TIMES.get(kind, 1) for size in SHORT_SIZES]
    paths = [os.path.join(folder, "%s.%d" % (kind, size)) for size in sizes]
    for size, path in zip(sizes, paths):
        KINDS[kind](size).write(path)
    for command in SHORT[kind]:
        first, second = [count(arguments(stackpack, command, path)) for path in paths]
        is_wrong = too_much(first, second, FLOOR_INSTRUCTIONS)
        wrong += is_wrong
        print("%-22s %-12s %11d %11d instructions%s" % (kind, command, first, second, "  WRONG" if is_wrong else ""),
              flush=True)
    return wrong


def main():
    words = sys.argv[1:]
    is_short = words[0] == "--short"
    stackpack, kinds = os.path.abspath(words[is_short]), words[is_short + 1:]
    with tempfile.TemporaryDirectory() as folder:
        if is_short:
            wrong = sum(grow_short(stackpack, kind, folder) for kind in kinds or SHORT)
        else:
            wrong = sum(grow(stackpack, kind, folder) for kind in kinds or KINDS)
    sys.exit("%d grow too much" % wrong if wrong else 0)


if __name__ == "__main__":
    main()
