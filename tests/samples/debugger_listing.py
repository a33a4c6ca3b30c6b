"""Run by gdb in a collection: prints each root that the library gives the collector, a line each, until the walk has ended.

A line is the return address, the root's place, its value and that of its base: as debugger.sh rewrites what `info roots` prints.
x86-64: the arguments of stackpack_walk_root are in rdi (the walk, whose context begins with the return address) and rsi (the root).
"""
import struct

import gdb


def words(address, count):
    return struct.unpack("<%dQ" % count, bytes(gdb.selected_inferior().read_memory(address, 8 * count)))


def register(name):
    return int(gdb.selected_frame().read_register(name)) & 0xFFFFFFFFFFFFFFFF


end = gdb.Breakpoint("copier_finish")
start = gdb.Breakpoint("stackpack_walk_root")
while True:
    gdb.execute("continue", to_string=True)
    if end.hit_count:
        break
    walk, root = register("rdi"), register("rsi")
    gdb.execute("finish", to_string=True)
    if register("rax") & 0xFF:
        place, base_value, value = words(root + 8, 3)
        print("root %#x %#x %#x %#x" % (words(walk, 1)[0], place, value, base_value))
