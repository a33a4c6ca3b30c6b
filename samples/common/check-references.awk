# check-references.awk - refuses IR in which a reference is somewhere that no stack map tells.
#
#   awk -v leaves="one_function another" -f check-references.awk module.ll
#
# It reads the optimised module, after rewrite-statepoints-for-gc. That pass lists the references
# that are values in a function when a call may collect. It takes no notice of
#
# - references in other memory than the heap: in a global variable, or in a local one that the
#   optimiser couldn't turn into values because its address is taken;
# - references that are integers or plain pointers for a while;
# - vectors of references: LLVM does list them, but in slots of more than 8 bytes, which the
#   collector of this sample doesn't know.
#
# The other thing that can be checked here is that leaves call leaves only. What this script lets
# pass may still be wrong: the collector checks each reference that it is given.
#
# Exits with 1 if there was anything to refuse.

BEGIN {
  count = split(leaves, names)
  for (i = 1; i <= count; i++)
    is_leaf[names[i]] = 1
}

function refuse(why) {
  printf "%s:%d: %s:\n  %s\n", FILENAME, FNR, why, $0 > "/dev/stderr"
  refused = 1
}

function callee_name() {
  match($0, /@[A-Za-z0-9_.$]+\(/)
  return substr($0, RSTART + 1, RLENGTH - 2)
}

/^define / { managed = / gc "/ }

# "ptr", not "ptr addrspace(1)": the place that is written or read is not in the heap.
/ (store|load) (atomic |volatile )*ptr addrspace\(1\).*, ptr [^a]/ {
  refuse("a reference in memory outside the heap")
}

/@llvm\.mem(cpy|move)\.p(0\.p1|1\.p0)\./ {
  refuse("an object is copied into or out of the heap as bytes")
}

/ (ptrtoint|ptrtoaddr) .*addrspace\(1\)/ || / inttoptr .* to ptr addrspace\(1\)/ {
  refuse("a reference is taken for an integer")
}

/ addrspacecast .*addrspace\(1\)/ { refuse("a reference is taken for a plain pointer") }

/<[0-9]+ x ptr addrspace\(1\)>/ { refuse("a vector of references") }

!managed && / call / {
  name = callee_name()
  if (name !~ /^llvm\./ && !(name in is_leaf))
    refuse("a GC leaf calls a function that is none")
}

END { exit refused }
