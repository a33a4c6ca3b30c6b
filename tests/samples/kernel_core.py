"""kernel_core.py CORE: rewrites a core of gdb's as the kernel writes one, notes first, no sections: a part of it is a core, too."""
import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
NOTE = 4
count = struct.unpack_from("<H", data, 56)[0]
segments = [list(struct.unpack_from("<IIQQQQQQ", data, 64 + 56 * number)) for number in range(count)]  # type, flags, offset, ...
note = next(segment for segment in segments if segment[0] == NOTE)
notes = data[note[2]:note[2] + note[5]]
start = 64 + 56 * count
for segment in segments:
    segment[2] = start if segment is note else segment[2] + len(notes)
with open(sys.argv[1], "wb") as file:
    file.write(data[:40] + bytes(8) + data[48:58] + bytes(6))  # no section headers
    file.write(b"".join(struct.pack("<IIQQQQQQ", *segment) for segment in segments))
    file.write(notes + data[start:])
