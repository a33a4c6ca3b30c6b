; Managed code whose stack is walked: see walk.c. Three functions call each other as deep as is asked for, from two places
; each, with two to four references that they use after the call.

declare void @bench_walk()
declare void @bench_use(ptr addrspace(1), ptr addrspace(1)) "gc-leaf-function"

define void @bench_even(i64 %depth, ptr addrspace(1) %a, ptr addrspace(1) %b) noinline gc "statepoint-example" {
  %is_last = icmp eq i64 %depth, 0
  br i1 %is_last, label %last, label %more
last:
  call void @bench_walk()
  call void @bench_use(ptr addrspace(1) %a, ptr addrspace(1) %b)
  ret void
more:
  %less = sub i64 %depth, 1
  %bit = and i64 %depth, 2
  %is_set = icmp eq i64 %bit, 0
  br i1 %is_set, label %one, label %other
one:
  call void @bench_odd(i64 %less, ptr addrspace(1) %b, ptr addrspace(1) %a)
  call void @bench_use(ptr addrspace(1) %a, ptr addrspace(1) %b)
  ret void
other:
  call void @bench_third(i64 %less, ptr addrspace(1) %a, ptr addrspace(1) %b)
  call void @bench_use(ptr addrspace(1) %b, ptr addrspace(1) %a)
  ret void
}

define void @bench_odd(i64 %depth, ptr addrspace(1) %a, ptr addrspace(1) %b) noinline gc "statepoint-example" {
  %is_last = icmp eq i64 %depth, 0
  br i1 %is_last, label %last, label %more
last:
  call void @bench_walk()
  call void @bench_use(ptr addrspace(1) %a, ptr addrspace(1) %b)
  ret void
more:
  %less = sub i64 %depth, 1
  call void @bench_third(i64 %less, ptr addrspace(1) %b, ptr addrspace(1) %b)
  call void @bench_use(ptr addrspace(1) %a, ptr addrspace(1) %b)
  ret void
}

; With derived references.
define void @bench_third(i64 %depth, ptr addrspace(1) %a, ptr addrspace(1) %b) noinline gc "statepoint-example" {
  %is_last = icmp eq i64 %depth, 0
  br i1 %is_last, label %last, label %more
last:
  call void @bench_walk()
  call void @bench_use(ptr addrspace(1) %a, ptr addrspace(1) %b)
  ret void
more:
  %less = sub i64 %depth, 1
  %in_a = getelementptr i8, ptr addrspace(1) %a, i64 %depth
  %in_b = getelementptr i8, ptr addrspace(1) %b, i64 16
  call void @bench_even(i64 %less, ptr addrspace(1) %a, ptr addrspace(1) %b)
  call void @bench_use(ptr addrspace(1) %in_a, ptr addrspace(1) %in_b)
  call void @bench_use(ptr addrspace(1) %a, ptr addrspace(1) %b)
  ret void
}
