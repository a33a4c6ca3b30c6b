#!/bin/bash
# Functions without unwind tables: the ends of their frames, pushed arguments included, and the places of callee-saved registers
# follow from their code, or stay unknown. The same functions with unwind tables are the reference.
. "$TOP/tests/matrix/cells.sh"

cat >functions.ll <<'IR'
declare void @collect()
declare void @many(ptr addrspace(1), ptr addrspace(1), i64, i64, i64, i64, i64, i64, i64, i64)
declare tailcc void @pops(ptr addrspace(1), ptr addrspace(1), i64, i64, i64, i64, i64, i64, i64, i64)
declare tailcc void @pops_8(i64)
declare tailcc ptr addrspace(1) @pops_8_too(i64)
declare tailcc void @takes_less(i64)
declare void @use(ptr addrspace(1))
declare void @fatal(ptr addrspace(1), ptr addrspace(1), i64, i64, i64, i64, i64, i64, i64, i64) noreturn

define i64 @told_pushed(ptr addrspace(1) %a, ptr addrspace(1) %b) #0 gc "statepoint-example" {
  call void @collect()
  call void @many(ptr addrspace(1) %a, ptr addrspace(1) %b, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  %v = load i64, ptr addrspace(1) %a
  ret i64 %v
}
define i64 @told_pointer(ptr addrspace(1) %a, ptr addrspace(1) %b) #1 gc "statepoint-example" {
  call void @collect()
  call void @many(ptr addrspace(1) %a, ptr addrspace(1) %b, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  %v = load i64, ptr addrspace(1) %a
  ret i64 %v
}
define i64 @told_loop(ptr addrspace(1) %a, i64 %n) #0 gc "statepoint-example" {
entry:
  %early = icmp eq i64 %n, 7
  br i1 %early, label %out, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %back ]
  %j = add i64 %i, 1
  call void @many(ptr addrspace(1) %a, ptr addrspace(1) %a, i64 %i, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  %odd = trunc i64 %i to i1
  br i1 %odd, label %more, label %back
more:
  call void @collect()
  br label %back
back:
  %done = icmp eq i64 %j, %n
  br i1 %done, label %out, label %loop
out:
  %v = load i64, ptr addrspace(1) %a
  ret i64 %v
}
define i64 @some_fatal(ptr addrspace(1) %a, i64 %n) #0 gc "statepoint-example" {
  call void @collect()
  %bad = icmp eq i64 %n, 0
  br i1 %bad, label %die, label %out
die:
  call void @fatal(ptr addrspace(1) %a, ptr addrspace(1) %a, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  unreachable
out:
  %v = load i64, ptr addrspace(1) %a
  ret i64 %v
}
define i64 @some_popped(ptr addrspace(1) %a, ptr addrspace(1) %b) #0 gc "statepoint-example" {
  call tailcc void @pops(ptr addrspace(1) %a, ptr addrspace(1) %b, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  call void @collect()
  %v = load i64, ptr addrspace(1) %a
  ret i64 %v
}
define i64 @some_switched(ptr addrspace(1) %a, i64 %n) #0 gc "statepoint-example" {
entry:
  switch i64 %n, label %out [ i64 0, label %zero
                              i64 1, label %one
                              i64 2, label %two
                              i64 3, label %three
                              i64 4, label %four ]
zero:
  call void @fatal(ptr addrspace(1) %a, ptr addrspace(1) %a, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  unreachable
one:
  call void @many(ptr addrspace(1) %a, ptr addrspace(1) %a, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  br label %out
two:
  call void @collect()
  br label %out
three:
  call void @many(ptr addrspace(1) %a, ptr addrspace(1) %a, i64 3, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  br label %out
four:
  call void @collect()
  br label %out
out:
  %v = load i64, ptr addrspace(1) %a
  ret i64 %v
}
define i64 @told_by_frame(ptr addrspace(1) %a, i64 %n) #0 gc "statepoint-example" {
  %room = alloca i8, i64 %n
  store volatile i8 1, ptr %room
  call void @collect()
  %v = load i64, ptr addrspace(1) %a
  ret i64 %v
}
define i64 @told_by_frame_of_popped(ptr addrspace(1) %a, i64 %n) #1 gc "statepoint-example" {
  call tailcc void @pops(ptr addrspace(1) %a, ptr addrspace(1) %a, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  call void @collect()
  %room = alloca i8, i64 %n
  store volatile i8 1, ptr %room
  %v = load i64, ptr addrspace(1) %a
  ret i64 %v
}
define tailcc void @not_by_a_jump(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h, ptr addrspace(1) %p) #2 gc "statepoint-example" {
  call tailcc void @pops_8(i64 %a) "gc-leaf-function"
  %q = call tailcc ptr addrspace(1) @pops_8_too(i64 %a)
  call void @use(ptr addrspace(1) %p) "gc-leaf-function"
  tail call tailcc void @takes_less(i64 %a) "gc-leaf-function"
  ret void
}
define i64 @not_by_calls_of_itself(ptr addrspace(1) %a, ptr addrspace(1) %b) #0 gc "statepoint-example" {
  call void asm sideeffect ".rept 5; call 1f; 1: popq %rcx; .endr", "~{rcx},~{memory}"() "gc-leaf-function" ; as much as @pops takes
  call void @collect()
  call tailcc void @pops(ptr addrspace(1) %a, ptr addrspace(1) %b, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  ret i64 0
}
define i64 @told_by_assembly(ptr addrspace(1) %a) #0 gc "statepoint-example" {
  call void asm sideeffect "pushq $$1; pushq $$2", "~{memory}"() "gc-leaf-function"
  call void @collect()
  %v = load i64, ptr addrspace(1) %a
  ret i64 %v
}
define i64 @told_without_return(ptr addrspace(1) %a) #0 gc "statepoint-example" {
entry:
  br label %loop
