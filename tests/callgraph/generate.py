"""Random programs whose call graphs are known exactly, because they were drawn before they were written.

A program has functions in one or two modules (an executable, and a shared library that calls back into it). They are
`managed` (LLVM IR, with a statepoint for every call), or helpers between managed ones: C, C++ or assembly, which have
no stack maps. Some functions are GC entries. All have one signature, `long f(void *object, long depth)`; every call is
made or not by a generator of pseudo-random numbers, down to a small depth, so that each program ends quickly.

Each call has a kind, by which the code for it is written: a plain call, a tail call, a call by a table of pointers, a
callback of qsort, a signal's handler ... see KINDS. A statepoint is identified by its ID, whatever a compiler does with
its code: `needed(program)` are the IDs of those at which a thread can wait while another frame above is a GC entry's.
The answer comes from the drawn graph alone; nothing here looks at machine code.
"""

import dataclasses
import random
from typing import List, Optional

MAX_DEPTH = 9
MACHINE = None  # of machines.MACHINES; None: the build's own, which is x86-64


@dataclasses.dataclass
class Call:
    kind: str
    targets: List["Function"]
    id: Optional[int] = None  # of a statepoint


@dataclasses.dataclass
class Function:
    number: int
    unit: "Unit"
    calls: List[Call] = dataclasses.field(default_factory=list)
    is_entry: bool = False
    is_static: bool = False
    is_root: bool = False  # main calls it
    interposed_by: Optional["Function"] = None  # one of the executable with the same name, which is called in its place

    @property
    def name(self):
        return f"f{(self.interposed_by or self).number}"


@dataclasses.dataclass
class Unit:
    """A source file."""

    name: str
    module: str  # "app" or "lib"
    language: str  # "managed", "c", "c++" or "asm"
    compiler: str  # "gcc", "clang", or "llc"
    flags: List[str]
    functions: List[Function] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Program:
    seed: int
    focus: str
    units: List[Unit]
    is_pie: bool
    linker: str
    link_flags: List[str]

    @property
    def functions(self):
        return [function for unit in self.units for function in unit.functions]

    def has_library(self):
        return any(unit.module == "lib" for unit in self.units)


# The kinds of calls. Those in DIRECT can be followed exactly in machine code; of the others an analysis can only know
# a larger set of targets.
DIRECT_KINDS = ("direct", "tail", "alias", "switch", "goto", "cold", "inline", "nested")
C_KINDS = DIRECT_KINDS + (
    "table", "struct", "local", "argument", "packed", "select", "thread-local", "weak", "qsort", "bsearch", "once",
    "stream", "raise", "dlsym", "ifunc", "iterate", "destructor", "tagged",
)  # fmt: skip
MANAGED_KINDS = ("direct", "tail", "table", "slot", "got", "typed")
CXX_KINDS = ("catch", "cleanup", "virtual")
ASM_KINDS = ("fall-through", "jump", "conditional", "push", "exchange", "slot", "between", "loop", "register", "memory", "relative", "middle",
             "data", "short", "odd-short", "odd-relative", "high-tag", "note", "prefix", "sum", "frame", "sse", "pushed")  # fmt: skip
# Of a whole unit: how its C code is compiled.
UNIT_FLAGS = {
    "gcc": ([], ["-fcf-protection"], ["-fno-plt"], ["-fcf-protection=none", "-mindirect-branch=thunk"],
            ["-fcf-protection=none", "-mindirect-branch=thunk-inline"],
            ["-mcmodel=large", "-fno-pic"], ["-ffunction-sections"], ["-fno-asynchronous-unwind-tables"],
            ["-fcf-protection=none", "-mfunction-return=thunk"], ["-fpatchable-function-entry=4,2"], ["-pg"],
            ["-fsplit-stack"], ["-fzero-call-used-regs=all"]),
    "clang": ([], ["-fcf-protection"], ["-fno-plt"], ["-mretpoline"], ["-ffunction-sections"], ["-fno-jump-tables"],
              ["-fexperimental-call-graph-section"], ["-mcmodel=large", "-fno-pic"], ["-fbasic-block-sections=all"],
              ["-fxray-instrument", "-fxray-instruction-threshold=1"],
              ["-mlvi-hardening"], ["-mspeculative-load-hardening"], ["-mllvm", "-hot-cold-split=true"]),
}  # fmt: skip

# How a program is linked: pointers and stubs then have other forms. One choice for each program.
LINK_FLAGS = {
    "every": ([], ["-rdynamic"], ["-Wl,-z,now"], ["-Wl,--emit-relocs"]),
    "lld": (["-Wl,-z,pack-relative-relocs"], ["-Wl,-z,retpolineplt"], ["-Wl,-z,separate-code"], ["-Wl,--icf=all"]),
    "bfd": (["-Wl,-z,pack-relative-relocs"], ["-Wl,-z,ibtplt"], ["-Wl,-z,separate-code"]),
    "gold": (["-Wl,--icf=all"],),
    "mold": (["-Wl,--icf=all"], ["-Wl,-z,separate-code"]),
}


