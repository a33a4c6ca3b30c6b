"""helps.py: what the helps of `stackpack` say, for the tests of what must agree with them.

    helps.py STACKPACK commands            its subcommands
    helps.py STACKPACK options COMMAND     the long options of one, each with the short one, if there is one
    helps.py STACKPACK choices COMMAND     options that take one of a few words, and these: as COMMAND's complaint about
                                           another word names them
    helps.py STACKPACK listed              each option with each command that has it, of the options that have a list of
                                           commands in the manual page on standard input
    helps.py STACKPACK manual              the same by these lists
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


def manual():
    """The options with a list of commands, each with one of these."""
    entries = re.findall(r"^\.TP\n\.B[IR]* (.*)\n\(([a-z, ]+)\)", sys.stdin.read().replace("\\-", "-"), re.MULTILINE)
    return {(re.search(r"--[a-z-]+", names)[0], command)
            for names, listed in entries if listed != "all commands" for command in listed.split(", ")}


def listed():
    """The same by the helps."""
    with_list = {option for option, command in manual()}
    return {(names[-1], command) for command in commands() for names in options(command) if names[-1] in with_list}


if sys.argv[2] == "manual":
    found = sorted(map(" ".join, manual()))
elif sys.argv[2] == "listed":
    found = sorted(map(" ".join, listed()))
elif sys.argv[2] == "commands":
    found = commands()
elif sys.argv[2] == "options":
    found = [" ".join(names) for names in options(sys.argv[3])]
else:
    found = [" ".join([name, *words]) for name, words in choices(sys.argv[3])]
if not found and sys.argv[2] != "choices":
    sys.exit("helps.py: nothing found")
for line in found:
    print(line)
