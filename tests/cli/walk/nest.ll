; nest.ll - managed code that calls C, which calls managed code. `outer` holds a node with 42 across all of it.
target triple = "x86_64-pc-linux-gnu"

declare ptr addrspace(1) @heap_allocate()
declare i64 @call_back(i64)

define i64 @inner(i64 %n) uwtable gc "statepoint-example" {
  %node = call ptr addrspace(1) @heap_allocate()
  ret i64 %n
}

define i64 @outer(i64 %n) uwtable gc "statepoint-example" {
  %node = call ptr addrspace(1) @heap_allocate()
  %place = getelementptr i64, ptr addrspace(1) %node, i64 2
  store i64 42, ptr addrspace(1) %place
  %ignored = call i64 @call_back(i64 %n)
  %value.place = getelementptr i64, ptr addrspace(1) %node, i64 2
  %value = load i64, ptr addrspace(1) %value.place
  ret i64 %value
}
