#!/bin/bash
# Copies of inline functions (linkonce_odr in COMDAT groups) that were compiled differently, -O0 and -O2: the linker keeps
# one body, and only its stack maps count. A collector that moves all objects runs on the raw program and on the packed
# one; the records equal the records of objects split before linking, where each map goes with its body.
. "$TOP/tests/cli/common.sh"

cat >one.ll <<'IR'
$cons = comdat any
$numbers = comdat any
$total = comdat any

declare ptr addrspace(1) @heap_allocate()
declare i64 @square(i64)
declare i64 @other_sum(i64)

define linkonce_odr ptr addrspace(1) @cons(i64 %value, ptr addrspace(1) %next) noinline comdat gc "statepoint-example" {
  %node = call ptr addrspace(1) @heap_allocate()
  %field.next = getelementptr i64, ptr addrspace(1) %node, i64 1
  store ptr addrspace(1) %next, ptr addrspace(1) %field.next
  %field.value = getelementptr i64, ptr addrspace(1) %node, i64 2
  store i64 %value, ptr addrspace(1) %field.value
  ret ptr addrspace(1) %node
}

define linkonce_odr ptr addrspace(1) @numbers(i64 %n) noinline comdat gc "statepoint-example" {
entry:
  br label %loop
loop:
  %i = phi i64 [%n, %entry], [%less, %loop]
  %list = phi ptr addrspace(1) [null, %entry], [%longer, %loop]
  %value = call i64 @square(i64 %i)
  %longer = call ptr addrspace(1) @cons(i64 %value, ptr addrspace(1) %list)
  %less = sub i64 %i, 1
  %done = icmp eq i64 %less, 0
  br i1 %done, label %end, label %loop
end:
  ret ptr addrspace(1) %longer
}

define linkonce_odr i64 @total(ptr addrspace(1) %a, ptr addrspace(1) %b) noinline comdat gc "statepoint-example" {
entry:
  %fresh = call ptr addrspace(1) @heap_allocate()
  br label %loop
loop:
  %x = phi ptr addrspace(1) [%a, %entry], [%x.next, %loop]
  %y = phi ptr addrspace(1) [%b, %entry], [%y.next, %loop]
  %sum = phi i64 [0, %entry], [%sum.y, %loop]
  %new = call ptr addrspace(1) @heap_allocate()
  %x.value.at = getelementptr i64, ptr addrspace(1) %x, i64 2
  %x.value = load i64, ptr addrspace(1) %x.value.at
  %sum.x = add i64 %sum, %x.value
  %y.value.at = getelementptr i64, ptr addrspace(1) %y, i64 2
  %y.value = load i64, ptr addrspace(1) %y.value.at
  %sum.y = add i64 %sum.x, %y.value
  %x.next.at = getelementptr i64, ptr addrspace(1) %x, i64 1
  %x.next = load ptr addrspace(1), ptr addrspace(1) %x.next.at
  %y.next.at = getelementptr i64, ptr addrspace(1) %y, i64 1
  %y.next = load ptr addrspace(1), ptr addrspace(1) %y.next.at
  %end = icmp eq ptr addrspace(1) %x.next, null
  br i1 %end, label %done, label %loop
done:
  %fresh.at = getelementptr i64, ptr addrspace(1) %fresh, i64 2
  %zero = load i64, ptr addrspace(1) %fresh.at
  %result = add i64 %sum.y, %zero
  ret i64 %result
}

define i64 @ONE(i64 %n) gc "statepoint-example" {
  %a = call ptr addrspace(1) @numbers(i64 %n)
  %b = call ptr addrspace(1) @numbers(i64 %n)
  %twice = call i64 @total(ptr addrspace(1) %a, ptr addrspace(1) %b)
  %more = call i64 @OTHER(i64 %n)
  %sum = add i64 %twice, %more
  ret i64 %sum
}
IR
sed '/^declare i64 @other_sum/d; s/@ONE/@other_sum/; s/@OTHER(i64 %n)/@square(i64 0)/' one.ll >two.ll
sed -i 's/@ONE/@sum_of_squares/; s/@OTHER/@other_sum/' one.ll
"$LLVM/bin/opt" -O2 -S two.ll -o fast.ll
compile ./one.ll one.o -O0 -relocation-model=pic
compile ./fast.ll two.o -O2 -relocation-model=pic
# shellcheck disable=SC2046 # a list of words
"$LLVM/bin/clang" -O1 -fPIE -I"$TOP/runtime" $(library_flags) -c "$TOP/samples/builds/collector.c" -o collector.o
mkdir split
expect_status 0 "$stackpack" split --output-directory=split one.o two.o

cells=0
for linker in lld bfd gold mold; do
  for order in "one.o two.o" "two.o one.o"; do
    kinds=("-no-pie")
    [[ $linker != lld && $linker != bfd ]] || kinds+=("-pie -Wl,-z,notext")
    for kind in "${kinds[@]}"; do
      read -r first second <<<"$order"
      # shellcheck disable=SC2046,SC2086 # lists of words
      {
        link="$LLVM/bin/clang -fuse-ld=$linker -Wno-unused-command-line-argument $kind $(library_flags)"
        $link -o app collector.o $first $second "$BUILD/libstackpack.a" 2>log || { cat log; fail "can't link"; }
        $link -o split.app collector.o split/$first split/$second "$BUILD/libstackpack.a" 2>log || { cat log; fail "can't link"; }
      }
      expect_status 0 "$stackpack" pack --always --report -o packed app
      expect_output '^app: left out 3 functions, with [0-9]+ records of other code than is there$'
      [[ $(grep -cE '^  left out at 0x[0-9a-f]+ (cons|numbers|total): ' out) == 3 ]] || { cat out; fail "$linker $order: others are left out"; }
      mv out report
      expect_status 0 "$stackpack" pack --always --quiet --report -o packed app
      tail -n +2 report | cmp - out || fail "$linker $order: with --quiet, the report is another one"
      expect_status 0 "$stackpack" verify app packed
      dump_json packed >packed.json
      dump_json app >raw.json
      expect_same raw.json packed.json
      dump_json split.app >split.json
      nm split.app | awk '$2 ~ /[tTwW]/ { print $3 }' >symbols
      count=$(python3 "$TOP/tests/cli/split_compare.py" packed.json split.json symbols) || fail "$linker $order: other records than of split objects"
      [[ $count == "$(wc -l <packed.json)" ]] || fail "$linker $order: $count records of $(wc -l <packed.json)"
      for program in app packed; do
        expect_status 0 ./$program
        expect_output '^1353400$' # four times the sum of the first hundred squares
        grep -qE '^[1-9][0-9]{2,} collections' err || { cat err; fail "no collections"; }
      done
      cells=$((cells + 1))
    done
  done
done
((cells == 12)) || fail "$cells cells"
