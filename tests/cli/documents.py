#!/usr/bin/env python3
"""documents.py FILE.md: writes the files and runs the commands of a document, in the current folder, in their order.

A fenced block of `sh` is a script. One of `console` has commands after `$ `, and what they print: a line `...` stands for
any lines, and `...` in a line for any text, and blanks for any blanks. Commands
succeed; of a block after a comment <!-- exit status N --> the last one has that status. Any other block is written to a file, if the line before it ends with that
file's name in backquotes and a colon: `name`: . A comment <!-- not run: REASON --> before a block leaves it out; blocks of
`text`, and those that are neither, are there to be read.
"""
import re
import subprocess
import sys

BLANKS = re.compile(r"(\\ )+")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def run(script):
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout


def pattern(expected):
    """A regular expression for what a command prints."""
    lines = []
    for line in expected.splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(".*?".join(BLANKS.sub(" +", re.escape(part)) for part in line.rstrip().split("...")) + r"[ ]*\n")
    return re.compile("".join(lines) + r"\Z")


def console(text, place, expected_status):
    steps = re.split(r"^\$ ", text, flags=re.M)
    assert steps[0] == "", f"{place}: output without a command"
    for step in steps[1:]:
        command = re.match(r"(?:.*\\\n)*.*\n", step).group()
        expected = step[len(command):]
        status, printed = run(command)
        if status != (expected_status if step is steps[-1] else 0) or not pattern(expected).match(printed):
            sys.exit(f"{place}: $ {command}printed, with status {status}:\n{printed}instead of:\n{expected}")


def main(path):
    text = open(path, encoding="utf-8").read()
    count = 0
    for block in BLOCK.finditer(text):
        language, body = block.groups()
        place = f"{path}:{text.count(chr(10), 0, block.start()) + 1}"
        before = text[:block.start()].rstrip().rsplit("\n", 1)[-1]
        name = re.search(r"`([\w.-]+)`:$", before)
        if re.search(r"<!-- not run: .+ -->$", before):
            continue
        if language == "console":
            status = re.search(r"<!-- exit status (\d+) -->$", before)
            console(body, place, int(status.group(1)) if status else 0)
        elif language == "sh":
            status, printed = run(body)
            if status != 0:
                sys.exit(f"{place}: status {status}:\n{printed}")
        elif name:
            with open(name.group(1), "w", encoding="utf-8") as file:
                file.write(body)
        else:
            continue
        count += 1
    print(f"{path}: {count} blocks")
    if count == 0:
        sys.exit(f"{path}: nothing was run")


main(sys.argv[1])
