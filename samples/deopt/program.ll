; program.ll - a compiler's output for the functions in interpreter.c: each turn of a loop has a safepoint, at which the program
; can leave the frame. The deopt state has the values of the variables, and consists of frames:
;
;   the function's number, the instruction at which the interpreter continues, the number of variables, and their values
;
; Where `mix` is inlined into `sum`, LLVM puts the state of the call, `sum`'s frame, before that of `mix`.

declare i1 @should_leave() "gc-leaf-function"
declare i64 @llvm.experimental.deoptimize.i64(...)

; mix(seed, count): 3 variables: seed, count, i
define i64 @mix(i64 %seed, i64 %count) uwtable gc "statepoint-example" {
start:
  br label %loop
loop:
  %value = phi i64 [ %seed, %start ], [ %next_value, %body ]
  %i = phi i64 [ 0, %start ], [ %next_i, %body ]
  %leave = call i1 @should_leave()
  br i1 %leave, label %out, label %stay
out:
  %narrow = trunc i64 %i to i16
  %result = call i64 (...) @llvm.experimental.deoptimize.i64() [ "deopt"(i32 0, i32 1, i32 3, i64 %value, i64 %count, i16 %narrow) ]
  ret i64 %result
stay:
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %product = mul i64 %value, 6364136223846793005
  %next_value = add i64 %product, %i
  %next_i = add i64 %i, 1
  br label %loop
done:
  ret i64 %value
}

; sum(count): 5 variables: count, i, total, and the arguments of the call
define i64 @sum(i64 %count) uwtable gc "statepoint-example" {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next_i, %body ]
  %total = phi i64 [ 7, %start ], [ %next_total, %body ]
  %leave = call i1 @should_leave()
  br i1 %leave, label %out, label %stay
out:
  %result = call i64 (...) @llvm.experimental.deoptimize.i64() [ "deopt"(i32 1, i32 2, i32 3, i64 %count, i64 %i, i64 %total) ]
  ret i64 %result
stay:
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %mixed = call i64 @mix(i64 %total, i64 %i) [ "deopt"(i32 1, i32 5, i32 3, i64 %count, i64 %i, i64 %total) ]
  %next_total = xor i64 %total, %mixed
  %next_i = add i64 %i, 1
  br label %loop
done:
  ret i64 %total
}
