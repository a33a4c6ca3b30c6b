; Ordinary managed code before the pass rewrite-statepoints-for-gc: a linked list is built, summed and reversed.

declare ptr addrspace(1) @allocate(i64)
declare void @collect()

define ptr addrspace(1) @cons(i64 %value, ptr addrspace(1) %tail) noinline gc "statepoint-example" {
  %node = call ptr addrspace(1) @allocate(i64 16)
  store ptr addrspace(1) %tail, ptr addrspace(1) %node
  %field = getelementptr i8, ptr addrspace(1) %node, i64 8
  store i64 %value, ptr addrspace(1) %field
  ret ptr addrspace(1) %node
}

define ptr addrspace(1) @numbers(i64 %n) noinline gc "statepoint-example" {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %list = phi ptr addrspace(1) [ null, %entry ], [ %longer, %loop ]
  %next = add i64 %i, 1
  %longer = call ptr addrspace(1) @cons(i64 %next, ptr addrspace(1) %list)
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret ptr addrspace(1) %longer
}

define i64 @sum(ptr addrspace(1) %list) noinline gc "statepoint-example" {
entry:
  br label %loop
loop:
  %node = phi ptr addrspace(1) [ %list, %entry ], [ %tail, %loop ]
  %total = phi i64 [ 0, %entry ], [ %larger, %loop ]
  call void @collect()
  %field = getelementptr i8, ptr addrspace(1) %node, i64 8
  %value = load i64, ptr addrspace(1) %field
  %larger = add i64 %total, %value
  %tail = load ptr addrspace(1), ptr addrspace(1) %node
  %end = icmp eq ptr addrspace(1) %tail, null
  br i1 %end, label %done, label %loop
done:
  ret i64 %larger
}

define ptr addrspace(1) @reverse(ptr addrspace(1) %list) noinline gc "statepoint-example" {
entry:
  br label %loop
loop:
  %node = phi ptr addrspace(1) [ %list, %entry ], [ %tail, %loop ]
  %done = phi ptr addrspace(1) [ null, %entry ], [ %longer, %loop ]
  %field = getelementptr i8, ptr addrspace(1) %node, i64 8
  %value = load i64, ptr addrspace(1) %field
  %longer = call ptr addrspace(1) @cons(i64 %value, ptr addrspace(1) %done)
  %tail = load ptr addrspace(1), ptr addrspace(1) %node
  %end = icmp eq ptr addrspace(1) %tail, null
  br i1 %end, label %finish, label %loop
finish:
  ret ptr addrspace(1) %longer
}

define i64 @run(i64 %n) gc "statepoint-example" {
  %list = call ptr addrspace(1) @numbers(i64 %n)
  %reversed = call ptr addrspace(1) @reverse(ptr addrspace(1) %list)
  %field = getelementptr i8, ptr addrspace(1) %reversed, i64 8
  %first = load i64, ptr addrspace(1) %field
  %forth = call i64 @sum(ptr addrspace(1) %list)
  %back = call i64 @sum(ptr addrspace(1) %reversed)
  %twice = add i64 %forth, %back
  %scaled = mul i64 %twice, 10
  %result = add i64 %scaled, %first
  ret i64 %result
}
