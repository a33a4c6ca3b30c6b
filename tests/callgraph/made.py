"""Pointers that C and C++ functions make of two variables, followed on random ways to their calls.

    unsigned long p0 = (unsigned long)start + distance;    may be any function's address
    unsigned long a[6]; ... a[3] = p0; ... p1 = a[3];      up to three steps, by registers and the stack
    r += ((function *)p1)(object, depth + 1);              so this may call any function

No function's address but `base` is taken. An analysis that loses a sum on its way takes the call for one of `base`. Every fourth
function calls `start` itself, which is `base`. Nothing is run.

made.py MACHINE ROUNDS FIRST: a round is one file for each compiler of the machine. Environment: STACKPACK (the command), LLVM
(a prefix).
"""

import os
import pathlib
import random
import re
import subprocess
import sys

import machines

FUNCTIONS = 40  # of a file

# {p}: the variable that has the pointer; {q}: the one that gets it; {k}: a name of its own. Declarations, and statements.
STEPS = {
    "volatile": ("", "volatile unsigned long a = {p}; {q} = a;"),
    "indexed": ("", "unsigned long a[6]; for (int j = 0; j < 6; j++) a[j] = j == 3 ? {p} : (unsigned long)j; SEEN(a); {q} = a[3 + zero];"),
    "backwards": ("", "unsigned long a[4] = {{0, 0, 0, {p}}}, b[4]; SEEN(a); for (int j = 0; j < 4; j++) b[3 - j] = a[j]; SEEN(b); {q} = b[0];"),
    "rows": ("", "unsigned long a[3][4]; SEEN(a); a[1 + zero][2] = {p}; SEEN(a); {q} = a[1][2 + zero];"),
    "copied": ("struct five_{k} {{ unsigned long x[5]; }};\n",
               "struct five_{k} a = {{{{1, 2, {p}, 4, 5}}}}, b; SEEN(&a); b = a; SEEN(&b); {q} = b.x[2];"),
    "copied-odd": ("struct __attribute__((packed)) odd_{k} {{ char c[3]; unsigned long x; }};\n",
                   "struct odd_{k} a, b; a.x = {p}; SEEN(&a); b = a; SEEN(&b); {q} = b.x;"),
    "bits": ("struct bits_{k} {{ unsigned long low : 13, high : 51; }};\n",
             "struct bits_{k} a; a.low = {p} & 8191; a.high = {p} >> 13; SEEN(&a); {q} = (unsigned long)a.high << 13 | a.low;"),
    "double": ("", "double f; __builtin_memcpy(&f, &{p}, 8); IN_VECTOR(f); __builtin_memcpy(&{q}, &f, 8);"),
    "stored-double": ("", "double f; __builtin_memcpy(&f, &{p}, 8); IN_VECTOR(f); volatile double g = f; f = g; __builtin_memcpy(&{q}, &f, 8);"),
    "vector": ("typedef unsigned long pair_{k} __attribute__((vector_size(16)));\n",
               "pair_{k} v = {{{p}, 1}}; IN_MEMORY(v); pair_{k} w = v; IN_MEMORY(w); {q} = w[0];"),
    "halves": ("", "unsigned low = (unsigned){p}, high = (unsigned)({p} >> 32); IN_REGISTER(low); IN_REGISTER(high);\n"
                   "    {q} = (unsigned long)high << 32 | low;"),
    "stored-halves": ("", "unsigned a[2] = {{(unsigned){p}, (unsigned)({p} >> 32)}}; SEEN(a); {q} = (unsigned long)a[1] << 32 | a[0];"),
    "wide": ("", "unsigned __int128 t = (unsigned __int128){p} << 64 | 7; IN_MEMORY(t); {q} = (unsigned long)(t >> 64);"),
    "room": ("", "unsigned long *a = (unsigned long *)__builtin_alloca(16 + DRAW(4) * 16); a[0] = 1; a[1] = {p}; SEEN(a); {q} = a[1];"),
    "walked": ("", "unsigned long a[5] = {{0, 1, {p}, 3, 4}}, *e = a; SEEN(a); while (e < a + 2 + zero) e++; {q} = *e;"),
    "by-address": ("", "unsigned long a = {p}, *volatile at = &a; {q} = *at;"),
    "by-two": ("", "unsigned long a = {p}, *at = &a, **volatile keep = &at; {q} = **keep;"),
    "far": ("", "unsigned long a[700]; SEEN(a); a[600] = {p}; SEEN(a); {q} = a[600 + zero];"),
    "label": ("", "static const void *const labels[] = {{&&one_{k}, &&two_{k}}}; unsigned long t = {p}; goto *labels[DRAW(2)];\n"
                  "    one_{k}: t += zero; two_{k}: {q} = t;"),
    "switched": ("", "unsigned long t = {p}; switch (DRAW(6)) {{ case 0: t += zero; break; case 1: state ^= 9; break; case 2: t ^= zero; break;\n"
                     "    case 3: t -= zero; break; case 4: state ^= 5; break; default: t |= zero; }} {q} = t;"),
    "chosen": ("", "unsigned long t = {p}; {q} = DRAW(2) ? t : t + zero;"),
    "looped": ("", "unsigned long t = 0, u = {p}; for (unsigned long j = 0; j <= zero; j++) t = u; {q} = t;"),
    "swapped": ("", "unsigned long a = {p}, b = 3; IN_REGISTER(a); IN_REGISTER(b); a ^= b; b ^= a; a ^= b; IN_REGISTER(b); {q} = b;"),
    "turned": ("", "unsigned long t = {p}; t = t << 13 | t >> 51; IN_REGISTER(t); {q} = t << 51 | t >> 13;"),
    "inverted": ("", "unsigned long t = ~{p}; IN_REGISTER(t); {q} = ~t;"),
    "reversed": ("", "unsigned long t = __builtin_bswap64({p}); IN_REGISTER(t); {q} = __builtin_bswap64(t);"),
    "stored-reversed": ("", "unsigned long t = __builtin_bswap64({p}); IN_MEMORY(t); {q} = __builtin_bswap64(t);"),
    "exchanged": ("", "unsigned long a = 1; SEEN(&a); __atomic_exchange_n(&a, {p}, 5); {q} = __atomic_exchange_n(&a, 2, 5);"),
    "added": ("", "unsigned long a = 0; SEEN(&a); __atomic_fetch_add(&a, {p}, 5); SEEN(&a); {q} = a;"),
    "compared": ("", "unsigned long a = 1, b = 1; SEEN(&a); __atomic_compare_exchange_n(&a, &b, {p}, 0, 5, 5); {q} = a;"),
    "or-ed": ("", "unsigned long a = 0; SEEN(&a); a |= {p}; SEEN(&a); {q} = a;"),
    "subtracted": ("", "unsigned long a = 0; SEEN(&a); a -= {p}; SEEN(&a); {q} = 0 - a;"),
    "over-call": ("", "unsigned long t = {p}; other(); {q} = t;"),
    "spilled": ("", "unsigned long t = {p}; PRESSED(); {q} = t;"),
    "member": ("struct run_{k} {{ long x; function *run; struct run_{k} *next; }};\n",
               "struct run_{k} a = {{1, (function *){p}, 0}}, b = {{2, 0, &a}}, *volatile at = &b; {q} = (unsigned long)at->next->run;"),
}  # fmt: skip

