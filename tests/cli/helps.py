"""helps.py: what the helps of `stackpack` say, for the tests of what must agree with them.

    helps.py STACKPACK commands            its subcommands
    helps.py STACKPACK options COMMAND     the long options of one, each with the short one, if there is one
    helps.py STACKPACK choices COMMAND     options that take one of a few words, and these: as COMMAND's complaint about
                                           another word names them
"""

import re
import subprocess
import sys


def output(*arguments):
    result = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)
    return result.stdout + result.stderr


def commands():
    return re.findall(r"^  ([a-z]+) ", output("--help"), re.MULTILINE)


def options(command):
    """Lists of names; each option begins a line."""
    first = [re.match(r" +(-.*?)(  |$)", line) for line in output(command, "--help").splitlines()]
    return [re.findall(r"(?<![\w-])--?[a-z][a-z-]*", match[1]) for match in first if match]


def choices(command):
    for names in options(command):
        refusal = re.search(rf"{names[-1]} is (.*), not '\?'", output(command, f"{names[-1]}=?", "file", "file"))
        words = re.split(r", | or ", refusal[1]) if refusal else []
        if len(words) > 1 and all(map(str.isalpha, words)):
            yield names[-1], words


if sys.argv[2] == "commands":
    found = commands()
elif sys.argv[2] == "options":
    found = [" ".join(names) for names in options(sys.argv[3])]
else:
    found = [" ".join([name, *words]) for name, words in choices(sys.argv[3])]
if not found and sys.argv[2] != "choices":
    sys.exit("helps.py: nothing found")
for line in found:
    print(line)
