# shellcheck shell=bash
# Shared functions of the matrices of linkers and kinds of files. A cell is a program for a machine, linked in one way: it is
# packed and runs as before, or the file is refused in one line. Machines other than the build's run by qemu. A matrix sources
# this file, may set other lists, and calls run_machine for each machine.
. "$TOP/tests/cli/common.sh"

linkers=(lld bfd gold mold)
kinds=(non-PIE static PIE static-PIE library)
all_variants=(plain writable gc-sections icf LTO separate-code RELR stripped 64K-pages 2M-pages)
variants=("${all_variants[@]}")
programs=(list many) # one with 8 records, one whose stack maps fill 114 pages
tools=() # commands that change a packed file afterwards: see try_tools

# ---- Machines ------------------------------------------------------------------------------------------

# Sets the compiler, linkers and emulator for a machine: the build's own, or an emulated one. (Debug information in
# DWARF 5 has relocations on RISC-V unsupported by GNU ld 2.40 and mold 1.10.)
choose_machine() { # MACHINE
  clang_options=() llc_options=() emulator=() binutils=
  [[ $1 != "$(uname -m)" ]] || return 0
  clang_options=(--target="$1-linux-gnu")
  llc_options=(-mtriple="$1-linux-gnu")
  emulator=(qemu-"$1" -0 program -L "/usr/$1-linux-gnu")
  binutils=$1-linux-gnu-
  if [[ $1 == riscv64 ]]; then
    clang_options+=(-march=rv64gc -gdwarf-4)
    llc_options+=("-mattr=+m,+a,+f,+d,+c" -target-abi=lp64d)
  fi
}

# ---- Objects -------------------------------------------------------------------------------------------

# Objects are in the folder of their machine. NAME.o has read-only stack maps, as LLVM emits them; NAME.writable.o has writable
# ones; NAME.kept.o (and NAME.kept.writable.o) has a global symbol, so that an option makes --gc-sections keep them.
make_objects() { # MACHINE
  mkdir "$1" && cd "$1"
  choose_machine "$1"
  compile_main main.o "${clang_options[@]}" -fPIC -ffunction-sections
  compile_main main.lto.o "${clang_options[@]}" -fPIC -flto
  many_functions 400 >many.ll
  echo '{ local: __LLVM_StackMaps; };' >local.map
  compile list list.o "${llc_options[@]}" -relocation-model=pic -function-sections
  compile ./many.ll many.o "${llc_options[@]}" -relocation-model=pic -function-sections
  local name
  for name in "${programs[@]}"; do
    "$LLVM/bin/llvm-objcopy" --globalize-symbol=__LLVM_StackMaps "$name.o" "$name.kept.o"
    "$LLVM/bin/llvm-objcopy" --set-section-flags .llvm_stackmaps=alloc,load,data "$name.o" "$name.writable.o"
    "$LLVM/bin/llvm-objcopy" --set-section-flags .llvm_stackmaps=alloc,load,data "$name.kept.o" "$name.kept.writable.o"
  done
  cd ..
}

# ---- One cell ------------------------------------------------------------------------------------------

# Ends a cell with its result.
result() { # TEXT
  echo "$*" >result
  exit 0
}

# A linker's reason for its failure, in one line without names of files.
reason() { # LOG
  grep -vE '^(clang|collect2): ' "$1" | head -n 1 | sed -E 's/^[^ ]*ld[^ ]*: (fatal |error: )*//; s/^[^ ]*(mold|gold)[^ ]*: //; s/: use the .*//'
}

# Sets kind_options and suffix (of the object with the stack maps).
choose_kind() { # KIND
  suffix=.o
  case $1 in
  non-PIE) kind_options=(-no-pie) ;;
  static) kind_options=(-no-pie -static) ;;
  PIE) kind_options=(-pie "-Wl,-z,notext") ;;
  static-PIE) kind_options=(-static-pie) suffix=.writable.o ;; # its start-up code can't relocate what is read-only
  library) kind_options=(-shared "-Wl,-z,notext,-soname,libmanaged.so") ;;
  esac
}