# The calls: in the part of a function that seldom runs, which GCC makes a function of its own; where an exception is caught; by a jump.
CALL = "r += ((function *){p})(object, depth + 1);"
ENDINGS = {
    "plain": CALL,
    "seldom": f"if (__builtin_expect(DRAW(5) > 2, 0)) {{{{ state += 3; {CALL} state ^= 7; }}}}",
    "cold": f"if (DRAW(3) == 0) {{{{ cold(); {CALL} }}}}",
    "tail": "return ((function *){p})(object, depth + 1);",
    "many": "r += ((long (*)(long, long, long, long, long, long, long, long, long, void *)){p})(1, 2, 3, 4, 5, 6, 7, 8, depth, object);",
    "repeated": f"for (unsigned long j = DRAW(4); j > 0; j--) {{{{ {CALL} }}}}",
    "expected": f"if ((function *){{p}} == base) r += base(object, depth + 1); else {CALL}",
    "caught": f"try {{{{ r += thrown((long)DRAW(9)); }}}} catch (long x) {{{{ state ^= x; {CALL} }}}}",
}
SUMS = ("(unsigned long)start + distance", "distance * 4 + (unsigned long)start", "(unsigned long)start - distance")

# On AArch64 atomic operations are calls of functions, and values in these are theirs.
LEFT_OUT = {"aarch64": ("exchanged", "added", "compared")}
VECTOR = {"x86_64": "x", "aarch64": "w", "riscv64": "f"}
REGISTERS = {
    "x86_64": ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", *(f"r{n}" for n in range(8, 16))],
    "aarch64": [f"x{n}" for n in range(29) if n != 18],
    "riscv64": [*(f"s{n}" for n in range(1, 12)), *(f"t{n}" for n in range(7)), *(f"a{n}" for n in range(8))],
}
FLAGS = (["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-fno-omit-frame-pointer"], ["-O2", "-fstack-protector-all"],
         ["-O0", "-fomit-frame-pointer"], ["-O2", "-fno-pie", "-no-pie"], ["-O2", "-fno-asynchronous-unwind-tables"], ["-O3", "-funroll-loops"])  # fmt: skip
MACHINE_FLAGS = {
    "x86_64": (["-O3", "-march=haswell"], ["-O2", "-mno-red-zone"], ["-O2", "-fcf-protection=full"], ["-O1", "-march=skylake-avx512"]),
    "aarch64": (["-O2", "-mbranch-protection=standard"], ["-O2", "-march=armv8.2-a+sve"], ["-Os", "-march=armv8.3-a"]),
    "riscv64": (["-O2", "-msave-restore"], ["-Os", "-msave-restore"], ["-O2", "-march=rv64gc_zba_zbb_zbs"]),
}

