"""Run by gdb in a collection: prints what the library tells the collector, until the breakpoint at the function LAST: a line
"frame PC" for each managed frame that a walk comes to, and one for each of its roots, as debugger.sh rewrites the output of `info roots`:
"root PC PLACE VALUE BASE". In walks of stacks that no thread is on, of suspended fibers, the lines start with "suspended".

The arguments are read from the registers.
"""
import os
import struct

import gdb

MACHINES = {"i386:x86-64": ("rdi rsi rdx rcx", "rax"), "aarch64": ("x0 x1 x2 x3", "x0")}
arguments, result = MACHINES[gdb.selected_frame().architecture().name()]
MANAGED = 0  # enum stackpack_walk_answer


def words(address, count):
    return struct.unpack("<%dQ" % count, bytes(gdb.selected_inferior().read_memory(address, 8 * count)))


def registers(names):
    return [int(gdb.selected_frame().read_register(name)) & 0xFFFFFFFFFFFFFFFF for name in names.split()]


def stack_pointers():
    selected = gdb.selected_thread()
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        yield int(gdb.newest_frame().read_register("sp"))
    selected.switch()


def print_frame(walk, mark):
    """Calls stackpack_walk_root: a collector that moves objects calls stackpack_walk_update, which tells less."""
    pc, = words(walk, 1)
    print("%sframe %#x" % (mark, pc))
    root = int(gdb.selected_frame().read_register("sp")) - 4096 & -16
    call = "((unsigned char (*)(unsigned long, unsigned long)) stackpack_walk_root)(%d, %d)" % (walk, root)
    while has_roots and int(gdb.parse_and_eval(call)):
        _, place, base, value = words(root, 4)
        print("%sroot %#x %#x %#x %#x" % (mark, pc, place, value, base))


def is_linked(function):
    try:
        return bool(gdb.execute("info address " + function, to_string=True))
    except gdb.error:
        return False


def finish():
    """Goes on until the function returns, of which gdb may take the start for that of a function that is inlined there."""
    frame = gdb.newest_frame()
    while frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    frame.select()
    gdb.execute("finish", to_string=True)


START, RESUME, NEXT = (int(gdb.parse_and_eval("(unsigned long) &stackpack_walk_" + name)) for name in ("start", "resume", "next"))
BOUNDS = {START: slice(2, 4), RESUME: slice(1, 3)}  # the arguments that are a stack's bounds
has_roots = is_linked("stackpack_walk_root")  # it isn't in a program without references
pointers = list(stack_pointers())
mark = ""
gdb.execute("set scheduler-locking on")
for address in ["&" + os.environ["LAST"], START, RESUME, NEXT]:
    gdb.Breakpoint("*%s" % address)
while True:
    gdb.execute("continue", to_string=True)
    function, values = gdb.selected_frame().pc(), registers(arguments)
    if function in BOUNDS:
        low, end = values[BOUNDS[function]]
        mark = "" if any(low <= pointer < end for pointer in pointers) else "suspended "
    elif function == NEXT:
        finish()
        if registers(result)[0] & 0xFFFFFFFF == MANAGED:
            print_frame(values[0], mark)
    else:
        break
