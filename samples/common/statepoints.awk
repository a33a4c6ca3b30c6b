# statepoints.awk - makes clang's textual IR ready for LLVM's pass rewrite-statepoints-for-gc.
#
#   awk -v leaves="one_function another" -f statepoints.awk module.ll
#
# A compiler for managed code emits these three things itself; C has no words for them:
#
# 1. Every function definition gets a GC strategy, `gc "statepoint-example"`. It is one that LLVM
#    brings along: the pass rewrites the functions that have it, and pointers of address space 1 are
#    references.
# 2. The functions named in `leaves` get the attribute "gc-leaf-function": no collection can happen
#    while they run. A call to one becomes no statepoint, which is smaller and faster, and wrong if
#    it is not true. A leaf has no strategy: its frames never lie under a collection, so it needs no
#    stack map.
# 3. The data layout gets `ni:1`, which says that pointers of address space 1 are not integral: an
#    optimiser may not take them through integers, nor copy memory that holds them as integers. What
#    is an integer for a while is no reference to the pass, and would not be updated.
#
# All of them stand at places that the grammar of IR fixes: attributes and strategy at the end of
# the line, before metadata such as `!dbg !7` and the brace; the layout within its quotes.

BEGIN {
  count = split(leaves, names)
  for (i = 1; i <= count; i++)
    is_leaf[names[i]] = 1
}

function function_name() {
  match($0, /@[A-Za-z0-9_.$]+\(/)
  return substr($0, RSTART + 1, RLENGTH - 2)
}

/^target datalayout = ".*"$/ { sub(/"$/, "-ni:1\"") }

/^declare / {
  if (function_name() in is_leaf)
    $0 = $0 " \"gc-leaf-function\""
}

/^define / {
  words = function_name() in is_leaf ? "\"gc-leaf-function\"" : "gc \"statepoint-example\""
  sub(/( ![A-Za-z.]+ ![0-9]+)* \{$/, " " words "&")
}

{ print }
