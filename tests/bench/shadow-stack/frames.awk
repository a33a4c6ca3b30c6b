# frames.awk - puts the references that wait for a call into a frame of roots, instead of into a stack map.
#
#   awk -f frames.awk module.ll
#
# It reads optimised IR in which rewrite-statepoints-for-gc has made the collector visible. A call that may collect
# looks like this there, but for details: what is called, the references that wait for it, and what becomes of them.
#
#   %token = call token @llvm.experimental.gc.statepoint(..., @heap_allocate, ...) [ "gc-live"(%list, %link) ]
#   %cell = call @llvm.experimental.gc.result(token %token)
#   %list.2 = call @llvm.experimental.gc.relocate(token %token, i32 0, i32 0)  ; base %list, derived %list
#   %link.2 = call @llvm.experimental.gc.relocate(token %token, i32 0, i32 1)  ; base %list, derived %link
#
# The same with a frame is ordinary code. Before the call the bases go to memory that the collector knows, and after it
# they come from there. The collector knows no derived references: of such a one the distance to its base is kept.
#
#   %gc.distance.1 = sub %link, %list
#   store %list, %gc.root.0
#   %cell = call @heap_allocate(...)
#   %list.2 = load %gc.root.0
#   %link.2 = getelementptr %list.2, %gc.distance.1
#
# The roots are declared by @llvm.gcroot, and each function that has any gets the strategy "shadow-stack": with that,
# llc makes a frame of them, which it links into a list when the function is entered, and takes out when it returns.
#
# A root may serve one reference after the other. But a reference that waits for many calls should stay in one root:
# then an optimiser sees that most of the stores write what is there. So references that succeed one another, by a
# relocation or a phi, form a chain, and chains that never wait for the same call may share a root. What a root holds
# when nothing waits in it is an older reference or null: the collector keeps it valid, and its object alive.
#
# Exits with 1 where a relocation doesn't follow its call at once, which this script relies on.

/^define .* gc "statepoint-example"/ { in_function = 1; count = 0 }

in_function {
  line[++count] = $0
  if (/^\}/) {
    read_function()
    choose_roots()
    write_function()
    in_function = 0
  }
  next
}

{ print }

END {
  print "declare void @llvm.gcroot(ptr, ptr)"
  exit refused
}

# ---- What a function's lines say ----

function is_statepoint(text) { return text ~ /@llvm\.experimental\.gc\.statepoint\./ }
function is_relocate(text) { return text ~ / call .*@llvm\.experimental\.gc\.relocate\./ }
function is_result(text) { return text ~ / call .*@llvm\.experimental\.gc\.result\./ }

# The name before the equals sign.
function name_of(text) {
  match(text, /%[-A-Za-z0-9_.$]+/)
  return substr(text, RSTART, RLENGTH)
}