def asm_kinds():
    return ASM_KINDS if MACHINE is None else tuple(MACHINE.asm_forms)


def unit_flags():
    return UNIT_FLAGS if MACHINE is None else MACHINE.unit_flags


def cannot_link():
    """(linker, kind): mold knows no addresses of 32 bits on other machines."""
    return [("mold", kind) for kind in MACHINE.asm_fixed] if MACHINE else []


def link_flags():
    return LINK_FLAGS if MACHINE is None else MACHINE.link_flags


# ---- Truth ---------------------------------------------------------------------------------------------


def reaching(program):
    """The functions from which a GC entry can be entered: entries, and those that call such a function."""
    callers = {}
    for function in program.functions:
        for call in function.calls:
            for target in call.targets:
                callers.setdefault(target.number, []).append(function.number)
    found = {function.number for function in program.functions if function.is_entry}
    waiting = list(found)
    while waiting:
        for caller in callers.get(waiting.pop(), []):
            if caller not in found:
                found.add(caller)
                waiting.append(caller)
    return found


def reachable(program, with_entries):
    """The functions that main can reach; and those that GC entries can, which run at every collection."""
    by_number = {function.number: function for function in program.functions}
    found = {function.number for function in program.functions if function.is_root or (with_entries and function.is_entry)}
    waiting = list(found)
    while waiting:
        for call in by_number[waiting.pop()].calls:
            for target in call.targets:
                if target.number not in found:
                    found.add(target.number)
                    waiting.append(target.number)
    return found


def statepoints(program):
    """(id, function, call) for every statepoint."""
    return [
        (call.id, function, call)
        for function in program.functions
        for call in function.calls
        if call.id is not None
    ]


def needed(program):
    """The IDs of the statepoints that a collection can meet."""
    reach = reaching(program)
    return {id for id, _, call in statepoints(program) if any(target.number in reach for target in call.targets)}


# ---- Drawing a graph -----------------------------------------------------------------------------------


def draw_units(choice, family, focus):
    """`focus` is the kind (or the compiler's flags, "gcc -mindirect-branch=thunk") that the program is about."""
    def level():
        return [f"-O{choice.choice((0, 2))}"]

    units = [
        Unit("managed0", "app", "managed", "llc", ["-O0"]),
        Unit("managed2", "app", "managed", "llc", ["-O2"]),
    ]
    for compiler in ("gcc", "clang"):
        if family == "direct":
            for level in ("-O0", "-O2"):
                # Between unaligned functions, a return and mold's zeros can be the distance to another one.
                units.append(Unit(f"c_{compiler}{level[1:]}", "app", "c", compiler, [level, "-falign-functions=16"]))
        else:
            units.append(Unit(f"c_{compiler}", "app", "c", compiler, level()))
    if family == "mixed":
        compiler, _, flags = focus.partition(" ")
        if flags:
            unit = next(unit for unit in units if unit.compiler == compiler)
            unit.flags += flags.split()
        if focus in CXX_KINDS:
            units.append(Unit("cxx", "app", "c++", choice.choice(("gcc", "clang")), level()))
        if focus in asm_kinds() and focus not in C_KINDS:
            units.append(Unit("assembly", "app", "asm", "gcc", []))
        if focus in ("library", "interposed") or choice.random() < 0.25:
            units.append(Unit("lib_managed", "lib", "managed", "llc", level()))
            units.append(Unit("lib_c", "lib", "c", choice.choice(("gcc", "clang")), level()))
    return units


def kinds_for(unit, family, focus):
    """The kinds that calls of a unit's functions may have, apart from direct ones."""
    language_kinds = {"managed": MANAGED_KINDS, "c": C_KINDS, "c++": CXX_KINDS, "asm": asm_kinds()}[unit.language]
    if family == "direct":
        # Unoptimised code of clang's keeps the address of a computed goto in the stack, out of the analysis's sight.
        left_out = "goto" if unit.compiler == "clang" and "-O0" in unit.flags else None
        return [kind for kind in language_kinds if kind in DIRECT_KINDS and kind != left_out]
    if " " in focus:  # a unit's flags: pointers of all sorts
        return [kind for kind in ("table", "struct", "local") if kind in language_kinds]
    return [kind for kind in language_kinds if kind == focus]


def leads_gotos_together(function):
    """Unoptimised code of gcc's has one jump for all computed gotos of a function, by a pointer from one of several tables; and
    clang's optimiser may merge two jumps."""
    can_merge = function.unit.compiler == "clang" or "-O0" in function.unit.flags
    return can_merge and any(call.kind == "goto" for call in function.calls)