# Sets options and main; changes suffix.
choose_variant() { # VARIANT LINKER
  main=../main.o options=()
  case $1 in
  writable) suffix=.writable.o ;;
  gc-sections) # the symbol is global for the linker only: exported, it would be for others to read
    options=("-Wl,--gc-sections,-u,__LLVM_StackMaps,--version-script=../local.map") suffix=.kept$suffix ;;
  icf) options=("-Wl,--icf=all") ;;
  LTO) options=(-flto) main=../main.lto.o ;;
  separate-code) options=("-Wl,-z,separate-code") ;;
  RELR) # linkers put relocations of writable sections there
    suffix=.writable.o
    options=("-Wl,-z,pack-relative-relocs")
    [[ $2 != mold ]] || options=("-Wl,--pack-dyn-relocs=relr") ;;
  stripped) options=(-s) ;;
  64K-pages) options=("-Wl,-z,max-page-size=65536") ;;
  2M-pages) options=("-Wl,-z,max-page-size=2097152") ;;
  esac
}

# Links raw/app, and for a library raw/libmanaged.so, with the managed code; with LTO all code.
link_cell() { # LINKER KIND PROGRAM
  local driver compiler=
  [[ $main != *.lto.o ]] || compiler=clang
  choose_driver "$1" "$compiler"
  if [[ $2 != library ]]; then
    "${driver[@]}" "${kind_options[@]}" "${options[@]}" -o raw/app "$main" "../$3$suffix"
    return
  fi
  local of_library=() of_app=("$main")
  [[ $main != *.lto.o ]] || { of_library=("$main") of_app=(); }
  "${driver[@]}" "${kind_options[@]}" "${options[@]}" -o raw/libmanaged.so "${of_library[@]}" "../$3$suffix" &&
    "${driver[@]}" -no-pie -o raw/app "${of_app[@]}" raw/libmanaged.so "-Wl,-rpath,\$ORIGIN"
}

cell() { # MACHINE LINKER KIND VARIANT PROGRAM
  local linker=$2 kind=$3 variant=$4 program=$5 file=app status=0
  mkdir raw
  choose_machine "$1"
  choose_kind "$kind"
  choose_variant "$variant" "$linker"
  [[ $kind != library ]] || file=libmanaged.so
  link_cell "$linker" "$kind" "$program" >link.log 2>&1 || result "n/a: doesn't link: $(reason link.log)"
  (timeout 120 "${emulator[@]}" raw/app >run.log 2>&1) 2>/dev/null || result "n/a: doesn't run before it is packed: $(sed -n '$s/.*: //p' run.log)"
  if [[ $variant == RELR ]]; then
    has_section raw/$file .relr.dyn || result "n/a: no RELR section"
  fi

  cp -r raw packed
  "$stackpack" pack --always packed/$file >out 2>err || status=$?
  if ((status == 2)) && only_line_matches '^stackpack: ' err; then
    expect_same raw/$file packed/$file
    result "refused: $(sed 's/^stackpack: [^:]*: //' err)"
  fi
  ((status == 0)) || { cat err; fail "pack: exit status $status"; }
  expect_packed packed/$file
  expect_same_run raw/app packed/app
  expect_status 0 "$stackpack" verify raw/$file packed/$file
  dump_json raw/$file >raw.json
  dump_json packed/$file >packed.json
  [[ -s raw.json ]] || fail "no records"
  expect_same raw.json packed.json
  try_tools "$file" "${*:2}"
  result ok
}

