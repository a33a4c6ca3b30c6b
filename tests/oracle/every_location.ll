; One module with every kind of stack map record, location and live-out that LLVM writes for x86-64 and
; AArch64. test_oracle.py compiles it, and compares the oracle's reading with that of llvm-readobj.

declare void @callee()
declare void @use(ptr)
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare void @llvm.experimental.stackmap(i64, i32, ...)
declare void @llvm.experimental.patchpoint.void(i64, i32, ptr, i32, ...)

; Deopt state with constants of each size; a derived pointer; a null; an odd number of locations.
define ptr addrspace(1) @statepoint_with_deopt(ptr addrspace(1) %object, i64 %local)
    gc "statepoint-example" {
  %inner = getelementptr i8, ptr addrspace(1) %object, i64 12
  %token = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 2882400000, i32 0, ptr elementtype(void ()) @callee, i32 0, i32 0, i32 0, i32 0)
      [ "deopt"(i32 5, i64 -1, i64 1311768467463790320, i64 %local, i32 -7),
        "gc-live"(ptr addrspace(1) %object, ptr addrspace(1) %inner, ptr addrspace(1) null) ]
  %object.after = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %token, i32 0, i32 0)
  %inner.after = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %token, i32 0, i32 1)
  %null.after = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %token, i32 2, i32 2)
  %same = icmp eq ptr addrspace(1) %object.after, %null.after
  %result = select i1 %same, ptr addrspace(1) %object.after, ptr addrspace(1) %inner.after
  ret ptr addrspace(1) %result
}

; A calling convention and flags of its own; stack objects among the live values.
define void @statepoint_with_allocas(ptr addrspace(1) %object) gc "statepoint-example" {
  %slot = alloca ptr addrspace(1)
  %other = alloca ptr addrspace(1)
  store ptr addrspace(1) %object, ptr %slot
  store ptr addrspace(1) %object, ptr %other
  %token = call fastcc token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 7, i32 0, ptr elementtype(void ()) @callee, i32 0, i32 2, i32 0, i32 0)
      [ "gc-live"(ptr %slot, ptr %other, ptr addrspace(1) %object) ]
  %after = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %token, i32 2, i32 2)
  store ptr addrspace(1) %after, ptr %slot
  call void @use(ptr %slot)
  ret void
}

define void @stack_maps(i64 %first, i32 %second, double %third) {
  %local = alloca [3 x i64]
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 -1, i32 0)
  call void (i64, i32, ...) @llvm.experimental.stackmap(
      i64 1, i32 0, i64 %first, i32 %second, double %third, ptr %local,
      i64 2147483647, i64 2147483648, i64 -2147483648, i64 4294967296, i64 -1)
  call void @use(ptr %local)
  ret void
}

; A frame of unknown size, in a function that other modules cannot see.
define internal void @dynamic_frame(i64 %count) {
  %space = alloca i8, i64 %count
  call void @use(ptr %space)
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 2, i32 0, ptr %space)
  ret void
}

; Live-outs.
define i64 @patch_point(i64 %first, i64 %second) {
  call anyregcc void (i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.void(
      i64 3, i32 15, ptr null, i32 2, i64 %first, i64 %second, i64 99)
  %sum = add i64 %first, %second
  ret i64 %sum
}

; Two functions that are one to a linker with identical code folding.
define void @twin(ptr addrspace(1) %object) gc "statepoint-example" {
  %token = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 4, i32 0, ptr elementtype(void ()) @callee, i32 0, i32 0, i32 0, i32 0)
  ret void
}

define void @other_twin(ptr addrspace(1) %object) gc "statepoint-example" {
  %token = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(
      i64 4, i32 0, ptr elementtype(void ()) @callee, i32 0, i32 0, i32 0, i32 0)
  ret void
}
