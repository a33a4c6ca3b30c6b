"""stackpack.py - the roots of managed frames, in gdb.

For example, in a program that is stopped in a collection:

    (gdb) source /usr/share/stackpack/gdb/stackpack.py
    (gdb) info roots all
    #4  trees_run at 0x401a52: 2 references
        [rsp+8]    0x4c3f18  readable
        [rsp+16]   0x4c3f30  derived from [rsp+8], at +24
    #5  stack_run at 0x4023b0: not managed

Commands:

    info roots               the selected frame's
    info roots all [THREAD]  those of all frames of a thread
    stackpack frame          the selected frame's record, as `stackpack lookup` prints it, and its roots

They work in a process and in a core, with packed and raw stack maps, stripped or not. gdb unwinds the stack; the stack maps
are read from the modules' files by `stackpack lookup` (or the command that the variable STACKPACK names), once for all frames
of a module. A register of an outer frame has the value that gdb's unwinder found, which is its saved one.

A frame that waits for a call has a record at its return address. The innermost frame, and one that a signal interrupted, wait for
none.
"""
import json
import os
import struct
import subprocess

import gdb

REGISTERS = {  # by DWARF's numbers
    "i386:x86-64": "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15".split(),
    "aarch64": [f"x{i}" for i in range(31)] + ["sp"],
    "riscv:rv64": "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6".split(),
}

EXPLANATIONS = {
    "not managed": "no function with stack maps is here: a walk goes on by unwind tables (stackpack_unwind.h), or ends as its caller says",
    "not a safepoint": "the function has stack maps, and none for this address: `pack` dropped it by its policy (see `stackpack why`), or "
                       "the call was compiled without a statepoint. A walk stops here",
    "not at a call": "only a frame that waits for a call has a record: go up, or on to a call",
}
WORD = (1 << 64) - 1


def link_addresses(path):
    """The sections' names and addresses in a 64-bit little-endian ELF file."""
    with open(path, "rb") as file:
        header = file.read(64)
        if header[:6] != b"\x7fELF\x02\x01":
            raise gdb.GdbError(f"{path}: no 64-bit little-endian ELF file")
        place, = struct.unpack_from("<Q", header, 40)
        size, count, names = struct.unpack_from("<HHH", header, 58)
        file.seek(place)
        table = file.read(size * count)
        if size < 64 or len(table) < size * count or names >= count:
            raise gdb.GdbError(f"{path}: no section headers, by which gdb would say where it is loaded")
        headers = [struct.unpack_from("<IIQQQQ", table, size * i) for i in range(count)]
        file.seek(headers[names][4])
        texts = file.read(headers[names][5])
        return {texts[name:texts.find(b"\0", name)].decode(errors="replace"): address for name, _, _, address, _, _ in headers}


class Modules:
    """The modules of the process or core: the file of an address, and the distance of memory from file."""

    def __init__(self):
        program = gdb.current_progspace().filename
        self.ranges, self.distances = [], {}
        for line in gdb.execute("info files", to_string=True).splitlines():
            words = line.split()
            if len(words) < 5 or words[1] != "-" or words[3] != "is":
                continue
            path = line.split(" in ", 1)[1].strip() if " in " in line else program
            if path is not None and os.path.isfile(path):
                self.ranges.append((int(words[0], 16), int(words[2], 16), words[4], path))

    def find(self, pc):
        """(the file, the address in it), or None."""
        for start, end, name, path in self.ranges:
            if start <= pc < end:
                if path not in self.distances:
                    self.distances[path] = start - link_addresses(path).get(name, start)
                return path, (pc - self.distances[path]) & WORD
        return None


def ask(path, addresses, text=False):
    """The lines of `stackpack lookup` for a file's addresses; none where the file has no stack maps."""
    command = [os.environ.get("STACKPACK", "stackpack"), "lookup", "--format=" + ("text" if text else "json"), path]
    try:
        done = subprocess.run(command, input="\n".join(f"{address:x}" for address in addresses), capture_output=True, text=True)
    except OSError as error:
        raise gdb.GdbError(f"{command[0]}: {error.strerror}; STACKPACK=PROGRAM names another one")
    return done.stdout.splitlines()


class Frame:
    """A frame that isn't inlined, and the answer for its return address."""

    def __init__(self, frame, waits):
        self.frame, self.waits, self.answer = frame, waits, None
        self.place = None  # the file, and the address in it

    def title(self):
        return f"#{self.frame.level():<3}{self.frame.name() or '??'} at {self.frame.pc():#x}"

    def value_of(self, location):
        """The value, or None where it can't be read."""
        kind = location["kind"]
        if kind in ("constant", "large constant"):
            return location["value"] & WORD
        try:
            names = REGISTERS[self.frame.architecture().name()]
            register = int(self.frame.read_register(names[location["register"]])) & WORD
            if kind == "register":
                return register
            address = (register + location["offset"]) & WORD
            return address if kind == "direct" else read_word(address, location["size"])
        except (KeyError, IndexError, gdb.error):
            return None

    def text_of(self, location):
        if location["kind"] in ("constant", "large constant"):
            return str(location["value"])
        names = REGISTERS.get(self.frame.architecture().name(), [])
        number = location["register"]
        name = names[number] if number < len(names) else f"r{number}"
        if location["kind"] == "register":
            return name
        place = f"{name}{location['offset']:+}"
        return f"[{place}]" if location["kind"] == "indirect" else place

    def roots(self):
        """(location, value, base's location, base's value) of each pair."""
        for record in (self.answer or {}).get("records", []):
            for pair in record["gc"]:
                base, derived = pair["base"], pair["derived"]
                yield derived, self.value_of(derived), base, self.value_of(base)

    def without_record(self):
        """The answer for a frame that has no record."""
        return (self.answer or {}).get("answer", "not managed") if self.waits else "not at a call"


