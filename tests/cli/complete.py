"""complete.py bash|zsh SETUP LINE...: what an interactive shell makes of each line when all completions are inserted.

The shell runs at a terminal of its own and reads SETUP at its start, which binds Ctrl-X * to "insert all completions".
Each line is typed, then that key, and then the line becomes the arguments of a printf. Prints the words, one a line,
and an empty line after each line's.
"""

import os
import pty
import select
import sys
import time

PROMPT = b"READY>"


class Terminal:
    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.text = b""

    def read_until(self, end):
        """What comes before `end`, which is taken, too."""
        deadline = time.monotonic() + 120
        while end not in self.text:
            ready, _, _ = select.select([self.descriptor], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                sys.exit(f"complete.py: no answer but {self.text!r}")
            self.text += os.read(self.descriptor, 4096)
        before, _, self.text = self.text.partition(end)
        return before


def start(shell, setup):
    child, terminal = pty.fork()
    if child != 0:
        return Terminal(terminal)
    os.environ["TERM"] = "dumb"
    os.environ["COLUMNS"] = "200"
    if shell == "bash":
        os.execvp("bash", ["bash", "--noprofile", "--rcfile", setup, "-i"])
    os.environ["ZDOTDIR"] = setup
    os.execvp("zsh", ["zsh", "--no-globalrcs", "-i"])


def main():
    shell, setup, *lines = sys.argv[1:]
    terminal = start(shell, setup)
    for line in lines:
        terminal.read_until(PROMPT)
        # The markers are typed as escapes, so that the line's echo lacks them.
        os.write(terminal.descriptor, line.encode() + b"\x18*" + b"\x01printf '\\002%s\\003' \x05; printf '\\004'\r")
        printed = terminal.read_until(b"\x04").decode()
        for word in printed.split("\x02")[1:]:
            print(word.split("\x03")[0])
        print()


main()
