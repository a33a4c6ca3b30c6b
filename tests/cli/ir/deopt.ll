; Statepoints with deopt state and IDs of their own, in the form that rewrite-statepoints-for-gc leaves.

declare ptr addrspace(1) @allocate(i64)
declare void @collect()
declare token @llvm.experimental.gc.statepoint.p0(i64 immarg, i32 immarg, ptr, i32 immarg, i32 immarg, ...)
declare ptr addrspace(1) @llvm.experimental.gc.result.p1(token)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32 immarg, i32 immarg)

; Constants only: small, negative, and too large for 32 bits.
define void @constants() noinline gc "statepoint-example" {
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 1001, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0)
      [ "deopt"(i32 7, i32 -1, i64 1311768467463790320, i64 -81985529216486896, i32 7) ]
  ret void
}

; Values: an integer, and a reference that is in the deopt state and in the live set.
define i64 @values(i64 %n) noinline gc "statepoint-example" {
  %new = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 1002, i32 0, ptr elementtype(ptr addrspace(1) (i64)) @allocate, i32 1, i32 0, i64 16, i32 0, i32 0)
      [ "deopt"(i32 0, i64 %n) ]
  %object = call ptr addrspace(1) @llvm.experimental.gc.result.p1(token %new)
  store i64 %n, ptr addrspace(1) %object
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 1003, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0)
      [ "deopt"(i32 1, i64 %n, ptr addrspace(1) %object), "gc-live"(ptr addrspace(1) %object) ]
  %moved = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %point, i32 0, i32 0)
  %value = load i64, ptr addrspace(1) %moved
  %twice = add i64 %value, %n
  ret i64 %twice
}

define i64 @run(i64 %n) gc "statepoint-example" {
  %one = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 18446744073709551615, i32 0, ptr elementtype(void ()) @constants, i32 0, i32 0, i32 0, i32 0)
  %two = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 0, i32 0, ptr elementtype(i64 (i64)) @values, i32 1, i32 0, i64 %n, i32 0, i32 0)
  %result = call i64 @llvm.experimental.gc.result.i64(token %two)
  ret i64 %result
}

declare i64 @llvm.experimental.gc.result.i64(token)