def read_word(address, size):
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, min(size, 8))), "little")


def plausible(value):
    if value is None:
        return "can't be read"
    if value == 0:
        return "null"
    try:
        gdb.selected_inferior().read_memory(value, 1)
        return "readable"
    except gdb.error:
        return "not mapped"


def frames_from(frame, everything):
    """The frame, and with everything those above it. A frame waits for a call if a call made the one below."""
    frames = []
    while frame is not None:
        if frame.type() != gdb.INLINE_FRAME:
            below = frame.newer()
            while below is not None and below.type() == gdb.INLINE_FRAME:
                below = below.newer()
            frames.append(Frame(frame, below is not None and below.type() != gdb.SIGTRAMP_FRAME and
                                frame.type() != gdb.SIGTRAMP_FRAME))
            if not everything:
                break
        frame = frame.older()
    return frames


def look_up(frames):
    """Gives each frame its answer, with one command for each file."""
    modules, wanted = Modules(), {}
    for frame in frames:
        frame.place = modules.find(frame.frame.pc())
        if frame.waits and frame.place is not None:
            wanted.setdefault(frame.place[0], []).append(frame)
    for path, waiting in wanted.items():
        for frame, line in zip(waiting, ask(path, [frame.place[1] for frame in waiting])):
            frame.answer = json.loads(line)


def print_frame(frame):
    roots = list(frame.roots())
    if "records" not in (frame.answer or {}):
        print(f"{frame.title()}: {frame.without_record()}")
        return
    plural = "" if len(roots) == 1 else "s"
    print(f"{frame.title()}: {len(roots)} reference{plural}")
    for location, value, base, base_value in roots:
        text = "?" if value is None else f"{value:#x}"
        note = plausible(value)
        if location != base:
            distance = "" if None in (value, base_value) else f", at {value - base_value:+}"
            note = f"derived from {frame.text_of(base)}{distance}"
        print(f"    {frame.text_of(location):<10} {text}  {note}")


def selected_frame():
    """The selected frame; the physical one of an inlined one."""
    frame = gdb.selected_frame()
    while frame.type() == gdb.INLINE_FRAME and frame.older() is not None:
        frame = frame.older()
    frames = frames_from(frame, False)
    look_up(frames)
    return frames[0]


def print_all(words):
    thread, selected = gdb.selected_thread(), gdb.selected_frame()
    try:
        if words:
            gdb.execute(f"thread {words[0]}", to_string=True)
        frames = frames_from(gdb.newest_frame(), True)
        look_up(frames)
        for frame in frames:
            print_frame(frame)
    finally:
        if thread is not None and thread.is_valid():
            thread.switch()
            selected.select()


def in_one_line(command):
    """gdb's errors of a program that doesn't run, or of memory that isn't there, without a trace of Python."""

    def invoke(self, argument, from_tty):
        try:
            command(self, gdb.string_to_argv(argument))
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None

    return invoke


class InfoRoots(gdb.Command):
    """List the references of the selected frame, by its stack map.

info roots all [THREAD] lists those of all frames, with the other frames between."""

    def __init__(self):
        super().__init__("info roots", gdb.COMMAND_STACK)

    @in_one_line
    def invoke(self, words):
        if words[:1] == ["all"] and len(words) <= 2:
            print_all(words[1:])
        elif not words:
            print_frame(selected_frame())
        else:
            raise gdb.GdbError("info roots [all [THREAD]]")


class Stackpack(gdb.Command):
    """Commands of stackpack."""

    def __init__(self):
        super().__init__("stackpack", gdb.COMMAND_STACK, prefix=True)


class StackpackFrame(gdb.Command):
    """Print the selected frame's record, and its references."""

    def __init__(self):
        super().__init__("stackpack frame", gdb.COMMAND_STACK)

    @in_one_line
    def invoke(self, words):
        if words:
            raise gdb.GdbError("stackpack frame")
        frame = selected_frame()
        if "records" in (frame.answer or {}):
            print("\n".join(ask(frame.place[0], [frame.place[1]], text=True)))
        print_frame(frame)
        if "records" not in (frame.answer or {}):
            print(f"    {EXPLANATIONS[frame.without_record()]}")


InfoRoots()
Stackpack()
StackpackFrame()