def draw_targets(choice, program, function, kind):
    """Targets that the code for the kind can have."""
    def usable(target):
        if target.is_static and target.unit is not function.unit:
            return False
        if kind in ("alias", "inline", "fall-through", "middle", "nested") and target.unit is not function.unit:
            return False
        if kind in ("fall-through", "middle"):
            return target.number == function.number + 1
        if kind == "cold" and target is function:
            return False
        if kind in ("dlsym", "got") and target.is_static:
            return False
        if function.unit.language == "asm" and MACHINE is not None and target.unit.module != "app":
            return False
        if kind in ("conditional", "relative", "data", "exchange", "slot", "between", "push", "loop", "short", "odd-short", "odd-relative",
                    "sum", "frame", "sse", "pushed") and target.unit.module != "app":
            return False
        if kind == "typed" and target.unit.module != function.unit.module:
            return False
        return True

    candidates = [target for target in program.functions if usable(target)]
    if not candidates:
        return []
    count = {"table": 3, "switch": 7, "goto": 6, "select": 5, "slot": 1}.get(kind, 1)
    # Mostly forward: then a graph has ends, and is only partly connected.
    forward = [target for target in candidates if target.number > function.number] or candidates
    return [choice.choice(forward if choice.random() < 0.85 else candidates) for _ in range(count)]


def draw(seed, family, focus=""):
    """A program of a family: "direct", or "mixed" with one kind or compiler's flag that it is about."""
    choice = random.Random(f"{family} {focus} {seed}")
    units = draw_units(choice, family, focus)
    program = Program(
        seed=seed,
        focus=focus,
        units=units,
        is_pie=choice.random() < 0.5,
        linker=choice.choice(("lld", "lld", "bfd", "gold", "mold")),
        link_flags=[],
    )
    program.link_flags = list(choice.choice((*link_flags()["every"], *link_flags()[program.linker])))
    if family == "direct" and program.link_flags in (["-rdynamic"], ["-Wl,-z,retpolineplt"]):
        program.link_flags = []  # what is exported is reachable; and stubs that can't be decoded reach everything
    if "-mcmodel=large" in focus or focus in (MACHINE.asm_fixed if MACHINE else ("short", "odd-short")):
        program.is_pie = False
    if focus == "dlsym":
        program.link_flags = ["-rdynamic"]
    about = [unit for unit in units if unit.language in ("asm", "c++")] or units
    for _ in range(choice.randrange(24, 40)):
        unit = choice.choice(units[:2] if choice.random() < 0.45 else about if choice.random() < 0.5 else units)
        unit.functions.append(Function(0, unit))
    # Consecutive numbers within a unit, as fall-through needs, and at least two functions in each.
    number = 0
    order = units[:]
    choice.shuffle(order)
    for unit in order:
        while len(unit.functions) < 2:
            unit.functions.append(Function(0, unit))
        for function in unit.functions:
            function.number = number
            number += 1
    functions = program.functions
    for function in functions:
        function.is_static = function.unit.language in ("managed", "c") and choice.random() < 0.2
        function.is_root = not function.is_static and choice.random() < 0.3
    draw_entries(choice, program, family)
    for function in functions:
        kinds = kinds_for(function.unit, family, focus)
        for _ in range(1 if function.unit.language == "asm" else choice.choice((0, 1, 1, 2, 2, 3))):
            plain = not kinds or choice.random() < 0.4
            kind = "direct" if plain and function.unit.language not in ("asm",) else choice.choice(kinds)
            targets = draw_targets(choice, program, function, kind)
            if targets and not (kind == "goto" and leads_gotos_together(function)):
                function.calls.append(Call(kind, targets))
    give_statepoints(choice, program)
    if focus == "interposed":
        interpose(choice, program)
    settle(program)
    return program


def interpose(choice, program):
    """Gives functions of the library the names of functions of the executable, which are then called instead."""
    def candidates(module):
        return [f for f in program.functions if f.unit.module == module and f.unit.language == "c" and not f.is_static]

    replaced = dict(zip([f.number for f in candidates("lib") if not f.is_entry], choice.sample(candidates("app"), len(candidates("app")))))
    for function in program.functions:
        if function.number in replaced:
            function.interposed_by = replaced[function.number]
            function.is_root = False
    for function in program.functions:
        for call in function.calls:
            call.targets = [target.interposed_by or target for target in call.targets]


