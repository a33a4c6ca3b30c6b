; managed.ll - the managed part of the program, as a compiler with a precise collector gives it to LLVM.
;
;   list = nil
;   for i = n down to 1: list = node(square(i), list)
;   return the sum of the list's values
;
; References are pointers of address space 1. Each call at which objects can move is a statepoint: it lists the live
; references ("gc-live"), and the code after it uses their relocated values. (A frontend can emit plain calls instead:
; the pass rewrite-statepoints-for-gc turns them into statepoints, as in samples/semispace.)

declare ptr addrspace(1) @heap_allocate() ; a node {forward, next, value}, all zero
declare i64 @square(i64)                  ; C; it allocates nothing, but the compiler can't see that

define ptr addrspace(1) @cons(i64 %value, ptr addrspace(1) %next) noinline uwtable gc "statepoint-example" {
  %call = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 2882400000, i32 0,
              ptr elementtype(ptr addrspace(1) ()) @heap_allocate, i32 0, i32 0, i32 0, i32 0)
              ["gc-live"(ptr addrspace(1) %next)]
  %node = call ptr addrspace(1) @llvm.experimental.gc.result.p1(token %call)
  %moved = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %call, i32 0, i32 0)
  %field.next = getelementptr i64, ptr addrspace(1) %node, i64 1
  store ptr addrspace(1) %moved, ptr addrspace(1) %field.next
  %field.value = getelementptr i64, ptr addrspace(1) %node, i64 2
  store i64 %value, ptr addrspace(1) %field.value
  ret ptr addrspace(1) %node
}

define i64 @sum_of_squares(i64 %n) uwtable gc "statepoint-example" {
entry:
  br label %build

build: ; n is at least 1
  %i = phi i64 [%n, %entry], [%i.less, %build]
  %list = phi ptr addrspace(1) [null, %entry], [%longer, %build]
  %call.square = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 2882400000, i32 0,
              ptr elementtype(i64 (i64)) @square, i32 1, i32 0, i64 %i, i32 0, i32 0)
              ["gc-live"(ptr addrspace(1) %list)]
  %value = call i64 @llvm.experimental.gc.result.i64(token %call.square)
  %list.moved = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %call.square, i32 0, i32 0)
  %call.cons = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 2882400000, i32 0,
              ptr elementtype(ptr addrspace(1) (i64, ptr addrspace(1))) @cons, i32 2, i32 0,
              i64 %value, ptr addrspace(1) %list.moved, i32 0, i32 0)
  %longer = call ptr addrspace(1) @llvm.experimental.gc.result.p1(token %call.cons)
  %i.less = sub i64 %i, 1
  %done = icmp eq i64 %i.less, 0
  br i1 %done, label %add, label %build

add:
  %node = phi ptr addrspace(1) [%longer, %build], [%next, %add]
  %sum = phi i64 [0, %build], [%sum.more, %add]
  %field.value = getelementptr i64, ptr addrspace(1) %node, i64 2
  %node.value = load i64, ptr addrspace(1) %field.value
  %sum.more = add i64 %sum, %node.value
  %field.next = getelementptr i64, ptr addrspace(1) %node, i64 1
  %next = load ptr addrspace(1), ptr addrspace(1) %field.next
  %end = icmp eq ptr addrspace(1) %next, null
  br i1 %end, label %finish, label %add

finish:
  ret i64 %sum.more
}

declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.result.p1(token)
declare i64 @llvm.experimental.gc.result.i64(token)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
