; Managed code whose frames have cost collectors their roots. Each function calls @collect, which moves all objects, and
; then loads from an object that it had before. @in_caller is between two of them.

declare void @collect()
declare void @take(i64, i64, i64, i64, i64, i64, i64, i64, i64, i64)
declare void @call_native()
declare ptr addrspace(1) @allocate(i64) "gc-leaf-function"
declare void @touch(ptr) "gc-leaf-function"

; An ordinary frame.
define i64 @plain(i64 %n) noinline gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 %n)
  call void @collect()
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}

; Its caller, with a reference of its own, and one into the same object.
define i64 @in_caller(i64 %n, ptr %callee) noinline gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 %n)
  %last = getelementptr i64, ptr addrspace(1) %p, i64 %n
  store i64 1000, ptr addrspace(1) %last
  %inner = call i64 %callee(i64 %n)
  %value = load i64, ptr addrspace(1) %p
  %more = load i64, ptr addrspace(1) %last
  %sum = add i64 %value, %inner
  %all = add i64 %sum, %more
  ret i64 %all
}

; The stack pointer moves after the prologue, by an amount that LLVM doesn't know.
define i64 @dynamic(i64 %n) noinline gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 %n)
  %array = alloca i64, i64 %n
  call void @touch(ptr %array)
  call void @collect()
  call void @touch(ptr %array)
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}

; And the stack is realigned: slots are addressed from a third register, %rbx.
define i64 @based(i64 %n) noinline gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 %n)
  %aligned = alloca [8 x i64], align 64
  %array = alloca i64, i64 %n
  call void @touch(ptr %aligned)
  call void @touch(ptr %array)
  call void @collect()
  call void @touch(ptr %array)
  call void @touch(ptr %aligned)
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}

; Arguments are pushed before the call, which the frame size doesn't count.
define i64 @pushes(i64 %n) noinline gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 %n)
  call void @take(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10)
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}

; Calls C that calls managed code again.
define i64 @out(i64 %n) noinline gc "statepoint-example" {
  %p = call ptr addrspace(1) @allocate(i64 %n)
  call void @call_native()
  %value = load i64, ptr addrspace(1) %p
  ret i64 %value
}

define i32 @compare(ptr %a, ptr %b) noinline gc "statepoint-example" {
  %sum = call i64 @in_caller(i64 3, ptr @plain)
  %right = icmp eq i64 %sum, 1006
  %result = select i1 %right, i32 -1, i32 1
  ret i32 %result
}
