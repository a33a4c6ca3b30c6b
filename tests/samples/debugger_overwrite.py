"""Run by gdb in a process: overwrites the stack from some place on, in many ways, and has it back after each; prints the last line of
`info roots all`, and each line of it and of `backtrace` that Python has a part in."""
import random
import struct

import gdb

SIZE = 3000
inferior = gdb.selected_inferior()
stack_pointer = int(gdb.newest_frame().read_register("sp")) & 0xFFFFFFFFFFFFFFFF
chance = random.Random(1)
near = lambda: stack_pointer + chance.randrange(-64, SIZE) * 8  # a frame may seem to be there
FILLS = [lambda: 0, lambda: 0x4141414141414141, lambda: stack_pointer, lambda: near() + 5, near, lambda: chance.getrandbits(64)]

for number in range(60):
    start = stack_pointer + chance.choice([0, 8, 40, 200, 1000])
    before = bytes(inferior.read_memory(start, SIZE))
    fill = FILLS[number % len(FILLS)]
    inferior.write_memory(start, struct.pack("<%dQ" % (SIZE // 8), *(fill() for _ in range(SIZE // 8))))
    gdb.execute("maintenance flush register-cache", to_string=True)
    roots = gdb.execute("info roots all", to_string=True).splitlines()
    try:
        backtrace = gdb.execute("backtrace", to_string=True).splitlines()
    except gdb.error as error:
        backtrace = ["Error: %s" % error]
    print("overwritten %d: %s" % (number, roots[-1]))
    print("\n".join(line for line in roots + backtrace if "Python" in line or "Error" in line))
    inferior.write_memory(start, before)
gdb.execute("maintenance flush register-cache", to_string=True)
