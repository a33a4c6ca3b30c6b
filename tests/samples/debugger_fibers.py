"""Run by gdb in the fibers sample, in a process or a core: prints the roots of each suspended fiber, by the command `info roots at`
with the saved context, below the command's line. A build for another machine lacks debug information: so the structures are words.
"""
import struct

import gdb

# The callee-saved registers of a struct context, in its order, and the number of its floating-point ones: see context.h.
MACHINES = {
    "i386:x86-64": ("rbp rbx r12 r13 r14 r15".split(), 0),
    "aarch64": (["x29"] + ["x%d" % number for number in range(19, 29)], 8),
}
names, floats = MACHINES[gdb.selected_frame().architecture().name()]
SUSPENDED = 2  # enum fiber_state


def words(address, count):
    return struct.unpack("<%dQ" % count, bytes(gdb.selected_inferior().read_memory(address, 8 * count)))


def show(context):
    pc, stack_pointer, *saved = ("%#x" % word for word in context)
    line = " ".join(["info roots at", pc, stack_pointer, *map("=".join, zip(names, saved))])
    print(line)
    gdb.execute(line)


fibers, count = words(int(gdb.parse_and_eval("(unsigned long) &all")), 2)
for fiber in words(fibers, count):
    context, rest = 2 + len(names), floats + 2  # the stack's bounds
    fiber_words = words(fiber, context + rest + 1)
    if fiber_words[-1] & 0xFFFFFFFF == SUSPENDED:
        show(fiber_words[:context])
