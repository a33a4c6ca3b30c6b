#!/usr/bin/env python3
"""Changes one operator, constant or condition of the code at a time, and names the changes that all tests pass.

    mutants.py [--count N] [--seed N] [--folder FOLDER]...

For each change it compiles the file and runs the unit tests, the quick ones first, and then the tests of the command that
the file's folder names below. A test that fails, ends by a signal or takes three times its usual time kills the mutant. A
change that leaves the object file's code as it was isn't a mutant. It works in a copy of the checkout.
"""

import argparse
import collections
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The copy's make and tests have settings of their own: SEED is a variable of the unit tests, too.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "COUNT", "SEED")}
CHANGES = [(r"(?<![<>=!-])<(?![<=])", "<="), (r"(?<![<>])<=", "<"), (r"(?<![<>=-])>(?![>=])", ">="), (r"(?<![<>])>=", ">"),
           (r"==", "!="), (r"!=", "=="), (r"&&", "||"), (r"\|\|", "&&"), (r"(?<=\w )\+(?= \w)", "-"), (r"(?<=\w )-(?= \w)", "+"),
           (r"(?<=\w )\*(?= \w)", "/"), (r"<<", ">>"), (r">>", "<<"), (r"(?<=\w )&(?= \w)", "|"), (r"(?<=\w )\|(?= \w)", "&"),
           (r"(?<=[(=] )!(?=\w)|(?<=\()!(?=\w)", ""), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"(?<![\w.\"])0(?![\w.])", "1"),
           (r"(?<![\w.])1(?![\w.])", "2"), (r"\+\+", "--"), (r"\bcontinue;", "break;"), (r"\bbreak;", ";")]
# Folders of the code, and tests of the command that judge a mutant which the unit tests pass.
FOLDERS = {
    "format": "tests/cli/smoke.sh tests/cli/generated.sh tests/cli/sources-format.sh tests/cli/verify.sh tests/cli/kinds-deopt.sh tests/cli/kinds-derived.sh "
              "tests/cli/stats.sh tests/cli/golden.sh tests/fuzz/regressions.sh tests/oracle/test_oracle.sh",
    "elf": "tests/cli/smoke.sh tests/cli/frames.sh tests/cli/verify.sh tests/cli/unwind-check.sh tests/cli/pack-layouts.sh tests/fuzz/regressions.sh",
    "runtime": "tests/cli/smoke.sh tests/samples/semispace.sh tests/samples/fibers.sh tests/samples/deopt.sh tests/cli/library-threads.sh "
               "tests/cli/library-situations.sh tests/cli/walk-traps.sh tests/cli/walk-ends.sh",
    "tool/calls": "tests/cli/gc-answers.sh tests/cli/gc-calls.sh tests/cli/gc-returns.sh tests/cli/gc-sums.sh tests/cli/gc-tables.sh tests/cli/gc-names.sh "
                  "tests/cli/gc-library.sh tests/cli/gc-leaves.sh tests/cli/gc-types.sh tests/callgraph/program.sh",
}
FOLDERS["tool/code"] = FOLDERS["tool/calls"]
FOLDERS["tool/flow"] = "tests/cli/frames-depths.sh tests/cli/pack-pushed-arguments.sh " + FOLDERS["tool/calls"]


def code_lines(text):
    """The lines that have code, by number; comments and strings are blanked out, positions stay."""
    blank = lambda match: re.sub(r"[^\n]", "~", match[0])
    text = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
    for number, line in enumerate(text.split("\n")):
        if not re.match(r"\s*(#|assert\(|static_assert|_Static_assert|TRACE|ck_|~)", line):
            yield number, line


def candidates(folders):
    for folder in folders:
        for name in sorted(os.listdir(os.path.join(TOP, folder))):
            if not name.endswith(".c"):
                continue
            path = os.path.join(folder, name)
            with open(os.path.join(TOP, path)) as file:
                text = file.read()
            for number, line in code_lines(text):
                for pattern, new in CHANGES:
                    for match in re.finditer(pattern, line):
                        yield path, number, match.start(), match.end(), new


def run(arguments, work, seconds=None):
    """Whether a command succeeds within so many CPU seconds."""
    def limit():
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    try:
        return subprocess.run(arguments, cwd=work, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=limit, timeout=None if seconds is None else 20 * seconds).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def unit_tests(work):
    """The unit tests' programs with limits of CPU seconds, the quick ones first."""
    programs = subprocess.run(["make", "-s", "list-unit-tests"], cwd=work, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    usual = {}
    for program in programs:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not run([os.path.abspath(os.path.join(work, program))], work):
            sys.exit(f"{program} fails without a change")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        usual[program] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [(program, int(3 * usual[program]) + 2) for program in sorted(programs, key=usual.get)]


def judge(path, work, tests, build):
    """The result for a file that was changed."""
    target = f"build/{path[:-2]}.o"
    with open(os.path.join(work, target), "rb") as file:
        before = file.read()
    if not run(build + [target], work):
        return "doesn't compile"
    with open(os.path.join(work, target), "rb") as file:
        if file.read() == before:
            return "same code"
    if not run(build + ["unit-tests"], work):
        return "doesn't compile"
    for program, seconds in tests:
        if not run([os.path.join(work, program)], work, seconds):
            return f"killed by {program}"
    if not run(build + ["test-programs"], work):
        return "doesn't compile"
    folder = os.path.dirname(path)
    names = [name for name in FOLDERS[folder].split() if os.path.exists(os.path.join(work, name))]
    return "survives" if run(["tests/run"] + names, work) else "killed by tests of the command"


def change(path, work, number, start, end, new):
    """Changes a line; returns the file's former text, and the line as it is now."""
    with open(os.path.join(work, path)) as file:
        text = file.read()
    lines = text.split("\n")
    lines[number] = lines[number][:start] + new + lines[number][end:]
    with open(os.path.join(work, path), "w") as file:
        file.write("\n".join(lines))
    return text, lines[number].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", action="append", choices=sorted(FOLDERS))
    options = parser.parse_args()
    chosen = list(candidates(options.folder or ["format", "runtime", "tool/calls", "tool/flow"]))
    random.Random(options.seed).shuffle(chosen)
    build = ["make", "-s", "-j2", "WERROR=", "CFLAGS=-O2"]
    with tempfile.TemporaryDirectory() as folder:
        work = os.path.join(folder, "copy")
        shutil.copytree(TOP, work, ignore=shutil.ignore_patterns("build", ".git"))
        if not run(build + ["test-programs"], work):
            sys.exit("the copy can't be built")
        tests = unit_tests(work)
        counts = collections.Counter()
        for path, number, start, end, new in chosen:
            if counts["killed"] + counts["survives"] >= options.count:
                break
            text, line = change(path, work, number, start, end, new)
            result = judge(path, work, tests, build)
            counts[result.split(" by ", maxsplit=1)[0]] += 1
            print(f"{path}:{number + 1}: {result}: {line}", flush=True)
            with open(os.path.join(work, path), "w") as file:
                file.write(text)
            run(build + [f"build/{path[:-2]}.o"], work)
    print(", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))
    sys.exit(counts["survives"] * 20 > options.count)


if __name__ == "__main__":
    main()
