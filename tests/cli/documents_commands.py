#!/usr/bin/env python3
"""documents_commands.py FOLDER PAGE...: runs the command lines of documents (.md) and manual pages, each block of them as one
script in a fresh copy of FOLDER. Every command must succeed.

A block is what is indented or fenced (sh, console) in a document, and what stands between .nf and .fi in a manual page. It
has commands if one of its lines begins with `$ ` or with a command that COMMANDS knows. With `$ `, the other lines are
output, which isn't compared; without, all lines are one script.
"""
import os
import re
import shutil
import subprocess
import sys

COMMANDS = {"./install-deps.sh", "cc", "clang", "export", "gcc", "ld.lld", "llc", "make", "opt", "stackpack", "stackpack-ld"}

# As on a machine where stackpack is installed in /usr/local: GNU ld, gcc's linker, looks there, and lld doesn't. `make` runs a Makefile in the folder, or else prints the project's commands (a
# dry run).
PRELUDE = r"""
sudo() { [[ $(id -u) != 0 ]] && "$@"; } # a bare system's root lacks it
ldconfig() { :; }
cc() { command cc "$@" -L"$INSTALLED/lib"; }
gcc() { command gcc "$@" -L"$INSTALLED/lib"; }
command -v llvm-bolt >/dev/null || llvm-bolt() { cp app app.bolt; } # install-deps.sh leaves it out
make() {
  if [[ -e Makefile ]]; then command make "$@"; else command make -n -C "$TOP" BUILD="$BUILD" LLVM="$LLVM" "$@"; fi
}
"""


def blocks_of_document(text):
    """(number of its first line, lines) of each block."""
    lines, language = [], None
    for number, line in enumerate(text.splitlines() + [""], 1):
        fence = re.match(r"```(\w*)$", line)
        if language is None and line.startswith("    "):
            lines.append(line[4:])
            continue
        if language is not None and not fence:
            lines.append(line)
            continue
        if lines and language in (None, "sh", "console"):
            yield number - len(lines), lines
        lines = []
        if fence:
            language = fence.group(1) if language is None else None


def blocks_of_manual(text):
    lines = None
    for number, line in enumerate(text.splitlines(), 1):
        if line == ".nf":
            lines = []
        elif line == ".fi":
            yield number - len(lines), lines
            lines = None
        elif lines is not None:
            lines.append(re.sub(r"\\([-e&])", lambda escape: {"-": "-", "e": "\\", "&": ""}[escape.group(1)], line))


def script_of(lines):
    """The commands of a block, or None if it has none."""
    if any(line.startswith("$ ") for line in lines):
        return "\n".join(line[2:] for line in lines if line.startswith("$ "))
    if any(line.split() and line.split()[0] in COMMANDS for line in lines):
        return "\n".join(lines)
    return None


def run(script, folder, name):
    """What the script printed, if it failed, or None."""
    shutil.rmtree("copy", ignore_errors=True)
    shutil.copytree(folder, "copy", symlinks=True)
    if name == "README.md":
        os.remove("copy/Makefile")
    script = script.replace("/usr/local/", os.environ["INSTALLED"] + "/")
    script = re.sub(r"(?<!\+)\b0x[0-9a-f]+", os.environ["ADDRESS"], script)
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", PRELUDE + script], cwd="copy", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return f"status {done.returncode}:\n{done.stdout}" if done.returncode != 0 else None


def main(folder, pages):
    for page in pages:
        name, count = os.path.basename(page), 0
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for number, lines in blocks_of_document(text) if name.endswith(".md") else blocks_of_manual(text):
            script = script_of(lines)
            if script is not None:
                count += len(script.splitlines())
                said = run(script, folder, name)
                if said is not None:
                    sys.exit(f"{page}:{number}:\n{script}\n{said}")
        print(f"{name}: {count} lines of commands")


main(sys.argv[1], sys.argv[2:])
