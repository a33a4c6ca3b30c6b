"""stackpack-gdb.py - gdb shows the roots of managed frames, in a process or in a core.

    (gdb) source stackpack-gdb.py
    (gdb) backtrace
    #4  0x000000000020a4ea in tree_build [managed] () at trees.c:31
    (gdb) info roots all
    #4  0x20a4ea in tree_build: a statepoint, 2 roots
      [rsp+8]     0x7fffffffe2b8: 0x7ffff7b40010  reference
      [rsp+16]    0x7fffffffe2c0: 0x7ffff7b40028  derived from [rsp+8] 0x7ffff7b40010, +24

The frames are those of gdb's unwinder. The command `stackpack lookup`, which is looked for in PATH, says of each return address
what a collector would be told: it runs once for each module with stack maps, on the file that gdb has, and its answers are kept.
`backtrace` asks for some frames at a time, and for the table's source positions where gdb has no debug information. A module's
distance from its file is that of any section that gdb lists; where both have a build ID, it must be the same. Stacks that no thread is
on, and frames of code that is compiled at run time, come to gdb by unwinders of this file.
"""
import bisect
import collections
import functools
import hashlib
import itertools
import json
import os
import re
import struct
import subprocess
import tempfile

import gdb
from gdb.FrameDecorator import FrameDecorator
from gdb.unwinder import Unwinder

WORD = 8
PAGE = 4096
ALL_BITS = 0xFFFFFFFFFFFFFFFF