PRELUDE = """\
#define SEEN(address) __asm__ volatile("" ::"r"(address) : "memory")
#define IN_REGISTER(x) __asm__ volatile("" : "+r"(x))
#define IN_MEMORY(x) __asm__ volatile("" : "+m"(x))
#define IN_VECTOR(x) __asm__ volatile("" : "+VECTOR"(x))
#define PRESSED() __asm__ volatile("" ::: REGISTERS)
#define KEEP __attribute__((noinline, used))
typedef long function(void *object, long depth);
static volatile unsigned long state = 1, distance, zero;
static inline __attribute__((always_inline)) unsigned long DRAW(unsigned long count) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (state >> 33) % count;
}
KEEP static long base(void *object, long depth) { (void)object; return depth; }
static function *volatile start = base;
KEEP static void other(void) { state++; }
KEEP __attribute__((cold)) static void cold(void) { state ^= 5; }
"""
THROWN = "KEEP static long thrown(long x) { if (x % 3) throw x; return x; }\n"


def compilers(machine):
    """{name: command}"""
    llvm = f"{os.environ['LLVM']}/bin/clang"
    if machine == "x86_64":
        return {"gcc": ["gcc"], "g++": ["g++"], "clang": [llvm], "clang++": [f"{llvm}++"]}
    cross = machines.MACHINES[machine]
    return {"gcc": [f"{cross.gcc}gcc"], "clang": [llvm, *cross.clang_options, "-fuse-ld=lld"]}


def write_function(choice, number, machine, is_cxx):
    """The source of a function, and the names of its parts."""
    has_sum = number % 4 != 0
    names = [name for name in sorted(STEPS) if name not in LEFT_OUT.get(machine, ())]
    steps = choice.sample(names, k=choice.randrange(4)) if has_sum else []
    ending = choice.choice([name for name in ENDINGS if name != "caught" or is_cxx]) if has_sum else "plain"
    befores, lines = [], [f"unsigned long p0 = {choice.choice(SUMS) if has_sum else '(unsigned long)start'};"]
    for n, step in enumerate(steps):
        before, statements = STEPS[step]
        k = f"{number}_{n}"
        befores.append(before.format(k=k))
        lines.append(f"unsigned long p{n + 1}; {{ {statements.format(p=f'p{n}', q=f'p{n + 1}', k=k)} }}")
    lines.append(ENDINGS[ending].format(p=f"p{len(steps)}"))
    body = "\n  ".join(lines)
    text = f"{''.join(befores)}KEEP long made_{number}(void *object, long depth) {{\n  long r = depth;\n  {body}\n  return r;\n}}\n"
    return text, ["sum" if has_sum else "no sum", *steps, ending]


def write_file(seed, machine, is_cxx):
    choice = random.Random(seed)
    functions = [write_function(choice, number, machine, is_cxx) for number in range(FUNCTIONS)]
    calls = " + ".join(f"made_{number}(&object, 1)" for number in range(FUNCTIONS))
    prelude = PRELUDE.replace("VECTOR\"", f'{VECTOR[machine]}"').replace("REGISTERS", ", ".join(f'"{name}"' for name in REGISTERS[machine]))
    text = prelude + THROWN * is_cxx + "".join(text for text, _ in functions) + f"int main(void) {{\n  long object = 0;\n  return (int)({calls});\n}}\n"
    return text, [steps for _, steps in functions]


def verdicts(file):
    """{number: whether a call of the function may call any function}"""
    graph = subprocess.run([os.environ["STACKPACK"], "callgraph", file], capture_output=True, text=True, check=True).stdout
    found = {}
    for number, flags, calls in re.findall(r"^\S+ (?:made_|_Z\d+made_)(\d+)\S*(.*)\n((?:  .*\n)*)", graph, re.MULTILINE):
        is_any = "(undecodable)" in flags or re.search(r" any function$", calls, re.MULTILINE) is not None
        found[int(number)] = found.get(int(number), False) or is_any
    return found


def check(name, command, machine, seed):
    """How many verdicts of a random file are wrong; prints them."""
    choices = (*FLAGS, *MACHINE_FLAGS[machine])
    flags = choices[seed % len(choices)]
    is_cxx = name.endswith("++")
    text, steps = write_file(f"{name} {seed}", machine, is_cxx)
    file = pathlib.Path(f"{machine}-{name}-{seed}")
    source = file.with_suffix(".cc" if is_cxx else ".c")
    source.write_text(text)
    subprocess.run([*command, "-w", *flags, "-o", file, source], check=True)
    found = verdicts(file)
    sums = [n for n in range(FUNCTIONS) if steps[n][0] == "sum"]
    wrong = [f"made_{n}: {', '.join(steps[n])}: lost" for n in sums if not found[n]]
    if all(found.values()):
        wrong.append("all calls may be of any function: this file shows nothing")
    for text in wrong:
        print(f"{name} {' '.join(flags)}, seed {seed}: {text}")
    if not wrong:
        file.unlink()
        source.unlink()
    return len(wrong)


def main():
    machine, rounds, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    wrong = count = 0
    for seed in range(first, first + rounds):
        for name, command in compilers(machine).items():
            wrong += check(name, command, machine, seed)
            count += FUNCTIONS
    print(f"{machine}: {count} functions, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
