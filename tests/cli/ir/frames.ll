; Frames and stack objects: allocas in a live set, a frame of unknown size, an over-aligned one.
; And what a statepoint says of its call: a calling convention, and a transition out of managed code.

declare void @collect()
declare token @llvm.experimental.gc.statepoint.p0(i64 immarg, i32 immarg, ptr, i32 immarg, i32 immarg, ...)
declare i64 @llvm.experimental.gc.result.i64(token)

; Two stack objects that the collector is told of.
define i64 @objects(i64 %n) noinline gc "statepoint-example" {
  %first = alloca [4 x i64]
  %second = alloca [2 x i64]
  store i64 %n, ptr %first
  store i64 %n, ptr %second
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 3001, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0)
      [ "gc-live"(ptr %first, ptr %second) ]
  %a = load i64, ptr %first
  %b = load i64, ptr %second
  %sum = add i64 %a, %b
  ret i64 %sum
}

; An alloca of variable size.
define i64 @dynamic(i64 %n) noinline gc "statepoint-example" {
  %array = alloca i64, i64 %n
  store i64 %n, ptr %array
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 3002, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0)
      [ "gc-live"(ptr %array) ]
  %value = load i64, ptr %array
  ret i64 %value
}

; A stack that is realigned.
define i64 @aligned(i64 %n) noinline gc "statepoint-example" {
  %array = alloca [8 x i64], align 64
  store i64 %n, ptr %array
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 3003, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 0, i32 0, i32 0)
      [ "gc-live"(ptr %array) ]
  %value = load i64, ptr %array
  ret i64 %value
}

define fastcc i64 @fast(i64 %n) noinline gc "statepoint-example" {
  %point = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 3004, i32 0, ptr elementtype(void ()) @collect, i32 0, i32 1, i32 0, i32 0)
      [ "gc-transition"(i64 %n) ]
  ret i64 %n
}

define i64 @run(i64 %n) gc "statepoint-example" {
  %one = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 3005, i32 0, ptr elementtype(i64 (i64)) @objects, i32 1, i32 0, i64 %n, i32 0, i32 0)
  %a = call i64 @llvm.experimental.gc.result.i64(token %one)
  %two = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 3006, i32 0, ptr elementtype(i64 (i64)) @dynamic, i32 1, i32 0, i64 %n, i32 0, i32 0)
  %b = call i64 @llvm.experimental.gc.result.i64(token %two)
  %three = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 3007, i32 0, ptr elementtype(i64 (i64)) @aligned, i32 1, i32 0, i64 %n, i32 0, i32 0)
  %c = call i64 @llvm.experimental.gc.result.i64(token %three)
  %four = call fastcc token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 3008, i32 0, ptr elementtype(i64 (i64)) @fast, i32 1, i32 0, i64 %n, i32 0, i32 0)
  %d = call i64 @llvm.experimental.gc.result.i64(token %four)
  %ab = add i64 %a, %b
  %cd = add i64 %c, %d
  %result = add i64 %ab, %cd
  ret i64 %result
}