# The token among the operands of a relocation or a result.
function token_of(text) {
  sub(/.*\(token /, "", text)
  return name_of(text)
}

# The place of the parenthesis that closes the one at `start`.
function closing(text, start, depth, i, c) {
  for (i = start; i <= length(text); i++) {
    c = substr(text, i, 1)
    depth += (c == "(") - (c == ")")
    if (depth == 0)
      return i
  }
}

function read_function(i, j, token, part, parts, operands) {
  split("", live) # by token and index: the references that wait
  split("", waits) # by token and reference: whether it must be in a root
  split("", successor) # a reference that is of the same chain
  split("", result) # by token: the name of what the call returns
  for (i = 1; i <= count; i++) {
    if (is_statepoint(line[i])) {
      token = name_of(line[i])
      if (!match(line[i], /\[ "gc-live"\(.*\) \]/))
        continue
      operands = substr(line[i], RSTART + 12, RLENGTH - 15)
      parts = split(operands, part, /,? ?ptr addrspace\(1\) /)
      for (j = 2; j <= parts; j++)
        live[token, j - 2] = part[j]
    } else if (is_relocate(line[i])) {
      read_relocation(line[i])
      waits[token_of(line[i]), live[token_of(line[i]), base]] = 1
      if (base == derived)
        join(name_of(line[i]), live[token_of(line[i]), base])
    } else if (is_result(line[i])) {
      result[token_of(line[i])] = name_of(line[i])
    } else if (line[i] ~ / = phi ptr addrspace\(1\) /) {
      parts = split(line[i], part, /\[ /)
      for (j = 2; j <= parts; j++)
        if (part[j] ~ /^%/)
          join(name_of(line[i]), name_of(part[j]))
    }
  }
}

# Sets `base` and `derived`, the indexes among the references that wait.
function read_relocation(text, part) {
  sub(/.*\(token /, "", text)
  split(text, part, /, i32 |\)/)
  base = part[2]
  derived = part[3]
}

# ---- Which root is whose ----

# A chain is known by its last link.
function chain(reference) {
  while (reference in successor)
    reference = successor[reference]
  return reference
}

function join(one, other) {
  if (chain(one) != chain(other))
    successor[chain(other)] = chain(one)
}

# Sets `waiting`: the references that wait in roots for the call, each once; and returns how many.
function list_waiting(token, i, n, seen) {
  split("", seen)
  for (i = 0; (token, i) in live; i++)
    if ((token, live[token, i]) in waits && !(live[token, i] in seen)) {
      waiting[n++] = live[token, i]
      seen[live[token, i]] = 1
    }
  return n
}

# The first root for which taken[key, root] isn't set.
function first_free(taken, key, root) {
  for (root = 0; (key, root) in taken; root++)
    ;
  if (root >= roots)
    roots = root + 1
  return root
}

# Sets root_of[token, reference] and the number of roots.
function choose_roots(i, j, k, n, token, root, together, chain_root, excluded, occupied) {
  split("", root_of)
  split("", together) # by two chains: whether they wait for the same call
  split("", chain_root)
  split("", excluded) # by chain and root: whether a chain that has the root waits together with it
  split("", occupied) # by token and root
  roots = 0
  for (i = 1; i <= count; i++) {
    if (!is_statepoint(line[i]))
      continue
    n = list_waiting(name_of(line[i]))
    for (j = 0; j < n; j++)
      for (k = 0; k < n; k++)
        together[chain(waiting[j]), chain(waiting[k])] = 1
  }
  for (i = 1; i <= count; i++) {
    if (!is_statepoint(line[i]))
      continue
    token = name_of(line[i])
    n = list_waiting(token)
    for (j = 0; j < n; j++)
      choose_chain_root(chain(waiting[j]), together, chain_root, excluded)
    for (j = 0; j < n; j++) {
      root = chain_root[chain(waiting[j])]
      if (!((token, root) in occupied))
        occupy(token, waiting[j], root, occupied)
    }
    for (j = 0; j < n; j++) # two of one chain: the second one can't have the chain's root
      if (!((token, waiting[j]) in root_of))
        occupy(token, waiting[j], first_free(occupied, token), occupied)
  }
}

function choose_chain_root(name, together, chain_root, excluded, pair, both) {
  if (name in chain_root)
    return
  chain_root[name] = first_free(excluded, name)
  for (pair in together) {
    split(pair, both, SUBSEP)
    if (both[1] == name)
      excluded[both[2], chain_root[name]] = 1
  }
}

function occupy(token, reference, root, occupied) {
  root_of[token, reference] = root
  occupied[token, root] = 1
}

# ---- The function with a frame ----

function write_function(i, token) {
  sub(/ gc "statepoint-example"/, " gc \"shadow-stack\"", line[1])
  print line[1]
  i = 2
  if (line[i] ~ /^[-A-Za-z0-9_.$]+:/)
    print line[i++] # the label of the first block
  write_roots()
  for (; i <= count; i++) {
    if (is_statepoint(line[i])) {
      token = name_of(line[i])
      write_distances(token, i)
      write_stores(token)
      write_call(line[i], token)
    } else if (is_relocate(line[i])) {
      if (token_of(line[i]) != token)
        refuse(line[i])
      write_relocation(line[i], token)
    } else if (!is_result(line[i])) {
      if (line[i] ~ /^[-A-Za-z0-9_.$]+:/)
        token = "" # another block
      print line[i]
    }
  }
}

function refuse(text) {
  printf "%s: a relocation that doesn't follow its call:\n  %s\n", FILENAME, text > "/dev/stderr"
  refused = 1
}

function write_roots(root) {
  for (root = 0; root < roots; root++)
    printf "  %%gc.root.%d = alloca ptr addrspace(1), align 8\n", root
  for (root = 0; root < roots; root++)
    printf "  call void @llvm.gcroot(ptr %%gc.root.%d, ptr null)\n", root
}

# For the derived references among the call's relocations, which stand below line i.
function write_distances(token, i, name) {
  for (i++; i <= count && !is_statepoint(line[i]); i++) {
    if (!is_relocate(line[i]) || token_of(line[i]) != token)
      continue
    read_relocation(line[i])
    if (base == derived)
      continue
    name = substr(name_of(line[i]), 2)
    printf "  %%gc.from.%s = ptrtoint ptr addrspace(1) %s to i64\n", name, live[token, base]
    printf "  %%gc.to.%s = ptrtoint ptr addrspace(1) %s to i64\n", name, live[token, derived]
    printf "  %%gc.distance.%s = sub i64 %%gc.to.%s, %%gc.from.%s\n", name, name, name
  }
}

function write_stores(token, i, n) {
  n = list_waiting(token)
  for (i = 0; i < n; i++)
    printf "  store ptr addrspace(1) %s, ptr %%gc.root.%d, align 8\n", waiting[i], root_of[token, waiting[i]]
}

# The operands of a statepoint are: its ID, a number, the callee and its type, the number of arguments, flags, the
# arguments, and two zeros. The call isn't marked `tail`, even where the original was: its callee reads this frame.
function write_call(text, token, convention, type, callee, operands, location, end) {
  location = match(text, /, !dbg ![0-9]+/) ? substr(text, RSTART, RLENGTH) : ""

  match(text, /call .*token \(/)
  convention = substr(text, RSTART + 5, RLENGTH - 12)

  match(text, /elementtype\(/)
  end = closing(text, RSTART + RLENGTH - 1)
  type = substr(text, RSTART + RLENGTH, end - RSTART - RLENGTH)
  text = substr(text, end + 2)

  match(text, /, i32 [0-9]+, i32 [0-9]+, /)
  callee = substr(text, 1, RSTART - 1)
  operands = substr(text, RSTART + RLENGTH)
  operands = substr(operands, 1, closing("(" operands, 1) - 2)
  if (!sub(/(, )?i32 0, i32 0$/, "", operands))
    refuse(text)

  if (token in result)
    printf "  %s = ", result[token]
  else if (type ~ /^void /)
    printf "  "
  else
    printf "  %%gc.unused.%s = ", substr(token, 2)
  printf "call %s%s %s(%s)%s\n", convention, type, callee, operands, location
}

function write_relocation(text, token, name, root) {
  name = name_of(text)
  read_relocation(text)
  root = root_of[token, live[token, base]]
  if (base == derived) {
    printf "  %s = load ptr addrspace(1), ptr %%gc.root.%d, align 8\n", name, root
    return
  }
  name = substr(name, 2)
  printf "  %%gc.base.%s = load ptr addrspace(1), ptr %%gc.root.%d, align 8\n", name, root
  printf "  %%%s = getelementptr i8, ptr addrspace(1) %%gc.base.%s, i64 %%gc.distance.%s\n", name, name, name
}
