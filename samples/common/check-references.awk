# check-references.awk - refuses IR with references that a stack map can't describe.
#
#   awk -v leaves="one_function another" -f check-references.awk module.ll
#
# It reads the optimised module, after rewrite-statepoints-for-gc. That pass lists the references
# that are values in a function when a call may collect. It ignores
#
# - references in other memory than the heap: in a global variable, or in a local one that the
#   optimiser couldn't turn into values because its address is taken;
# - references that are integers or plain pointers for a while;
# - vectors of references: LLVM does list them, but in slots of more than 8 bytes, which the
#   samples' collectors can't update.
#
# The script also checks that leaves call only leaves. IR that passes may still be wrong: the
# collector checks each reference.
#
# Exits with 1 if it refuses anything.

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

# The operand "ptr", without "addrspace(1)", is an address outside the heap.
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
