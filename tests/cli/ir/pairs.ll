; Derived references: pointers into an object, live across a call together with their base, and without it.

declare ptr addrspace(1) @allocate(i64)
declare void @collect()
declare token @llvm.experimental.gc.statepoint.p0(i64 immarg, i32 immarg, ptr, i32 immarg, i32 immarg, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32 immarg, i32 immarg)
declare i64 @llvm.experimental.gc.result.i64(token)

; Pairs (object, object) and (object, field).
define i64 @with_base(ptr addrspace(1) %object, i64 %n) noinline gc "statepoint-example" {
  %field = getelementptr i64, ptr addrspace(1) %object, i64 %n
  store i64 %n, ptr addrspace(1) %field
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 2001, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0)
      [ "gc-live"(ptr addrspace(1) %object, ptr addrspace(1) %field) ]
  %object2 = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %point, i32 0, i32 0)
  %field2 = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %point, i32 0, i32 1)
  %first = load i64, ptr addrspace(1) %object2
  %value = load i64, ptr addrspace(1) %field2
  %result = add i64 %first, %value
  ret i64 %result
}

; Only (object, field): nobody uses the object itself after the call.
define i64 @without_base(ptr addrspace(1) %object, i64 %n) noinline gc "statepoint-example" {
  %field = getelementptr i64, ptr addrspace(1) %object, i64 %n
  store i64 %n, ptr addrspace(1) %field
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 2002, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0)
      [ "gc-live"(ptr addrspace(1) %object, ptr addrspace(1) %field) ]
  %field2 = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %point, i32 0, i32 1)
  %value = load i64, ptr addrspace(1) %field2
  ret i64 %value
}

define i64 @run(i64 %n) gc "statepoint-example" {
  %object = call ptr addrspace(1) @allocate(i64 64)
  %one = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 2003, i32 0, ptr elementtype(i64 (ptr addrspace(1), i64)) @with_base, i32 2, i32 0,
      ptr addrspace(1) %object, i64 %n, i32 0, i32 0)
      [ "gc-live"(ptr addrspace(1) %object) ]
  %moved = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %one, i32 0, i32 0)
  %a = call i64 @llvm.experimental.gc.result.i64(token %one)
  %two = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 2004, i32 0, ptr elementtype(i64 (ptr addrspace(1), i64)) @without_base, i32 2, i32 0,
      ptr addrspace(1) %moved, i64 %n, i32 0, i32 0)
  %b = call i64 @llvm.experimental.gc.result.i64(token %two)
  %result = add i64 %a, %b
  ret i64 %result
}