# The registers by their DWARF numbers; the callee-saved ones; the stack pointer; the number of the return address in unwind tables;
# the program counter's name.
Machine = collections.namedtuple("Machine", "names preserved stack_pointer return_register pc")
MACHINES = {
    62: Machine("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split(), {3, 6, 12, 13, 14, 15}, 7, 16, "rip"),
    183: Machine(["x%d" % number for number in range(31)] + ["sp"], set(range(19, 30)), 31, 30, "pc"),
    243: Machine(["x%d" % number for number in range(32)], {8, 9} | set(range(18, 28)), 2, 1, "pc"),
}


class Unusable(Exception):
    """The reason, in one line."""


# ---- Names: gdb's character set may lack some characters (the locale C's does), and some names are bytes outside UTF-8 ----


def decoded(get):
    """gdb's text, or None."""
    try:
        return get()
    except UnicodeError:
        return None


def printable(name):
    """A name as gdb can print it."""
    return name and name.encode(gdb.host_charset(), "backslashreplace").decode(gdb.host_charset())


# ---- Modules: the files, and their places in memory ----


class Module:
    """A program or library: its file's headers, and its distance in memory from the file's addresses."""

    def __init__(self, path, places):
        self.path = path
        with open(path, "rb") as file:
            header = file.read(64)
            if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
                raise Unusable("%s: not a little-endian ELF file of 64 bits" % path)
            self.machine = MACHINES.get(struct.unpack_from("<H", header, 18)[0])
            sections = self.read_sections(file, header)
            common = [name for name in places if name in sections]
            if self.machine is None or not common:
                raise Unusable("%s: %s" % (path, "a machine that stackpack doesn't know" if common else "no section headers"))
            self.slide = places[common[0]].start - sections[common[0]][0]
            self.check_build_id(file, sections.get(".note.gnu.build-id"))

    @staticmethod
    def read_sections(file, header):
        """The address, offset and size of each section in memory that has a name of its own."""
        offset = struct.unpack_from("<Q", header, 40)[0]
        size, count, names = struct.unpack_from("<HHH", header, 58)
        file.seek(offset)
        table = file.read(64 * count) if size == 64 else b""
        headers = list(struct.iter_unpack("<IIQQQQIIQQ", table[: len(table) // 64 * 64]))
        if names >= len(headers):
            return {}
        file.seek(headers[names][4])
        text = file.read(min(headers[names][5], 1 << 20))
        found = [(text[h[0] :].split(b"\0", 1)[0].decode("latin-1"), h[3:6]) for h in headers if h[2] & 2]
        counts = collections.Counter(name for name, _ in found)
        return {name: place for name, place in found if counts[name] == 1}

    def check_build_id(self, file, note):
        """A core may be of another build than the file. Packing may have moved the note within its page."""
        if note is None or note[2] > PAGE:
            return
        address, offset, size = note
        file.seek(offset)
        start = (address + self.slide) & ALL_BITS
        first, last = start // PAGE, (start + size - 1) // PAGE
        try:
            memory = bytes(gdb.selected_inferior().read_memory(first * PAGE, (last + 1 - first) * PAGE))
        except gdb.MemoryError:
            return
        if file.read(size) not in memory:
            raise Unusable("%s: another build than the one in memory" % self.path)


def has_stack_maps(sections):
    """Whether a module with sections of these names has stack maps, raw or packed; or may have some, without section headers."""
    return not sections or ".llvm_stackmaps" in sections or ".stackpack" in sections


def sections_in_memory():
    """By file, the sections' ranges of addresses, as gdb has relocated them."""
    program = gdb.current_progspace().filename
    places = collections.defaultdict(dict)
    for line in gdb.execute("info files", to_string=True).splitlines():
        match = re.match(r"\s*0x([0-9a-f]+) - 0x([0-9a-f]+) is (\S+)(?: in (.*))?$", line)
        if match and not match[3].startswith("load"):  # a core's segments
            places[match[4] or program].setdefault(match[3], range(int(match[1], 16), int(match[2], 16)))
    return places


# ---- Look-ups ----

answers = {}  # by file (with size and time), options, and address: what never changes


def ask(module, addresses, options):
    """What stands in the way, or None; and the answers for a file's addresses. A file without stack maps has none."""
    state = os.stat(module.path)
    known = answers.setdefault((module.path, state.st_size, state.st_mtime_ns, options), {})
    wanted = sorted(set(addresses) - set(known))
    if not wanted:
        return None, known
    try:
        run = subprocess.run(
            ["stackpack", "lookup", "--format=json", *options, "--", module.path],
            input="".join("%x\n" % address for address in wanted),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="backslashreplace", check=False)
    except OSError as error:
        return "the command stackpack doesn't run: %s" % error.strerror, known
    try:
        known.update((answer["address"], answer) for answer in map(json.loads, run.stdout.splitlines()))
    except (ValueError, LookupError, TypeError):
        pass  # the answers are cut off: some are missing
    fault = re.sub("^stackpack: ", "", run.stderr.strip().partition("\n")[0]) or "stackpack ended with status %d" % run.returncode
    if run.returncode in (0, 1) and known.keys() >= set(wanted):
        return None, known
    if fault.endswith(": no stack maps: no section .llvm_stackmaps"):
        known.update((address, None) for address in wanted)
        return None, known
    return fault, known


# ---- Added code: by stackpack_process_add ----

AddedModule = collections.namedtuple("AddedModule", "path slide machine")  # as a Module has them
TABLE_AT = 1 << 62  # a table's address in its file, far above all code's: such a file seems to lack code that was added after packing
LIST_MAX, TABLE_MAX = 1 << 20, 1 << 28  # more than any; a broken core could make gdb ask for more memory than there is


class AddedCode:
    """The ranges of code in a struct stackpack_process, in the process's memory or the core's: see runtime/ranges.h. They come and go
    while the process runs: so only tables are kept, by their contents."""

    def __init__(self):
        self.process, self.folder = None, None

    @staticmethod
    def leaves(process):
        """(start, size, address) of each list of ranges."""
        generation, _, _, _, ranges = read_words(process, 5)
        if not generation:
            raise Unusable("no open struct stackpack_process at 0x%x" % process)
        if not ranges:
            return []
        version, *roots = read_words(ranges, 3)
        return read_ranges(roots[version & 1])

    def use(self, process):
        """Returns the number of its ranges."""
        count = sum(len(read_ranges(leaf)) for _, _, leaf in self.leaves(process))
        self.process = process
        gdb.invalidate_cached_frames()
        return count

    def forget(self):
        self.process = None
        gdb.invalidate_cached_frames()

    def find(self, address):
        """The address of the struct stackpack_table for an address of code, or None."""
        if self.process is None:
            return None
        try:
            _, _, leaf = range_up_to(self.leaves(self.process), address)
            start, size, table = range_up_to(read_ranges(leaf) if leaf else [], address)
        except (Unusable, gdb.MemoryError) as fault:
            raise Unusable("added code: %s. `stackpack process` without an address goes on without it" % fault) from None
        return table if address - start < size else None

    def open(self, table):
        """The module of a table, in a file of its own for the command stackpack."""
        place, address = read_words(table, 2)
        machine, size = struct.unpack_from("<H2xQ", read_memory(place, 24), 12)
        if machine not in MACHINES or size > TABLE_MAX:
            raise Unusable("no packed table at 0x%x" % place)
        file = file_of_table(read_memory(place, size), machine)
        self.folder = self.folder or tempfile.TemporaryDirectory(prefix="stackpack-gdb-")
        path = os.path.join(self.folder.name, hashlib.sha256(file).hexdigest()[:16])
        if not os.path.exists(path):
            with open(path, "wb") as output:
                output.write(file)
        return AddedModule(path, (address - TABLE_AT) & ALL_BITS, MACHINES[machine])


added = AddedCode()


def read_memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address & ALL_BITS, size)) if size else b""


def read_words(address, count):
    return struct.unpack("<%dQ" % count, read_memory(address, count * WORD))


def read_ranges(address):
    """(start, size, value) of each in a list, by start."""
    _, _, capacity, count = read_words(address, 4)
    if not count <= capacity <= LIST_MAX:
        raise Unusable("no list of ranges at 0x%x" % address)
    return list(struct.iter_unpack("<3Q", read_memory(address + 4 * WORD, count * 3 * WORD)))


def range_up_to(ranges, address):
    """The last one that starts up to an address; or an empty one."""
    number = bisect.bisect_right([start for start, _, _ in ranges], address)
    return ranges[number - 1] if number > 0 else (address, 0, 0)


def file_of_table(table, machine):
    """An ELF file with a packed table after its note: one segment with both, and one of the note."""
    note = struct.pack("<3I", 10, 0, 1) + b"stackpack\0\0\0"
    start, place = 64 + 2 * 56, TABLE_AT - len(note)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, machine, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    segments = [(1, len(note) + len(table)), (4, len(note))]
    return header + b"".join(struct.pack("<IIQQQQQQ", kind, 4, start, place, place, size, size, WORD) for kind, size in segments) + note + table


# ---- Frames ----


class Frame:
    """A function's own frame: those of functions that are inlined in it have the same registers."""

    def __init__(self, frame, youngest=0):
        self.frame = frame
        self.level = frame.level() - youngest  # the stack's youngest frame has level 0
        self.is_interrupted = is_interrupted(frame)  # else it waits in a call
        self.pc = frame.pc()
        self.answer, self.module, self.fault, self.is_in_file, self.is_added = None, None, None, True, False

    @property
    def kind(self):
        """A frame whose module can't be asked may have roots, as may one outside of all modules."""
        return "unknown" if self.fault or not self.is_in_file else self.answer["answer"] if self.answer else "not managed"

    @property
    def record(self):
        """Of several records at one address a collector is given the first."""
        return self.answer["records"][0] if self.kind == "found" and not self.is_interrupted else None

    @property
    def has_sure_caller(self):
        """gdb guesses the caller of a frame outside of all files, unless its table or, by a JIT's symbols, gdb knows the frame."""
        if self.is_added:
            return decoded(self.frame.name) is not None or bool(self.record and self.record["frame"])
        return self.is_in_file

    @property
    def is_managed(self):
        return self.kind in ("found", "not a safepoint")

    def title(self):
        function = (self.record or self.answer or {}).get("function") or decoded(self.frame.name)
        return "#%-3d 0x%x in %s" % (self.level, self.pc, function or "a function without a name")

    def register(self, number):
        """A register's value when this frame goes on, or None: only what callees preserve is known."""
        machine = self.module.machine
        if number >= len(machine.names):
            return None
        if not self.is_interrupted and number not in machine.preserved and number != machine.stack_pointer:
            return None
        return read_register(self.frame, machine.names[number])


def read_register(frame, name):
    """Its value, or None: it is lost, or its place is in memory that a core lacks."""
    try:
        value = frame.read_register(name)
        return None if value.is_optimized_out else int(value) & ALL_BITS
    except gdb.error:
        return None


def own_frame(frame):
    """The first frame from this one on, towards older ones, that is a function's own, or None."""
    while frame is not None and frame.type() in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        frame = frame.older()
    return frame


def is_interrupted(frame):
    """Whether no call of its own stopped a frame: it is the youngest one, or a signal's handler was called."""
    newer = frame.newer()
    while newer is not None and newer.type() in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        newer = newer.newer()
    return newer is None or newer.type() == gdb.SIGTRAMP_FRAME


def frames_from(youngest):
    """The own frames of a stack's functions, from its youngest frame on."""
    frame, level = own_frame(youngest), youngest.level()
    while frame is not None:
        yield Frame(frame, level)
        frame = own_frame(frame.older())


def frames_of_stack(find_youngest):
    """All of them; and why there are no more."""
    frames = []
    try:
        for frame in frames_from(find_youngest()):
            frames.append(frame)
        return frames, frames[-1].frame.unwind_stop_reason()
    except gdb.error as error:
        return frames, str(error)


def open_module(path, places):
    """The module, or a line that says why it can't be asked."""
    if path is None:
        return "gdb has no program file: the command `file` gives one"
    try:
        return Module(path, places.get(path, {}))
    except Unusable as fault:
        return str(fault)
    except OSError as error:
        return "%s: %s" % (path, error.strerror)
    except (ValueError, OverflowError):
        return "%s: broken section headers" % path


def open_added(table):
    """The same for a table of added code."""
    try:
        return added.open(table)
    except (Unusable, OSError, gdb.MemoryError) as fault:
        return "added code: %s" % fault


def look_up(frames, options=()):
    """Gives each frame its module and answer, or the fault. Added code comes first, as in the library's look-ups."""
    program, by_place = gdb.current_progspace().filename, collections.defaultdict(list)
    places = sections_in_memory()
    ranges = [section for sections in places.values() for section in sections.values()]
    for frame in frames:
        call = (frame.pc - (not frame.is_interrupted)) & ALL_BITS
        table = added.find(call)
        frame.is_added = table is not None
        frame.is_in_file = frame.is_added or any(call in section for section in ranges)
        by_place[table or gdb.solib_name(call) or program].append(frame)
    for place, asking in by_place.items():
        is_added = isinstance(place, int)
        if not is_added and not has_stack_maps(places.get(place)):
            continue
        module = open_added(place) if is_added else open_module(place, places)
        if isinstance(module, str):
            fault, known = module, {}
        else:
            # An exact address is looked up as the call before a return address would be.
            addresses = [(frame.pc - module.slide + frame.is_interrupted) & ALL_BITS for frame in asking]
            fault, known = ask(module, addresses, options)
            for frame, address in zip(asking, addresses):
                frame.module, frame.answer = module, known.get(address)
        for frame in asking:
            frame.fault = fault


# ---- Roots ----


class Place:
    """Where a reference is, as a location of a record says it, one word of it."""

    def __init__(self, frame, location, word):
        kind, self.address, self.value = location["kind"], None, None
        names = frame.module.machine.names
        if kind in ("register", "direct", "indirect"):
            number, offset = location["register"], location.get("offset", 0) + word * WORD
            register = frame.register(number)
            name = names[number] if number < len(names) else "register %d" % number
            if kind == "register":
                self.text, self.value = name, register if offset == 0 else None
                return
            self.text = "[%s%+d]" % (name, offset) if kind == "indirect" else "%s%+d" % (name, offset)
            if register is None:
                return
            self.address = (register + offset) & ALL_BITS
            self.value = self.address if kind == "direct" else read_word(self.address)
            if kind == "direct":
                self.address = None
        else:
            self.value = location["value"] & ALL_BITS
            self.text = "constant"

    def value_text(self):
        return "unknown" if self.value is None else "0x%x" % self.value


def read_word(address):
    try:
        return struct.unpack("<Q", bytes(gdb.selected_inferior().read_memory(address, WORD)))[0]
    except gdb.MemoryError:
        return None


def words(pair):
    """A vector of references is so many roots."""
    return max(1, pair["derived"]["size"] // WORD)


def count_roots(frame):
    return sum(words(pair) for pair in frame.record["gc"])


def roots(frame):
    """The (base, derived) places of a frame's roots."""
    for pair in frame.record["gc"]:
        base, derived = pair["base"], pair["derived"]
        for word in range(words(pair)):
            yield Place(frame, base, word), Place(frame, derived, word), base == derived


def doubt(base):
    """Why a base can't be an object's address, or nothing."""
    if base.value is None:
        return "  (unknown: the place can't be read)"
    if base.value != 0 and read_word(base.value) is None:
        return "  (implausible: no memory there)"
    return ""


def has_roots(frame):
    return frame.record is not None and frame.record["kind"] == "statepoint"


def print_roots(frame):
    for base, derived, is_reference in roots(frame):
        where = "" if derived.address is None else " 0x%x:" % derived.address
        line = "  %-11s%s %s" % (derived.text, where, derived.value_text())
        if is_reference:
            line += "  reference"
        else:
            line += "  derived from %s %s" % (base.text, base.value_text())
            if base.value is not None and derived.value is not None:
                line += ", %+d" % (derived.value - base.value)
        print(line + doubt(base))


# ---- The answer for a frame ----


def explain(frame):
    """A frame's answer; where it has no roots, also a way to get them."""
    if frame.fault:
        return "unknown, there may be roots: %s" % frame.fault
    if not frame.is_in_file:
        return ("in no file's code, there may be roots: compiled at run time (see `stackpack process`), of the kernel, or a broken "
                "stack")
    if not frame.is_managed:
        return "native: in no function that has stack maps (LLVM makes them of functions with a strategy: `gc \"statepoint-example\"`)"
    if frame.is_interrupted:
        return "managed, but interrupted, not waiting in a call: no safepoint. Let it go on to a poll or an allocation"
    if frame.kind == "not a safepoint":
        return ("managed, but not a safepoint: a collection would stop here. If packing dropped the record, the policy lacks a GC "
                "entry: see `stackpack lookup` and `why` on the file as it was linked")
    record = frame.record
    if record["kind"] != "statepoint":
        return "a stack map or patch point, not a statepoint: it has no roots (STACKPACK_STATEPOINT_IDS says which are)"
    count = count_roots(frame)
    more = len(frame.answer["records"]) - 1
    return "a statepoint, %s%s" % (
        "%d root%s" % (count, "" if count == 1 else "s"), "; %d more records at this address" % more if more else "")


def end_in_doubt(frame, older):
    """Whether the table and gdb's unwinder disagree on the caller's stack pointer; a line, or None."""
    facts = frame.record["frame"] if frame.record else None
    if not facts or older is None:
        return None
    register = frame.register(facts["cfa_register"])
    pointer = read_register(older, frame.module.machine.names[frame.module.machine.stack_pointer])
    if register is None or pointer is None:
        return None
    end = (register + facts["cfa_offset"]) & ALL_BITS
    if end == pointer:
        return None
    return "  the frame ends at 0x%x by the table, at 0x%x by gdb: the stack or a table is broken" % (end, pointer)


def caller_of(frame):
    """The caller's own frame, or None where gdb can't get to it."""
    try:
        return own_frame(frame.older())
    except gdb.error:
        return None


MISSING_MEMORY = "the stack is broken, or this memory isn't in the core: it was cut off (`ulimit -c`) or left out (coredump_filter)"
MISSING_TABLES = ("the stack is broken, or this function was compiled without unwind tables (-funwind-tables; in LLVM IR the attribute "
                  "uwtable)")


def explain_end(frames, reason):
    """Why there is no frame after the last one."""
    if not frames:
        return "has no start: %s. The registers are unknown, or no program runs" % reason
    last = frames[-1]
    if isinstance(reason, str):
        return "stops at #%d: %s. Frames beyond are unknown: %s" % (last.level, reason, MISSING_MEMORY)
    limit = gdb.parameter("backtrace limit")
    if limit is not None and last.frame.level() + 1 >= limit:
        return "stops at gdb's own limit: `set backtrace limit unlimited`"
    if reason > gdb.FRAME_UNWIND_OUTERMOST:
        is_memory = reason in (gdb.FRAME_UNWIND_MEMORY_ERROR, gdb.FRAME_UNWIND_UNAVAILABLE)
        return "stops at #%d: %s. Frames beyond are unknown: %s" % (
            last.level, gdb.frame_stop_reason_string(reason), MISSING_MEMORY if is_memory else MISSING_TABLES)
    if not last.is_in_file:
        return "ends at #%d, in no file's code. Frames beyond are unknown: %s" % (last.level, MISSING_TABLES)
    if last.is_managed:
        return "ends at a managed frame: gdb takes it for the outermost one"
    return "ends at the outermost frame"


# ---- Stacks without a thread ----


FrameId = collections.namedtuple("FrameId", "sp pc")


class OtherStack(Unwinder):
    """Says, while it is enabled, that the caller of the selected thread's youngest frame has the registers of a context: gdb unwinds
    the context's stack from there on, with the thread and its registers as they are. All other registers are lost."""

    def __init__(self):
        super().__init__("stackpack-context")
        self.enabled, self.level, self.context, self.id = False, None, {}, None
        gdb.unwinder.register_unwinder(None, self, replace=True)

    def __call__(self, pending):
        if pending.level() != self.level:
            return None
        info = pending.create_unwind_info(self.id)
        for name, value in self.context.items():
            info.add_saved_register(name, value)
        return info

    def walk(self, context):
        """Shows the roots of the stack with a context: the program counter and the stack pointer first, by gdb's names."""
        selected, thread_frame = gdb.selected_frame().level(), own_frame(gdb.newest_frame())
        self.context = {name: gdb.Value(value).cast(thread_frame.read_register(name).type) for name, value in context.items()}
        pc, stack_pointer = itertools.islice(self.context.values(), 2)
        self.level, self.id = thread_frame.level(), FrameId(stack_pointer, pc)
        self.switch(True)
        try:
            show_all(self.find_youngest)
        finally:
            self.switch(False)
            select_level(selected)

    def find_youngest(self):
        frame = own_frame(gdb.newest_frame()).older()
        if frame is None or frame.pc() != int(self.id.pc):
            raise gdb.error("gdb makes no frame of this context")
        return frame

    def switch(self, is_enabled):
        self.enabled = is_enabled
        gdb.invalidate_cached_frames()


def select_level(level):
    frame = gdb.newest_frame()
    while frame.level() < level:
        frame = frame.older()
    frame.select()


def evaluate(expression):
    return int(gdb.parse_and_eval(expression)) & ALL_BITS


def read_context(words):
    """The registers by gdb's names, from the words PC SP [REGISTER=VALUE]..."""
    names = {register.name for register in gdb.selected_frame().architecture().registers()}
    first = ["rip", "rsp"] if "rip" in names else ["pc", "sp"]
    context = dict(zip(first, map(evaluate, words[:2])))
    for name, _, value in (word.partition("=") for word in words[2:]):
        if name not in names or name in context or not value:
            raise gdb.GdbError("not REGISTER=VALUE with another register of this machine: %s" % name)
        context[name] = evaluate(value)
    return context


# ---- Frames of added code ----


class AddedFrames(Unwinder):
    """Passes frames of added code, for which gdb has no unwind tables, by the facts of the code's own table."""

    def __init__(self):
        super().__init__("stackpack-added")
        gdb.unwinder.register_unwinder(None, self, replace=True)

    def __call__(self, pending):
        """The youngest frame waits in no call: its address may be the start of the function after the one that a record is in. gdb goes
        on as without this unwinder after any fault: a command says the reason."""
        if added.process is None or pending.level() == 0:
            return None
        try:
            return self.unwind(pending)
        except Exception:
            return None

    @staticmethod
    def unwind(pending):
        names = {register.name for register in pending.architecture().registers()}
        pc = int(pending.read_register("rip" if "rip" in names else "pc")) & ALL_BITS
        table = added.find(pc - 1)
        if table is None:
            return None
        module = added.open(table)
        address = (pc - module.slide) & ALL_BITS
        record = ask(module, [address], ())[1][address]["records"][0]
        return caller_by_table(pending, module, record) if record["frame"] else None


def caller_by_table(pending, module, record):
    """The registers of a frame's caller: where the frame has saved them, or as they are."""
    names, facts = module.machine.names, record["frame"]
    saved = {place["register"]: place["offset"] for place in facts["saved"]}
    end = (read_register(pending, names[facts["cfa_register"]]) + facts["cfa_offset"]) & ALL_BITS
    return_address = read_word(end + saved[module.machine.return_register])
    if facts["return_address_signed"]:
        return_address &= (1 << 48) - 1
    caller = {module.machine.pc: return_address, names[module.machine.stack_pointer]: end}
    for number in module.machine.preserved - set(facts["lost"]):
        caller[names[number]] = read_word(end + saved[number]) if number in saved else read_register(pending, names[number])
    values = {name: gdb.Value(value).cast(pending.read_register(name).type) for name, value in caller.items() if value is not None}
    function = gdb.Value((record["function_address"] + module.slide) & ALL_BITS).cast(values[module.machine.pc].type)
    info = pending.create_unwind_info(FrameId(values[names[module.machine.stack_pointer]], function))
    for name, value in values.items():
        info.add_saved_register(name, value)
    return info


# ---- Backtraces ----


MARK = " [managed]"


class NamedFrame(FrameDecorator):
    """A frame of `backtrace` under another name."""

    def __init__(self, base, name):
        super().__init__(base)
        self.name = name

    def function(self):
        return printable(self.name)

    def filename(self):
        return decoded(super().filename)


class PlacedFrame(NamedFrame):
    """A frame without debug information: the table knows the function and its place, and the functions that it was inlined in."""

    def __init__(self, base, positions, has_address=True):
        super().__init__(base, (positions[0]["function"] or "??") + MARK)
        self.positions, self.has_address = positions, has_address

    def elided(self):
        """gdb prints these indented, below the frame."""
        return [PlacedFrame(self, [position], False) for position in self.positions[1:]]

    def address(self):
        return super().address() if self.has_address else None

    def filename(self):
        return printable(self.positions[0]["file"])

    def line(self):
        return self.positions[0]["line"]

    def frame_args(self):
        return None


def marked(base, frame):
    """What `backtrace` shows for a frame, of which `frame` is the function's own. Under a filter, gdb leaves unknown names empty."""
    shown, name = base.inferior_frame(), decoded(base.function)
    if not isinstance(name, str):
        name = decoded(shown.name) or "??"
    if not frame.answer or frame.answer["answer"] == "not managed":
        return NamedFrame(base, name)
    facts = frame.answer["records"][0] if "records" in frame.answer else frame.answer
    if facts.get("source") and shown == frame.frame and shown.function() is None:
        return PlacedFrame(base, facts["source"])
    return NamedFrame(base, ((facts["function"] or name) if name == "??" else name) + MARK)


def mark(batch):
    """Any fault leaves the backtrace as it was: it is shown where much is broken."""
    try:
        frames = [Frame(own_frame(base.inferior_frame())) for base in batch]
        has_symbols = all(frame.frame.function() for frame in frames)
        look_up(frames, () if has_symbols else ("--source",))
        return list(map(marked, batch, frames))
    except Exception:
        return batch


def take(frames, count):
    """So many frames, or those before gdb gets no further; and why it doesn't."""
    taken = []
    try:
        for frame in itertools.islice(frames, count):
            taken.append(frame)
        reason = taken[-1].inferior_frame().unwind_stop_reason() if 0 < len(taken) < count else gdb.FRAME_UNWIND_NO_REASON
        return taken, gdb.frame_stop_reason_string(reason) if reason > gdb.FRAME_UNWIND_OUTERMOST else None
    except gdb.error as error:
        return taken, str(error)


class ManagedFrames:
    """The frame filter `stackpack`. It is disabled by itself in programs without stack maps."""

    def __init__(self):
        self.name, self.priority, self.is_wanted = "stackpack", 100, True
        gdb.frame_filters[self.name] = self

    @property
    def enabled(self):
        try:
            return self.is_wanted and (added.process is not None or any(map(has_stack_maps, sections_in_memory().values())))
        except (gdb.error, UnicodeError):
            return False

    @enabled.setter
    def enabled(self, is_wanted):
        self.is_wanted = is_wanted

    def filter(self, frames):
        """A short backtrace asks for few frames, a long one seldom. gdb says only without filters why there are no more."""
        count, stop = 32, None
        while stop is None:
            batch, stop = take(frames, count)
            if not batch:
                break
            yield from mark(batch)
            count = min(4 * count, 2048)
        if stop:
            gdb.write("Backtrace stopped: %s\n" % stop)


# ---- The commands ----


def show(frame, with_native):
    if frame.is_managed or with_native or not frame.has_sure_caller:
        print("%s: %s%s" % (frame.title(), explain(frame), "" if frame.has_sure_caller else ". From here on gdb guesses"))
    if has_roots(frame):
        print_roots(frame)
        line = end_in_doubt(frame, caller_of(frame.frame))
        if line:
            print(line)


def show_all(find_youngest=gdb.newest_frame):
    frames, reason = frames_of_stack(find_youngest)
    look_up(frames)
    for fault in dict.fromkeys(frame.fault for frame in frames if frame.fault):
        print("stackpack: %s" % fault)
    for before, frame in zip([None] + frames, frames):
        is_guess = before is not None and not before.is_in_file and not frame.is_in_file  # one line for all of them
        if not is_guess and not (frame.fault and frame.has_sure_caller):
            show(frame, False)
    managed = [frame for frame in frames if frame.is_managed]
    doubts = sum(frame.kind == "unknown" for frame in frames)
    count = sum(count_roots(frame) for frame in managed if has_roots(frame))
    unknown = ", %d unknown, there may be roots" % doubts if doubts else ""
    print("%d managed frames with %d roots, %d native frames%s; the walk %s" % (
        len(managed), count, len(frames) - len(managed) - doubts, unknown, explain_end(frames, reason)))


def selected_frame():
    """The physical frame of the selected one: a function's own, if that is inlined in it."""
    selected = own_frame(gdb.selected_frame())
    for frame in frames_from(gdb.newest_frame()):
        if frame.frame == selected:
            return frame
    raise gdb.GdbError("the selected frame isn't one of this thread")


def show_selected():
    frame = selected_frame()
    look_up([frame])
    show(frame, True)


def in_one_line(invoke):
    """A command's decorator: a fault of gdb or of a file, in a core that is broken in any way, is a line."""

    @functools.wraps(invoke)
    def wrapper(*arguments):
        try:
            invoke(*arguments)
        except gdb.GdbError:
            raise
        except UnicodeError:
            raise gdb.GdbError("stackpack: a file's name is no text in gdb's character set %s: see `set host-charset`" % gdb.host_charset())
        except Exception as error:
            raise gdb.GdbError("stackpack: %s" % (str(error).partition("\n")[0] or type(error).__name__))

    return wrapper


def need_thread():
    if gdb.selected_thread() is None:
        raise gdb.GdbError("no process or core")


class InfoRoots(gdb.Command):
    """Show the roots of managed frames, as stack maps tell them.

info roots               of the selected frame
info roots all           of all frames of the selected thread
info roots all THREAD    of all frames of a thread, by gdb's number
info roots at PC SP [REGISTER=VALUE]...
                         of all frames of a stack that no thread is on, of a suspended fiber

PC is the return address of the call in which the stack's youngest frame waits, SP the stack pointer after that return. The others are
the callee-saved registers that the switch between stacks has saved, by gdb's names. All may be expressions, in quotes with spaces.

A root is a place that holds a reference, in the frame or in a register, with its present value. A derived reference has its base
behind it."""

    def __init__(self):
        super().__init__("info roots", gdb.COMMAND_STACK)

    @in_one_line
    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        need_thread()
        if not words:
            show_selected()
        elif words[0] == "all" and len(words) == 1:
            show_all()
        elif words[0] == "all" and len(words) == 2:
            show_all_of(words[1])
        elif words[0] == "at" and len(words) >= 3:
            other_stack.walk(read_context(words[1:]))
        else:
            raise gdb.GdbError("Usage: info roots [all [THREAD] | at PC SP [REGISTER=VALUE]...]")


def show_all_of(number):
    before, frame = gdb.selected_thread(), gdb.selected_frame()
    for thread in gdb.selected_inferior().threads():
        if str(thread.num) == number:
            thread.switch()
            try:
                show_all()
            finally:
                before.switch()
                frame.select()
            return
    raise gdb.GdbError("no thread %s" % number)


class Stackpack(gdb.Command):
    """Commands for stack maps of garbage collectors."""

    def __init__(self):
        super().__init__("stackpack", gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)


class StackpackProcess(gdb.Command):
    """Tell gdb of the code that a program adds to its process by stackpack_process_add, a JIT's.

stackpack process ADDRESS    the process is the struct stackpack_process at ADDRESS, an expression such as &process
stackpack process            forgets it

Then `info roots` and `backtrace` find the tables of such code in memory, and gdb passes its frames by their facts, in a process or a
core. Frames that wait in a call are passed; at other places gdb guesses."""

    def __init__(self):
        super().__init__("stackpack process", gdb.COMMAND_STACK)

    @in_one_line
    def invoke(self, argument, from_tty):
        if argument:
            need_thread()
            print("%d ranges of added code" % added.use(evaluate(argument)))
        else:
            added.forget()


class StackpackFrame(gdb.Command):
    """Show what a collector is told of the selected frame: the answer, the record, and each root. The command `frame` selects one."""

    def __init__(self):
        super().__init__("stackpack frame", gdb.COMMAND_STACK)

    @in_one_line
    def invoke(self, argument, from_tty):
        if argument:
            raise gdb.GdbError("Usage: stackpack frame; the command `frame` selects one")
        need_thread()
        show_selected()


if __name__ == "__main__":
    # All scripts of gdb share this namespace, and any may define a name of this file anew: it gets a namespace of its own.
    with open(__file__, encoding="utf-8") as script:
        exec(compile(script.read(), __file__, "exec"), {"__name__": "stackpack_gdb"})
else:
    AddedFrames()
    other_stack = OtherStack()  # gdb asks the last one first
    ManagedFrames()
    InfoRoots()
    Stackpack()
    StackpackFrame()
    StackpackProcess()
