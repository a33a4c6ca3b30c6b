; Managed functions that C can't say: a vector of references, and calls by conventions other than C's. `most` saves nearly all
; registers, and its caller may keep references in any of these; `many` takes its arguments off the stack. See program.h.

define i64 @managed_vector(ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n) noinline gc "statepoint-example" {
  %one = insertelement <2 x ptr addrspace(1)> poison, ptr addrspace(1) %a, i64 0
  %two = insertelement <2 x ptr addrspace(1)> %one, ptr addrspace(1) %b, i64 1
  %c = call ptr addrspace(1) @allocate(i64 %n)
  %which = and i64 %n, 1
  %chosen = extractelement <2 x ptr addrspace(1)> %two, i64 %which
  %x = call i64 @value(ptr addrspace(1) %chosen)
  %y = call i64 @value(ptr addrspace(1) %c)
  %sum = add i64 %x, %y
  ret i64 %sum
}

define i64 @value(ptr addrspace(1) %a) alwaysinline gc "statepoint-example" {
  %at = getelementptr i64, ptr addrspace(1) %a, i64 1
  %value = load i64, ptr addrspace(1) %at
  ret i64 %value
}

define preserve_mostcc i64 @most(ptr addrspace(1) %a, i64 %n) noinline gc "statepoint-example" {
  %b = call ptr addrspace(1) @allocate(i64 %n)
  %x = call i64 @value(ptr addrspace(1) %a)
  %y = call i64 @value(ptr addrspace(1) %b)
  %sum = sub i64 %x, %y
  ret i64 %sum
}

define tailcc i64 @many(ptr addrspace(1) %a, i64 %n, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h, i64 %i, i64 %j, ptr addrspace(1) %b)
    noinline gc "statepoint-example" {
  %c = call ptr addrspace(1) @allocate(i64 %n)
  %x = call i64 @value(ptr addrspace(1) %a)
  %y = call i64 @value(ptr addrspace(1) %b)
  %z = call i64 @value(ptr addrspace(1) %c)
  %sum = add i64 %x, %y
  %more = add i64 %sum, %z
  %all = add i64 %more, %j
  ret i64 %all
}

define i64 @managed_conventions(ptr addrspace(1) %a, i64 %n) noinline gc "statepoint-example" {
  %b = call ptr addrspace(1) @allocate(i64 %n)
  %one = call preserve_mostcc i64 @most(ptr addrspace(1) %b, i64 %n)
  %two = call tailcc i64 @many(ptr addrspace(1) %a, i64 %n, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 %one, ptr addrspace(1) %b)
  %three = call tailcc i64 @many(ptr addrspace(1) %b, i64 %n, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 %two, ptr addrspace(1) %a)
  %x = call i64 @value(ptr addrspace(1) %a)
  %y = call i64 @value(ptr addrspace(1) %b)
  %sum = add i64 %x, %y
  %all = add i64 %sum, %three
  ret i64 %all
}
