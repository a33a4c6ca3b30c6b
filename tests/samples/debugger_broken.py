"""Run by gdb in the jit sample, after `stackpack process &process`: changes each word on the way to the table of the first frame of added
code, shows the roots, and restores the word: below a line "broken NAME VALUE", the command's answer. At the end they are as before."""
import struct

import gdb

inferior = gdb.selected_inferior()


def word(address):
    return struct.unpack("<Q", bytes(inferior.read_memory(address, 8)))[0]


def write(address, value):
    inferior.write_memory(address, struct.pack("<Q", value))


def show():
    """The answer to the command; its error's line."""
    try:
        gdb.execute("info roots all")
    except gdb.error as error:
        print(error)


def last_up_to(ranges, address):
    """The place of the last range of a list that starts up to an address."""
    places = (ranges + 32 + 24 * number for number in range(word(ranges + 24)))
    return max((place for place in places if word(place) <= address), key=word)


frame = gdb.newest_frame()
while gdb.find_pc_line(frame.pc()).symtab is not None or frame.name() is not None:
    frame = frame.older()
process = int(gdb.parse_and_eval("(unsigned long) &process"))
ranges = word(process + 32)
root = word(ranges + 8 + 8 * (word(ranges) & 1))
leaf_place = last_up_to(root, frame.pc())
leaf = word(leaf_place + 16)
place = last_up_to(leaf, frame.pc())
table = word(place + 16)
packed = word(table)
words = {
    "generation": process, "ranges": process + 32, "version": ranges, "root": ranges + 8 + 8 * (word(ranges) & 1),
    "root's capacity": root + 16, "root's count": root + 24, "leaf": leaf_place + 16, "leaf's count": leaf + 24, "start": place,
    "size": place + 8, "table": place + 16, "bytes": table, "address": table + 8, "magic": packed, "machine": packed + 8,
    "size of the table": packed + 16, "checksum": packed + 24, "text": packed + 32,
}
for name, address in words.items():
    before = word(address)
    for value in sorted({0, 16, before ^ 1 << 40} - {before}):
        print("broken %s %#x" % (name, value))
        write(address, value)
        show()
        write(address, before)