loop:
  call void @collect()
  %v = load volatile i64, ptr addrspace(1) %a
  br label %loop
}
attributes #0 = { nounwind minsize optsize "frame-pointer"="none" }
attributes #1 = { nounwind minsize optsize "frame-pointer"="all" }
attributes #2 = { nounwind "frame-pointer"="none" }
IR
sed 's/{ nounwind/{ nounwind uwtable/' functions.ll >tables.ll
cat >natives.c <<'C'
void collect(void) {}
void many(void) {}
void pops(void) {}
void pops_8(void) {}
void pops_8_too(void) {}
void takes_less(void) {}
void use(void) {}
void fatal(void) {}
int main(void) { return 0; }
C
"$LLVM/bin/clang" -O1 -c natives.c
for linker in lld bfd; do
  for ir in functions tables; do
    compile ./$ir.ll $ir.o -O2
    link_with $linker $ir natives.o $ir.o
    dump_json $ir >$ir.json
  done
  python3 - <<'PYTHON' || fail "$linker: other frames"
import json

def load(path):
    return [json.loads(line) for line in open(path)]

told, pushed = {}, 0
for ours, right in zip(load("functions.json"), load("tables.json"), strict=True):
    name = ours["function"]
    assert (name, ours["offset"]) == (right["function"], right["offset"])
    told.setdefault(name, []).append(bool(ours["frame"]))
    if ours["frame"]:
        if name == "told_by_assembly": # of which the unwind table doesn't know
            assert ours["frame"]["cfa_offset"] == right["frame"]["cfa_offset"] + 16, (ours, right)
        elif right["frame"]["cfa_register"] == ours["frame"]["cfa_register"]:
            assert ours["frame"] == right["frame"], (ours, right)
            pushed += ours["frame_size"] is not None and ours["frame"]["cfa_offset"] != ours["frame_size"] + 8
        else: # only one of them goes by the frame pointer
            assert ours["frame"]["saved"] == right["frame"]["saved"] and ours["frame"]["lost"] == [], (ours, right)
print(told)
for name, frames in told.items():
    if name.startswith("told"):
        assert all(frames), name
    elif name.startswith("not"):
        assert not any(frames), name
assert told["some_fatal"] == [True, True], "of two calls, one doesn't return"
assert told["some_switched"] == [True, True, True], "with the last call one that doesn't return"
assert told["some_popped"] == [True, False], "a callee has taken its arguments off the stack"
assert pushed >= 2, pushed
# With a frame pointer, the depth at a call with pushed arguments is larger than at another one.
depths = [ours["frame"]["cfa_offset"] for ours in load("functions.json") if ours["function"] == "told_pointer"]
assert len(depths) == 2 and depths[1] == depths[0] + 32, depths
PYTHON
  expect_status 0 "$stackpack" dump --function=told_pushed functions
  expect_output '^ *ends at rsp\+[0-9]+; from there: rip-8$'
  expect_status 0 "$stackpack" pack --always -o packed functions
  expect_output 'records? of frames that neither unwind tables nor the code tell of'
  expect_status 0 "$stackpack" verify functions packed
  dump_json packed >packed.json
  expect_same functions.json packed.json
done

# Machines with a register for return addresses: the same functions, but for those with assembly, and one with a large frame.
cat >large.ll <<'IR'
define i64 @told_large(ptr addrspace(1) %a, i64 %n) #0 gc "statepoint-example" {
  %room = alloca [9000 x i8]
  call void @use(ptr addrspace(1) %a) "gc-leaf-function"
  store volatile i8 1, ptr %room
  call void @collect()
  %v = load i64, ptr addrspace(1) %a
  ret i64 %v
}
IR
without() { # PATTERN: the functions that don't have it
  sed -E "/^declare.*($1)/d" functions.ll | cat - large.ll |
    awk -v pattern="$1" '/^define/ { text = ""; is_in = 1 } { text = text $0 "\n" } !is_in || /^}/ { if (text !~ pattern) printf "%s", text; text = ""; is_in = 0 }' |
    sed 's/"frame-pointer"="all"/& "sign-return-address"="non-leaf"/'
}
for machine in aarch64 riscv64; do
  can_run $machine || continue
  choose_machine $machine
  without "$([[ $machine == aarch64 ]] && echo asm || echo 'asm|tailcc')" >functions_link.ll # a convention that RISC-V hasn't
  sed 's/{ nounwind/{ nounwind uwtable/' functions_link.ll >tables_link.ll
  "$LLVM/bin/clang" "${clang_options[@]}" -O1 -c natives.c -o natives.$machine.o
  for ir in functions tables; do
    compile ./${ir}_link.ll $ir.$machine.o "${llc_options[@]}" -O2
    link_with lld $ir.$machine natives.$machine.o $ir.$machine.o
    dump_json $ir.$machine >$ir.json
  done
  python3 - <<'PYTHON' || fail "$machine: other frames"
import json

told = {}
for ours, right in zip(map(json.loads, open("functions.json")), map(json.loads, open("tables.json")), strict=True):
    told.setdefault(ours["function"], []).append(bool(ours["frame"]))
    if ours["frame"] and ours["frame"]["cfa_register"] == right["frame"]["cfa_register"]:
        assert ours["frame"] == right["frame"], (ours, right)
print(told)
for name, frames in told.items():
    assert name.startswith("not") or frames[0], name
    assert not name.startswith("told") or all(frames), name
PYTHON
done
