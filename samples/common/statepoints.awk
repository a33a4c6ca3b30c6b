# statepoints.awk - makes clang's textual IR ready for LLVM's pass rewrite-statepoints-for-gc.
#
#   awk -v leaves="one_function another" -f statepoints.awk module.ll
#
# A compiler for managed code emits these three things itself; C can't express them:
#
# 1. Every function definition gets a GC strategy, `gc "statepoint-example"`. LLVM has this strategy
#    built in: the pass rewrites the functions that have it, and pointers of address space 1 are
#    references.
# 2. The functions named in `leaves` get the attribute "gc-leaf-function": no collection can happen
#    while they run. A call to one stays a plain call, which is smaller and faster. A leaf has no
#    strategy: its frames are never on the stack during a collection, so it needs no stack map.
# 3. The data layout gets `ni:1`, so that pointers of address space 1 are not integral: an optimiser
#    may neither convert them to integers and back, nor copy memory that holds them as integers. The
#    pass would miss such references, and the collector wouldn't update them.
#
# The grammar of IR fixes their places: attributes and strategy at the end of
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