def draw_entries(choice, program, family):
    """One to three GC entries, in C."""
    modules = ["app"] if not program.has_library() else choice.choice((["app"], ["app"], ["lib"], ["app", "lib"]))
    candidates = [
        function
        for function in program.functions
        if function.unit.language == "c" and function.unit.module in modules
    ]
    # Late ones, so that calls, mostly forward, reach them.
    candidates.sort(key=lambda function: function.number)
    for function in choice.sample(candidates[len(candidates) // 2 :], min(len(candidates) // 2 or 1, choice.choice((1, 1, 2)))):
        function.is_entry = True
        function.is_root = False


def give_statepoints(choice, program):
    """Each module has a stack map."""
    for module in {unit.module for unit in program.units}:
        managed = [f for f in program.functions if f.unit.module == module and f.unit.language == "managed"]
        if not any(call.kind != "tail" for function in managed for call in function.calls):
            targets = draw_targets(choice, program, managed[0], "direct")
            managed[0].calls.append(Call("direct", targets))


def settle(program):
    """Puts a tail call last, and numbers the statepoints. A tail call is none: its frame is gone."""
    next_id = 1
    for function in program.functions:
        tails = [call for call in function.calls if call.kind == "tail"]
        function.calls = [call for call in function.calls if call.kind != "tail"] + tails[:1]
        for call in function.calls:
            if function.unit.language == "managed" and call.kind != "tail":
                call.id = next_id
                next_id += 1


# ---- Writing LLVM IR -----------------------------------------------------------------------------------

IR_STEP = """\
b{n}:
  {r} = phi i64 {incoming}
  %s{n} = load volatile i64, ptr @state
  %m{n} = mul i64 %s{n}, 6364136223846793005
  %a{n} = add i64 %m{n}, 1442695040888963407
  store volatile i64 %a{n}, ptr @state
  %h{n} = lshr i64 %a{n}, 33
  %c{n} = urem i64 %h{n}, {odds}
  %z{n} = icmp eq i64 %c{n}, 0
  %g{n} = and i1 %z{n}, %may
  br i1 %g{n}, label %c_{n}, label %b{next}
c_{n}:
{call}
  %n{n} = xor i64 {r}, %v{n}
  br label %b{next}
"""

IR_ARGUMENTS = "(ptr addrspace(1) %object, i64 %deeper)"


def ir_call(function, call, n, globals_):
    name = f"{function.name}_{n}"
    attribute = f'"statepoint-id"="{call.id}"'
    first = call.targets[0].name
    if call.kind in ("direct", "got"):
        return f"  %v{n} = call i64 @{first}{IR_ARGUMENTS} {attribute}"
    if call.kind == "table":
        entries = ", ".join(f"ptr @{target.name}" for target in call.targets)
        globals_.append(f"@table_{name} = internal constant [{len(call.targets)} x ptr] [{entries}]")
        return (
            f"  %j{n} = lshr i64 %a{n}, 47\n  %i{n} = urem i64 %j{n}, {len(call.targets)}\n"
            f"  %q{n} = getelementptr ptr, ptr @table_{name}, i64 %i{n}\n"
            f"  %p{n} = load ptr, ptr %q{n}\n"
            f"  %v{n} = call i64 %p{n}{IR_ARGUMENTS} {attribute}"
        )
    if call.kind in ("slot", "typed"):
        globals_.append(f"@slot_{name} = internal global ptr @{first}")
        return (
            f"  %p{n} = load volatile ptr, ptr @slot_{name}\n  %v{n} = call i64 %p{n}{IR_ARGUMENTS} {attribute}"
        )
    raise AssertionError(call.kind)


def ir_function(function, globals_):
    linkage = "internal " if function.is_static else ""
    lines = [
        f"define {linkage}i64 @{function.name}(ptr addrspace(1) %object, i64 %depth) noinline uwtable"
        ' gc "statepoint-example" {',
        "entry:",
        f"  %may = icmp slt i64 %depth, {MAX_DEPTH}",
        "  %deeper = add i64 %depth, 1",
        f"  %v = load volatile i64, ptr addrspace(1) %object",
        f"  store volatile i64 {function.number}, ptr addrspace(1) %object",
        "  br label %b0",
    ]
    calls = [call for call in function.calls if call.kind != "tail"]
    incoming = "[ %v, %entry ]"
    for n, call in enumerate(calls):
        lines.append(
            IR_STEP.format(
                n=n, next=n + 1, r=f"%r{n}", incoming=incoming, odds=max(1, len(function.calls)),
                call=ir_call(function, call, n, globals_),
            )  # fmt: skip
        )
        incoming = f"[ %r{n}, %b{n} ], [ %n{n}, %c_{n} ]"
    n = len(calls)
    lines += [f"b{n}:", f"  %r{n} = phi i64 {incoming}"]
    tail = next((call for call in function.calls if call.kind == "tail"), None)
    if tail:
        lines += [
            f"  br i1 %may, label %tail, label %end",
            "tail:",
            f'  %t = musttail call i64 @{tail.targets[0].name}{IR_ARGUMENTS} "gc-leaf-function"',
            "  ret i64 %t",
            "end:",
        ]
    lines += [
        "  %w = load volatile i64, ptr addrspace(1) %object",
        f"  %result = add i64 %r{n}, %w",
        "  ret i64 %result",
        "}",
    ]
    return "\n".join(lines)


def write_ir(unit, seed):
    own = {function.name for function in unit.functions}
    globals_ = [f"@state = internal global i64 {seed * 977 + len(unit.functions)}"]
    bodies = [ir_function(function, globals_) for function in unit.functions]
    got = {target.name for f in unit.functions for call in f.calls if call.kind == "got" for target in call.targets}
    outside = {target.name for f in unit.functions for call in f.calls for target in call.targets} - own
    declarations = [
        f"declare i64 @{name}(ptr addrspace(1), i64){' nonlazybind' if name in got else ''}" for name in sorted(outside)
    ]
    used = [f"ptr @{function.name}" for function in unit.functions if function.is_static]
    if used:  # nothing may disappear because nobody calls it
        globals_.append(
            f'@llvm.compiler.used = appending global [{len(used)} x ptr] [{", ".join(used)}], section "llvm.metadata"'
        )
    typed = [(target.name, call.id) for f in unit.functions for call in f.calls if call.kind == "typed" for target in call.targets]
    if typed:  # each typed call has a type of its own: its statepoint's ID
        globals_ += ['module asm ".section .stackpack.types, \\22\\22, @progbits"', *(f'module asm ".quad {name}, {id}"' for name, id in typed),
                     'module asm ".text"']
    return "\n".join([f'target triple = "{MACHINE.triple if MACHINE else "x86_64-unknown-linux-gnu"}"', *globals_, *declarations, *bodies, ""])


# ---- Writing C and C++ ---------------------------------------------------------------------------------

C_PRELUDE = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef long function(void *object, long depth);
static volatile unsigned long state = %dul;
static void *the_object;
static volatile long the_depth;
#define ALWAYS static inline __attribute__((always_inline, unused))
ALWAYS unsigned long draw(unsigned long count) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (state >> 33) %% count;
}
#define MAY(odds) (depth < %d && draw(odds) == 0)
#define KEEP __attribute__((noinline, used))
"""

# For each kind: declarations before the function, and the statement. In both, {g} is the target, {k} a name of its own.
C_SIMPLE = {
    "direct": ("", "r += {g}(object, depth + 1);"),
    "tail": ("", "return {g}(object, depth + 1);"),
    "inline": (
        "ALWAYS long inline_{k}(void *o, long d) {{ return {g}(o, d) + 1; }}\n",
        "r += inline_{k}(object, depth + 1);",
    ),
    "nested": (  # a static function that may be inlined, cloned or split
        "static long nested_{k}(void *o, long d, long x) {{ if (x > 5) return d; state += x; return {g}(o, d) + x; }}\n",
        "r += nested_{k}(object, depth + 1, draw(9)) + nested_{k}(object, depth + 1, 3);",
    ),
    "alias": (
        "extern __typeof__({g}) alias_{k} __attribute__((alias(\"{g}\")));\n",
        "r += alias_{k}(object, depth + 1);",
    ),
    "cold": (
        "",
        "if (__builtin_expect(draw(5) > 2, 0)) {{ state += 3; r += {g}(object, depth + 1); state ^= r; }}",
    ),
    "struct": (
        "static struct {{ long x; function *run; }} struct_{k} = {{ 1, {g} }};\n",
        "r += (*(__typeof__(struct_{k}) volatile *)&struct_{k}).run(object, depth + 1);",
    ),
    "local": ("", "function *volatile p = {g}; r += p(object, depth + 1);"),
    "argument": (
        "KEEP static long apply_{k}(function *f, void *o, long d) {{ return f(o, d) + 1; }}\n",
        "r += apply_{k}({g}, object, depth + 1);",
    ),
    "packed": (
        "static volatile struct __attribute__((packed)) {{ char c[3]; function *run; }} packed_{k} = {{ \"a\", {g} }};\n",
        "function *p = packed_{k}.run; r += p(object, depth + 1);",
    ),
    "thread-local": (
        "static __thread function *volatile local_{k} = {g};\n",
        "r += local_{k}(object, depth + 1);",
    ),
    "weak": (
        "extern long missing_{k}(void *, long) __attribute__((weak));\n"
        "__attribute__((weak, noinline)) long weak_{k}(void *o, long d) {{ return {g}(o, d) + 2; }}\n",
        "r += (missing_{k} ? missing_{k} : weak_{k})(object, depth + 1);",
    ),
    "qsort": (
        "static int compare_{k}(const void *a, const void *b) {{\n"
        "  (void)a, (void)b; return (int)({g}(the_object, the_depth + 1) & 1);\n}}\n",
        "long array[2] = {{1, 2}}; the_object = object; the_depth = depth; qsort(array, 2, 8, compare_{k}); r += array[0];",
    ),
    "bsearch": (
        "static int search_{k}(const void *a, const void *b) {{\n"
        "  (void)a, (void)b; return (int)({g}(the_object, the_depth + 1) & 1);\n}}\n",
        "long array[2] = {{1, 2}}; the_object = object; the_depth = depth; r += !bsearch(array, array, 2, 8, search_{k});",
    ),
    "once": (
        "static void once_{k}(void) {{ state += {g}(the_object, the_depth + 1); }}\n",
        "pthread_once_t once = PTHREAD_ONCE_INIT; the_object = object; the_depth = depth; pthread_once(&once, once_{k});",
    ),
    "stream": (
        "static ssize_t write_{k}(void *c, const char *b, size_t n) {{\n"
        "  (void)c, (void)b; state += {g}(the_object, the_depth + 1); return (ssize_t)n;\n}}\n",
        "FILE *file = fopencookie(object, \"w\", (cookie_io_functions_t){{.write = write_{k}}}); the_object = object;\n"
        "    the_depth = depth; fprintf(file, \"%ld\", r); fclose(file);",
    ),
    "raise": (
        "static void handle_{k}(int s) {{ (void)s; state += {g}(the_object, the_depth + 1); }}\n",
        "the_object = object; the_depth = depth; signal(SIGUSR1, handle_{k}); raise(SIGUSR1);",
    ),
    "iterate": (
        "static int module_{k}(struct dl_phdr_info *i, size_t s, void *o) {{\n"
        "  (void)i, (void)s; state += {g}(o, the_depth + 1); return 1;\n}}\n",
        "the_depth = depth; dl_iterate_phdr(module_{k}, object);",
    ),
    "dlsym": (
        "",
        "function *p = (function *)dlsym(RTLD_DEFAULT, \"{g}\"); r += p ? p(object, depth + 1) : 0;",
    ),
    "ifunc": (
        "static function *resolve_{k}(void) {{ return {g}; }}\n"
        "long ifunc_{k}(void *, long) __attribute__((ifunc(\"resolve_{k}\")));\n",
        "r += ifunc_{k}(object, depth + 1);",
    ),
    "destructor": (
        "static void clean_{k}(long *x) {{ *x += {g}(the_object, the_depth + 1); }}\n",
        "the_object = object; the_depth = depth; {{ __attribute__((cleanup(clean_{k}))) long x = r; state += x; }}",
    ),
    "tagged": (
        "static volatile uintptr_t tagged_{k} = (uintptr_t){g} + 1;\n",
        "r += ((function *)(tagged_{k} - 1))(object, depth + 1);",
    ),
}  # fmt: skip


def c_call(function, call, n):
    """The declarations before the function, and the statement."""
    k, names = f"{function.name}_{n}", [target.name for target in call.targets]
    if call.kind in C_SIMPLE:
        before, statement = C_SIMPLE[call.kind]
        return before.format(g=names[0], k=k), statement.format(g=names[0], k=k)
    if call.kind == "table":
        return (
            f"static function *const table_{k}[] = {{{', '.join(names)}}};\n",
            f"r += table_{k}[draw({len(names)})](object, depth + 1);",
        )
    if call.kind == "switch":
        cases = "\n".join(
            f"    case {i}: r += {name}(object, depth + 1) * {i + 3}; state ^= {i * 77}; break;"
            for i, name in enumerate(names)
        )
        return "", f"switch (draw({len(names) + 1})) {{\n{cases}\n    default: break; }}"
    if call.kind == "goto":
        labels = ", ".join(f"&&l_{k}_{i}" for i in range(len(names)))
        steps = "\n".join(
            f"    l_{k}_{i}: r += {name}(object, depth + 1) * {i + 3}; state ^= {i * 77}; goto end_{k};"
            for i, name in enumerate(names)
        )
        return (
            "",
            f"static const void *const labels[] = {{{labels}}}; goto *labels[draw({len(names)})];\n{steps}\n    end_{k}:;",
        )
    if call.kind == "select":
        cases = "\n".join(f"  case {i}: return {name};" for i, name in enumerate(names))
        return (
            f"KEEP static function *select_{k}(unsigned long x) {{ switch (x) {{\n{cases}\n  default: return {names[0]}; }} }}\n",
            f"r += select_{k}(draw({len(names)}))(object, depth + 1);",
        )
    if call.kind == "catch":
        return (
            f"static KEEP long throw_{k}(long x) {{ if (x % 3) throw x; return x; }}\n",
            f"try {{ r += throw_{k}((long)draw(9)); }} catch (long x) {{ r += {names[0]}(object, depth + x / 9 + 1); }}",
        )
    if call.kind == "cleanup":
        return (
            f"static KEEP void throw_{k}(long x) {{ if (x % 3) throw x; }}\n"
            f"struct cleaner_{k} {{ void *o; long d; ~cleaner_{k}() {{ state = state + {names[0]}(o, d); }} }};\n"
            f"static KEEP void guard_{k}(void *o, long d, long x) {{ cleaner_{k} c = {{o, d}}; throw_{k}(x); (void)c; }}\n",
            f"try {{ guard_{k}(object, depth + 1, (long)draw(9)); }} catch (long x) {{ r += x; }}",
        )
    if call.kind == "virtual":
        return (
            f"struct base_{k} {{ virtual long run(void *, long) {{ return 1; }} virtual ~base_{k}() {{}} }};\n"
            f"struct derived_{k} final : base_{k} {{ long run(void *o, long d) override {{ return {names[0]}(o, d); }} }};\n"
            f"static derived_{k} object_{k}; static base_{k} *volatile pointer_{k} = &object_{k};\n",
            f"r += pointer_{k}->run(object, depth + 1);",
        )
    raise AssertionError(call.kind)


def c_function(function):
    befores, statements = [], []
    for n, call in enumerate(function.calls):
        before, statement = c_call(function, call, n)
        befores.append(before)
        statements.append(f"  if (MAY({max(1, len(function.calls))})) {{ {statement} }}")
    linkage = "static " if function.is_static else ""
    body = "\n".join(statements)
    return (
        "".join(befores)
        + f"KEEP {linkage}long {function.name}(void *object, long depth) {{\n"
        + ("  note();\n" if function.is_entry and MACHINE else "")
        + f"  long r = depth ^ {function.number + 1};\n  *(volatile long *)object += {function.number};\n{body}\n"
        + f"  return r + {function.number};\n}}\n"
    )


def write_c(unit, seed):
    names = {target.name: target for f in unit.functions for call in f.calls for target in call.targets}
    names.update({function.name: function for function in unit.functions})
    lines = [C_PRELUDE % (seed * 31 + len(unit.functions), MAX_DEPTH)]
    if unit.language == "c++":
        lines.append('extern "C" {')
    if MACHINE:
        lines.append("void note(void);")
    for name, function in sorted(names.items()):
        static = "static " if function.is_static else ""
        lines.append(f"{static}long {name}(void *object, long depth);")
    if unit.language == "c++":
        lines.append("}")
    lines += [c_function(function) for function in unit.functions]
    return "\n".join(lines)


# ---- Writing assembly ----------------------------------------------------------------------------------

# Every function goes on to its target, or returns when it is deep enough.
ASM_FORMS = {
    "fall-through": "",
    "jump": "  jmp {g}@PLT\n",
    "conditional": "  test %rdi, %rdi\n  jnz {g}\n  ret\n",
    "push": "  lea {g}(%rip), %rax\n  push %rax\n  .cfi_adjust_cfa_offset 8\n  ret\n",
    "exchange": "  push %rsi\n  .cfi_adjust_cfa_offset 8\n  lea {g}(%rip), %rax\n  xchg %rax, (%rsp)\n  ret\n",
    "slot": "  lea {g}(%rip), %rax\n  mov %rax, -8(%rsp)\n  sub $8, %rsp\n  .cfi_adjust_cfa_offset 8\n  ret\n",
    "between": "  lea {g}(%rip), %rax\n  push %rax\n  .cfi_adjust_cfa_offset 8\n  xor %edx, %edx\n  ret\n",
    "loop": "  mov $2, %ecx\n  loop 7f\n  ret\n7:  jmp {g}\n",
    "short": "  movslq 8f(%rip), %rax\n  jmp *%rax\n  .section .rodata\n  .balign 4\n8:  .long {g}\n  .text\n",
    "register": "  mov {g}@GOTPCREL(%rip), %rax\n  sub $8, %rsp\n  .cfi_adjust_cfa_offset 8\n  call *%rax\n"
    "  add $8, %rsp\n  .cfi_adjust_cfa_offset -8\n  ret\n",
    "memory": "  jmp *{g}@GOTPCREL(%rip)\n",
    "relative": "  lea 9f(%rip), %rdx\n  movslq (%rdx), %rax\n  add %rdx, %rax\n  jmp *%rax\n"
    "  .section .rodata\n  .balign 4\n9:  .long {g} - 9b\n  .text\n",
    "middle": "  add $1, %rdx\n  jmp middle_{g}\n",
    "odd-short": "  mov 8f(%rip), %eax\n  jmp *%rax\n  .section .rodata\n  .balign 4\n  .byte 1\n8:  .long {g}\n  .text\n",
    "odd-relative": "  lea 9f(%rip), %rdx\n  movslq (%rdx), %rax\n  add %rdx, %rax\n  jmp *%rax\n"
    "  .section .rodata\n  .balign 4\n  .byte 1\n9:  .long {g} - 9b\n  .text\n",
    "high-tag": "  mov 8f(%rip), %rax\n  shl $16, %rax\n  shr $16, %rax\n  jmp *%rax\n"
    "  .section .data.rel,\"aw\"\n  .balign 8\n8:  .quad {g} + (0x5a << 48)\n  .text\n",
    "note": "  mov 8f(%rip), %rax\n  jmp *%rax\n  .section .note.odd,\"aw\",@note\n  .balign 8\n8:  .quad {g}\n  .text\n",
    "prefix": "  mov 8f(%rip), %rax\n  jmp *%rax\n  .balign 8\n8:  .quad {g}\n",
    "sum": "  call 7f\n9:  ud2\n7:  addq ${g} - 9b, (%rsp)\n  ret\n",
    "frame": "  push (%rsp)\n  .cfi_adjust_cfa_offset 8\n  lea {g}(%rip), %rax\n  push %rbp\n  mov %rsp, %rbp\n  mov %rax, 8(%rbp)\n"
    "  pop %rbp\n  ret\n",
    "sse": "  push (%rsp)\n  .cfi_adjust_cfa_offset 8\n  lea {g}(%rip), %rax\n  movq %rax, %xmm0\n  movq %xmm0, (%rsp)\n  ret\n",
    "pushed": "  lea {g}(%rip), %rax\n  push %rax\n  .cfi_adjust_cfa_offset 8\n  jmp only_returns\n",
    "data": "  mov 8f(%rip), %rax\n  jmp *%rax\n  .section .data.rel,\"aw\"\n  .balign 8\n8:  .quad {g}\n  .text\n",
}


def write_asm(unit, seed):
    if MACHINE:
        return write_asm_for(MACHINE, unit)
    lines = ["  .text", "  .type only_returns, @function\nonly_returns:\n  ret\n  .size only_returns, . - only_returns"]
    for function in unit.functions:
        lines += [
            f"  .balign 16\n  .globl {function.name}\n  .type {function.name}, @function\n{function.name}:\n  .cfi_startproc",
            f"  {'nop' if function.number % 3 == 0 else 'xor %eax, %eax'}\nmiddle_{function.name}:",
            f"  cmp ${MAX_DEPTH}, %rsi\n  jge 1f\n  inc %rsi\n  jmp 2f\n1:  mov %rsi, %rax\n  ret\n2:",
        ]
        call = function.calls[0] if function.calls else None
        lines.append(ASM_FORMS[call.kind].format(g=call.targets[0].name) if call else "  mov %rsi, %rax\n  ret")
        lines.append(f"  .cfi_endproc\n  .size {function.name}, . - {function.name}")
    lines.append('  .section .note.GNU-stack,"",@progbits')
    return "\n".join(lines) + "\n"


def write_asm_for(machine, unit):
    lines = ["  .text"]
    for function in unit.functions:
        call = function.calls[0] if function.calls else None
        lines += [
            f"  .balign 16\n  .globl {function.name}\n  .type {function.name}, @function\n{function.name}:\n  .cfi_startproc",
            machine.asm_start.format(f=function.name, depth=MAX_DEPTH),
            machine.asm_forms[call.kind].format(g=call.targets[0].name) if call else machine.asm_return,
            f"  .cfi_endproc\n  .size {function.name}, . - {function.name}",
        ]
    lines.append('  .section .note.GNU-stack,"",@progbits')
    return "\n".join(lines) + "\n"


# ---- A whole program -----------------------------------------------------------------------------------


def write_main(program):
    roots = [function.name for function in program.functions if function.is_root]
    declarations = "".join(f"long {name}(void *object, long depth);\n" for name in roots)
    calls = "".join(f"    sum = sum * 31 + {name}(&object, 0);\n" for name in roots)
    return f"""\
#include <stdio.h>
{declarations}
int main(void) {{
  static volatile long object[8];
  long sum = 0;
  for (int i = 0; i < 20; i++) {{
{calls.replace("&object", "(void *)object")}  }}
  printf("%lx %lx\\n", sum, object[0]);
  return 0;
}}
"""


def write(program):
    """The sources, by file name."""
    sources = {"main.c": write_main(program)}
    for unit in program.units:
        suffix = {"managed": "ll", "c": "c", "c++": "cc", "asm": "s"}[unit.language]
        writer = {"managed": write_ir, "c": write_c, "c++": write_c, "asm": write_asm}[unit.language]
        sources[f"{unit.name}.{suffix}"] = writer(unit, program.seed)
    return sources