# Further data added to a file: its name is appended to each command, or replaces FILE.
apply() { # TOOL FILE
  local tool=$1
  [[ $tool == *FILE* ]] || tool+=" FILE"
  [[ $tool != strip\ * && $tool != objcopy\ * ]] || tool=$binutils$tool
  # shellcheck disable=SC2086 # a list of words
  timeout 120 ${tool//FILE/$2}
}

# Applies each tool to the raw and to the packed cell. A line for each goes to the file tools.LINKER. The packed one must run as
# before, with the same records, or must report the code that a tool added. A failure with the raw one is the tool's own.
try_tools() { # FILE CELL
  local tool why
  for tool in "${tools[@]}"; do
    why=$(try_tool "$1" "$tool" 2>&1) || { echo "$why"; why="FAIL: $(tail -n 1 <<<"$why")"; }
    echo "$tool|$2|$why" >>"../tools.${2%% *}"
  done
}

try_tool() { # FILE TOOL: prints the result
  local file=$1 status=0
  rm -rf later.raw later.packed
  cp -r raw later.raw
  cp -r packed later.packed
  if ! apply "$2" later.raw/"$file" >tool.log 2>&1; then
    echo "n/a: the tool fails with the raw file: $(tail -n 1 tool.log)"
    return
  fi
  if ! (timeout 120 "${emulator[@]}" later.raw/app >run.log 2>&1) 2>/dev/null || ! cmp -s <(run raw/app) <(run later.raw/app); then
    echo "n/a: the raw file doesn't run afterwards"
    return
  fi
  apply "$2" later.packed/"$file" >tool.log 2>&1 || { echo "the tool: $(head -n 1 tool.log)"; return 1; }
  (timeout 120 "${emulator[@]}" later.packed/app >run.log 2>&1) 2>/dev/null || { echo "doesn't run"; return 1; }
  cmp -s <(run raw/app) <(run later.packed/app) || { echo "runs differently"; return 1; }
  "$stackpack" dump --format=json later.packed/"$file" >later.json 2>later.err || status=$?
  if ((status != 0)); then
    ! grep -q ': code was added after packing' later.err || { echo told; return; }
    echo "$(<later.err)"
    return 1
  fi
  cmp -s <(without_names <packed.json) <(without_names <later.json) || { echo "other records"; return 1; }
  echo ok
}

without_names() {
  sed -E 's/"function":("([^"\\]|\\.)*"|null)/"function":null/'
}

# Runs a cell in a folder of its own; leaves its result in the file LINKER.KIND.VARIANT.PROGRAM.
run_cell() { # MACHINE LINKER KIND VARIANT PROGRAM
  local name status=0
  name=$(IFS=.; echo "${*:2}")
  mkdir "$name.folder"
  (cd "$name.folder" && cell "$@") >"$name.log" 2>&1 &
  wait $! || status=$?
  if ((status == 0)); then
    mv "$name.folder/result" "$name"
  else
    echo FAIL >"$name"
    { echo "$*"; sed 's/^/  /' "$name.log"; } >>"failures.$2"
  fi
  rm -r "$name.folder"
}

run_row() { # MACHINE LINKER KIND
  local variant program
  for variant in "${variants[@]}"; do
    ((${#variants[@]} == 1)) || sampled 4 || continue
    for program in "${programs[@]}"; do
      run_cell "$1" "$2" "$3" "$variant" "$program"
    done
  done
}

# Makes and tries all cells of a machine, in its folder, and prints their table.
run_machine() { # MACHINE
  local linker kind present=()
  make_objects "$1"
  choose_machine "$1"
  cd "$1"
  for linker in "${linkers[@]}"; do
    if "$LLVM/bin/clang" "${clang_options[@]}" -fuse-ld="$linker" -Wl,--version >linker.log 2>&1; then
      present+=("$linker")
    elif [[ ${STACKPACK_NO_SKIP-} == 1 ]]; then
      fail "the linker $linker is missing"
    fi
  done
  for kind in "${kinds[@]}"; do
    for linker in "${present[@]}"; do
      run_row "$1" "$linker" "$kind" &
      sampled_cases=$((sampled_cases + 1)) # other variants in each row
    done
    wait
  done
  print_table
  cat failures.* 2>/dev/null && fail "some cells failed"
  [[ $(cat ./*.many ./*.list | grep -c '^ok$') -gt 0 ]] || fail "not one cell is ok"
  cd ..
}

# ---- The table -----------------------------------------------------------------------------------------

short() { # RESULT: sets `text` to it, a reason replaced by a number
  text=$1
  [[ $1 == *": "* ]] || return 0
  if [[ -z ${notes[$1]-} ]]; then
    reasons+=("$1")
    notes[$1]=${#reasons[@]}
  fi
  text="${1%%: *} [${notes[$1]}]"
}

print_table() {
  local linker kind variant small large number
  local -A notes=() # the number of each reason
  local reasons=()
  printf '| linker, kind |'
  printf ' %s |' "${variants[@]}"
  printf '\n|%s\n' "$(printf -- '---|%.0s' x "${variants[@]}")"
  for linker in "${linkers[@]}"; do
    for kind in "${kinds[@]}"; do
      printf '| %s, %s |' "$linker" "$kind"
      for variant in "${variants[@]}"; do
        if ! small=$(cat "$linker.$kind.$variant.list" 2>/dev/null); then
          printf ' skipped |'
          continue
        fi
        large=$(<"$linker.$kind.$variant.many")
        short "$small"
        printf ' %s' "$text"
        if [[ $large != "$small" ]]; then
          short "$large"
          printf ', %s' "$text"
        fi
        printf ' |'
      done
      echo
    done
  done
  echo
  for number in "${!reasons[@]}"; do echo "[$((number + 1))] ${reasons[number]}  "; done
}
