#!/usr/bin/env python3
"""Writes a random program that has statepoints, of IDs 100 to 199, and stack maps, of lower IDs, behind calls: for llc.

    random_mixed.py SEED >program.ll

Stack maps have operands that look like a statepoint's. Functions have few values or many, in registers and in slots, allocas of
known and unknown sizes, frame pointers or none.
"""
import random
import sys

POINTER = "ptr addrspace(1)"
STATEPOINT = "call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0"


def stack_map(values):
    deopt = random.choice([0, 0, 1, 2])
    operands = [random.choice(values) for _ in range(deopt + 2 * random.randrange(1, 8))]
    head = f"i32 {random.choice([0, 0, 8, 20])}, i32 {random.randrange(4)}, i32 {deopt}"
    call = "call void (i64, i32, ...) @llvm.experimental.stackmap"
    return ["call void @collect()", f"{call}(i64 {random.randrange(100)}, i32 0, {head}, " + ", ".join(operands) + ")"]


def statepoint(number, pointers, values):
    """A statepoint with some values for a deoptimiser, and its pointers' new names."""
    deopt = ", ".join(random.choice(values) for _ in range(random.randrange(4)))
    bundles = [f'"gc-live"({", ".join(f"{POINTER} {name}" for name in pointers)})'] + [f'"deopt"({deopt})'] * bool(deopt)
    lines = [
        f"%t{number} = {STATEPOINT}(i64 {random.randrange(100, 200)}, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0,"
        f" i32 0, i32 0) [{', '.join(bundles)}]"
    ]
    for place in range(len(pointers)):
        lines.append(f"%r{number}.{place} = call {POINTER} @llvm.experimental.gc.relocate.p1(token %t{number}, i32 {place}, i32 {place})")
    return lines, [f"%r{number}.{place}" for place in range(len(pointers))]


def function(number):
    pointers = [f"%p{i}" for i in range(random.randrange(1, 6))]
    integers = [f"%v{i}" for i in range(random.choice([1, 4, 16]))]
    values = [f"i64 {name}" for name in integers] + ["i64 5"]
    lines = [f"{name} = load volatile i64, ptr @word" for name in integers]
    alloca = random.choice(["", "", "", "%a = alloca i64, i64 %n", "%a = alloca i64, align 64", "%a = alloca [4 x i64]"])
    if alloca:
        lines = [alloca, "call void @use(ptr %a)", *lines]
        values.append("ptr %a")
    kinds = random.choice(["s", "m", "sm"])
    for step in range(random.randrange(1, 5)):
        if random.choice(kinds) == "m":
            lines += stack_map(values)
        else:
            more, pointers = statepoint(step, pointers, values)
            lines += more
    lines += [f"store volatile i64 {name}, ptr @word" for name in integers]
    lines += [f"store volatile {POINTER} {name}, ptr @root" for name in pointers]
    attributes = "uwtable" + random.choice(["", ' "frame-pointer"="all"', " optsize"])
    parameters = ", ".join(["i64 %n"] + [f"{POINTER} %p{i}" for i in range(len(pointers))])
    body = "".join(f"  {line}\n" for line in lines)
    return f'define void @f{number}({parameters}) {attributes} gc "statepoint-example" {{\n{body}  ret void\n}}\n'


def main():
    random.seed(int(sys.argv[1]))
    print("@word = global i64 0\n@root = global " + POINTER + " null")
    print("declare void @collect()\ndefine void @use(ptr %p) noinline optnone {\n  ret void\n}")
    print("declare void @llvm.experimental.stackmap(i64, i32, ...)")
    print("declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)")
    print(f"declare {POINTER} @llvm.experimental.gc.relocate.p1(token, i32, i32)")
    print("define i64 @run(i64 %n) {\n  ret i64 %n\n}")
    for number in range(40):
        print(function(number))


main()
