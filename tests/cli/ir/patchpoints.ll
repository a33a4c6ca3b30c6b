; Stack maps and patch points, which are no statepoints, beside a statepoint.

declare void @collect()
declare void @llvm.experimental.stackmap(i64, i32, ...)
declare void @llvm.experimental.patchpoint.void(i64, i32, ptr, i32, ...)
declare i64 @llvm.experimental.patchpoint.i64(i64, i32, ptr, i32, ...)
declare token @llvm.experimental.gc.statepoint.p0(i64 immarg, i32 immarg, ptr, i32 immarg, i32 immarg, ...)
declare i64 @llvm.experimental.gc.result.i64(token)

; No location; constants of both sizes; a value and the address of a stack object.
define i64 @maps(i64 %n) noinline {
  %object = alloca i64
  store i64 %n, ptr %object
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 4001, i32 0)
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 4002, i32 5, i32 -3, i64 1311768467463790320)
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 4003, i32 0, i64 %n, ptr %object)
  %value = load i64, ptr %object
  ret i64 %value
}

; Three constants first, the third a count: a plain stack map that has the shape of a statepoint.
define void @shaped() noinline {
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 4004, i32 0, i64 0, i64 0, i64 1, i64 5)
  ret void
}

; A patch point that is a row of nops, with a live value; one that calls; one that returns a value
; in any register. Registers are live after them, so they have live-outs.
define i64 @patches(i64 %a, i64 %b) noinline {
  call void (i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.void(i64 4005, i32 15, ptr null, i32 0, i64 %a)
  call void (i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.void(i64 4006, i32 20, ptr @collect, i32 0)
  %c = call anyregcc i64 (i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.i64(
      i64 4007, i32 15, ptr null, i32 1, i64 %b, i64 %a)
  %same = sub i64 %c, %c
  %sum = add i64 %a, %b
  %result = add i64 %sum, %same
  ret i64 %result
}

define i64 @run(i64 %n) gc "statepoint-example" {
  call void @shaped()
  %one = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 4008, i32 0, ptr elementtype(i64 (i64)) @maps, i32 1, i32 0, i64 %n, i32 0, i32 0)
  %a = call i64 @llvm.experimental.gc.result.i64(token %one)
  %two = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 4009, i32 0, ptr elementtype(i64 (i64, i64)) @patches, i32 2, i32 0, i64 %a, i64 %n, i32 0, i32 0)
  %result = call i64 @llvm.experimental.gc.result.i64(token %two)
  ret i64 %result
}
