# shellcheck shell=bash
# Shared functions of the command-line tests. A test sources this file first, in the empty folder that tests/run gave it:
#   . "$TOP/tests/cli/common.sh"
set -euo pipefail

stackpack=$BUILD/stackpack
samples=$TOP/tests/cli/ir
export SAMPLING=${SAMPLING:-all}
export PYTHONPATH=$TOP/tests/cli PYTHONDONTWRITEBYTECODE=1

fail() { # MESSAGE
  echo "$0: $*" >&2
  exit 1
}

skip() { # REASON
  echo "$*"
  exit 77
}

# Whether the next of a test's many cases of one kind is tried: with SAMPLING=few one in N is.
sampled_cases=0
sampled() { # N
  [[ $SAMPLING == all ]] || ((sampled_cases++ % $1 == 0))
}

# ---- Running commands ----------------------------------------------------------------------------------

# Runs a command, its output in the files `out` and `err`, and fails unless its exit status is the expected one.
expect_status() { # STATUS COMMAND...
  local expected=$1 status=0
  shift
  "$@" >out 2>err </dev/null || status=$?
  local parts
  mapfile -d '' -t parts <err # by the shell itself: a process more for each command is a tenth of all tests' time
  if ((status != expected)) || [[ ${parts[*]} =~ ERROR:\ [A-Za-z]+Sanitizer|:\ runtime\ error:\  ]]; then
    cat out err >&2
    fail "exit status $status, not $expected: $*"
  fi
}

# Runs a command that must be refused: exit status 2, an empty stdout, and one line on stderr that begins with
# "stackpack: " and then matches the pattern (an extended regular expression).
expect_refusal() { # PATTERN COMMAND...
  local pattern=$1
  shift
  expect_status 2 "$@"
  if [[ -s out ]] || ! only_line_matches "^stackpack: $pattern" err; then
    cat out err >&2
    fail "not refused with the one line '$pattern': $*"
  fi
}

only_line_matches() { # PATTERN FILE
  local lines
  mapfile lines <"$2"
  [[ ${#lines[@]} == 1 && ${lines[0]} == *$'\n' && ${lines[0]%$'\n'} =~ $1 ]]
}

expect_output() { # PATTERN: stdout of the last expect_status has a line that matches
  grep -qE -- "$1" out || { cat out >&2; fail "no line matches '$1'"; }
}

expect_same() { # FILE FILE
  cmp "$1" "$2" || fail "$1 and $2 differ"
}

expect_different() { # FILE FILE
  ! cmp --silent "$1" "$2" || fail "$1 and $2 are the same"
}

# Two programs succeed, and print the same: see the file `printed`. Both get the same name.
expect_same_run() { # PROGRAM PROGRAM [ARGUMENT...]
  local first=$1 second=$2
  shift 2
  run "$first" "$@" >printed.first
  run "$second" "$@" >printed
  cmp printed.first printed || fail "$second doesn't print what $first does"
}

# Runs a command that takes so many CPU seconds at most: a busy machine fails no test. One that only waits ends, too.
within() { # SECONDS COMMAND...
  (ulimit -S -t "$1" && exec timeout $((60 * $1)) "${@:2}")
}

emulator=() # what runs programs for another machine
run() { # PROGRAM [ARGUMENT...]
  local status=0
  (exec -a program "${emulator[@]}" "$(realpath "$1")" "${@:2}") 2>&1 </dev/null || status=$?
  ((status == 0)) || fail "$*: exit status $status"
}

# The other machines that LLVM makes statepoints for. (LLVM 18 leaves out the calls of RISC-V's statepoints.)
other_machines=(aarch64 riscv64)
[[ $LLVM != *-18 ]] || other_machines=(aarch64)

# Whether programs for another machine can be linked and run here.
can_run() { # MACHINE
  command -v "qemu-$1" "$1-linux-gnu-gcc" >can_run.log
}

# ---- Building programs ---------------------------------------------------------------------------------

# Builds targets by the Makefile in a folder that the tests share, $BUILD/machines/FOLDER, and makes a link of that name here. (The
# jobs and options of the make that runs a test aren't this one's.)
build_shared() { # FOLDER TARGETS VARIABLE=VALUE...
  local built=$BUILD/machines/$1 targets
  read -ra targets <<<"$2"
  mkdir -p "$built"
  ln -sfn "$built" "$1"
  env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL flock "$built" make -s -C "$TOP" BUILD="$built" LLVM="$LLVM" STACKPACK="$stackpack" \
    SANITIZE= WERROR= "${@:3}" "${targets[@]/#/$built/}" >make.log 2>&1 || { tail -n 20 make.log >&2; fail "can't build $2 in $1"; }
}

build_for() { # MACHINE FOLDER OPTIONS TARGET...
  local tool=$1-linux-gnu-
  build_shared "$2" "${*:4}" CC="${tool}gcc" CXX="${tool}g++" LD="${tool}ld" AR="${tool}ar" OBJCOPY="${tool}objcopy" CFLAGS="-O2 $3" \
    SAMPLE_OPTIONS="$3"
}

# With the thread sanitizer, in the folder `watched`. LLVM compiles the managed code as always. Skips the test where clang lacks the
# sanitizer.
build_watched() { # TARGET...
  echo 'int main(void) { return 0; }' >thread.c
  "$LLVM/bin/clang" -fsanitize=thread thread.c -o thread 2>log || skip "no thread sanitizer: $(tail -n 1 log)"
  build_shared watched "$*" CC="$LLVM/bin/clang" CFLAGS="-O1 -g -fsanitize=thread"
}

# plain/libstackpack.a: the library without sanitizers, but with assertions, for programs that a test builds without them.
build_plain_library() {
  build_shared plain libstackpack.a ASSERTIONS=1
}

# Compiles LLVM IR, the name of a sample or a file, to an object file. Plain managed code gets its statepoints here;
# code that has them stays unchanged. There is debug information: a line for every instruction.
compile() { # IR OBJECT [LLC OPTION...]
  local ir=$1 object=$2
  shift 2
  [[ $ir == */* ]] || ir=$samples/$ir.ll
  "$LLVM/bin/opt" -passes=debugify,rewrite-statepoints-for-gc "$ir" -o "$object.bc" 2>"$object.log" ||
    { cat "$object.log" >&2; fail "can't compile $ir"; }
  "$LLVM/bin/llc" -filetype=obj "$@" "$object.bc" -o "$object"
  rm "$object.bc" "$object.log"
}

# For the machine that a test chooses (choose_machine), where it differs from the build's.
clang_options=()

# Sets `driver`: the compiler's command that links by a linker. GCC's starts in a tenth of the time that Clang's takes; Clang's links for
# other machines, and has a plug-in for link-time optimization.
choose_driver() { # LINKER [clang]
  if [[ ${2-} != clang ]] && ((${#clang_options[@]} == 0)); then
    driver=(gcc -B"$LLVM/bin" -fuse-ld="$1")
  else
    driver=("$LLVM/bin/clang" "${clang_options[@]}" -fuse-ld="$1" -Wno-unused-command-line-argument)
  fi
}

# Links with lld or bfd (GNU ld), as a non-PIE unless an option says otherwise.
link_with() { # LINKER OUTPUT ARGUMENT...
  local driver
  choose_driver "$1"
  "${driver[@]}" -no-pie -o "$2" "${@:3}"
}

# Builds a program from a sample (IR that defines run) and ir/main.c.
make_program() { # LINKER OUTPUT IR [LINK OPTION...]
  local linker=$1 output=$2 ir=$3
  shift 3
  [[ -e main.o ]] || compile_main main.o
  compile "$ir" "$output.o"
  link_with "$linker" "$output" main.o "$output.o" "$@"
}

compile_main() { # OBJECT [CLANG OPTION...]
  local object=$1
  shift
  "$LLVM/bin/clang" -O1 -g "$@" -c "$samples/main.c" -o "$object"
}

# Compiles C to an object file in which each function is managed: all its calls of other functions have a record.
compile_managed() { # C OBJECT [CLANG OPTION...]
  local source=$1 object=$2
  shift 2
  "$LLVM/bin/clang" -O1 "$@" -S -emit-llvm -o "$object.ll" "$source"
  sed -i -E 's/^(define [^{]*) \{$/\1 gc "statepoint-example" {/; s/( !dbg ![0-9]+)( gc "[^"]*")/\2\1/' "$object.ll"
  "$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc "$object.ll" -o "$object.bc"
  "$LLVM/bin/llc" -O1 -relocation-model=pic -filetype=obj "$object.bc" -o "$object"
  rm "$object.ll" "$object.bc"
}

# The same with debug information, of a form that the options say: clang makes IR, the code is made from that.
compile_debug() { # C OBJECT CLANG OPTION...
  local source=$1 object=$2
  shift 2
  "$LLVM/bin/clang" -O1 "$@" -S -emit-llvm -o "$object.ll" "$source"
  sed -i -E '/^define /s/( !dbg ![0-9]+ \{)$/ gc "statepoint-example"\1/' "$object.ll"
  "$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc -S "$object.ll" -o "$object.gc.ll"
  "$LLVM/bin/clang" -O1 "$@" -c "$object.gc.ll" -o "$object"
  rm "$object.ll" "$object.gc.ll"
}

# Prints IR with COUNT functions of ten safepoints each, and a function run that calls the last one: about 16 KB of
# stack maps for ten functions.
many_functions() { # COUNT
  awk -v count="$1" '
    BEGIN {
      print "declare ptr addrspace(1) @allocate(i64)"
      print "declare void @collect()"
      for (f = 1; f <= count; f++) {
        printf "define i64 @f%d(i64 %%n) gc \"statepoint-example\" {\n", f
        for (o = 1; o <= 4; o++) {
          printf "  %%o%d = call ptr addrspace(1) @allocate(i64 %d)\n", o, 8 + f % 5 * 8
          printf "  store i64 %%n, ptr addrspace(1) %%o%d\n", o
        }
        print "  %sum0 = add i64 %n, " f
        for (o = 1; o <= 4; o++) {
          print "  call void @collect()"
          if (o % 2 == f % 2) print "  call void @collect()"
          printf "  %%v%d = load i64, ptr addrspace(1) %%o%d\n", o, o
          printf "  %%sum%d = add i64 %%sum%d, %%v%d\n", o, o - 1, o
        }
        print "  ret i64 %sum4\n}"
      }
      printf "define i64 @run(i64 %%n) gc \"statepoint-example\" {\n"
      printf "  %%result = call i64 @f%d(i64 %%n)\n  ret i64 %%result\n}\n", count
    }'
}

# Builds a program for reports: functions in files in folders, and names that want to be HTML.
make_hostile_program() { # OUTPUT
  mkdir -p 'src/<b>folder&' src/plain/deep
  many_functions 60 | sed 's/@run(/@second_run(/' >src/plain/deep/many.ll
  sed -E 's/@(f[0-9]+|second_run)\(/@other_\1(/' src/plain/deep/many.ll >src/plain/more.ll
  {
    many_functions 4 | sed -E 's/@f([0-9])\(/@hostile\1(/; s/@run\(/@hostile_run(/'
    local name
    for name in '</script><script>window.hostile=1</script>' '<img src=x onerror=window.hostile=2>' \
      '\22'"'&amp;" 'escape\1B[31m' 'not\FFutf8'; do
      printf 'define i64 @"%s"(i64 %%n) gc "statepoint-example" {\n' "$name"
      printf '  call void @collect()\n%.0s' {1..40}
      printf '  ret i64 %%n\n}\n'
    done
  } >'src/<b>folder&/"hostile".ll'
  compile ./src/plain/deep/many.ll many.o
  compile ./src/plain/more.ll more.o
  compile './src/<b>folder&/"hostile".ll' hostile.o
  make_program lld "$1" deopt many.o more.o hostile.o 2>link.log || { cat link.log >&2; fail "can't link"; }
}

# ---- Records that are dropped --------------------------------------------------------------------------

gc=$TOP/tests/cli/gc

# Builds a program of managed code and a runtime: see gc/.
make_gc_program() { # OUTPUT COMPILER OPTIONS-FOR-THE-RUNTIME LINKER [LINK OPTION...]
  local output=$1 compiler=$2 linker=$4
  [[ -e managed.o ]] || compile_managed "$gc/managed.c" managed.o
  # shellcheck disable=SC2086 # a list of words
  $compiler $3 -I"$gc" -c "$gc/native.c" -o native.o
  "$LLVM/bin/clang" -O1 -fPIE -c "$gc/main.c" -o main.o
  shift 4
  link_with "$linker" "$output" managed.o native.o main.o "$@"
}

# Objects of a program that only calls no_call, which a test writes: here collect is uncalled.
make_lonely_program() {
  printf 'long no_call(long x);\n__attribute__((noinline)) long managed_no_call(long x) { return no_call(x) + 1; }\n' >managed.c
  compile_managed managed.c managed.o "${clang_options[@]}"
  printf 'long managed_no_call(long x);\nint main(void) { return (int)managed_no_call(0); }\n' >main.c
  printf 'static volatile long state;\nvoid collect(void) { state++; }\n' >collect.c
  "$LLVM/bin/clang" "${clang_options[@]}" -O1 -c main.c collect.c
}

# Assembles odd.s: no_call, as a test writes it; more text, perhaps; helper, if it has code; and hidden, which reaches collect.
make_odd() { # NO_CALL MORE HELPER HIDDEN
  cat >odd.s <<S
  .text; .globl no_call; .p2align 4; .type no_call, @function
no_call: $1
  .size no_call, . - no_call
  $2
  .text
${3:+  .p2align 4; .type helper, @function
helper: $3
  .size helper, . - helper}
  .p2align 4; .type hidden, @function
hidden: $4
  .size hidden, . - hidden
  .section .note.GNU-stack, "", @progbits
S
  if ((${#clang_options[@]} > 0)); then
    "$LLVM/bin/clang" "${clang_options[@]}" -c odd.s
  else
    as -o odd.o odd.s # in a sixth of the time
  fi
}

# The only record of a function is kept or dropped: `why` says so.
expect_verdict() { # kept|dropped PROGRAM FUNCTION [POLICY OPTION...]
  local status=0 lines line records=0
  [[ $1 == kept ]] || status=1
  expect_status $status "$stackpack" why "${@:4}" "$2" "$3"
  mapfile -t lines <out
  for line in "${lines[@]}"; do
    [[ $line =~ ^0x[0-9a-f]+\ in\  ]] || continue
    records=$((records + 1))
    [[ $line == *": $1: "* ]] || { cat out >&2; fail "$2: the record of $3 should be $1"; }
  done
  ((records == 1)) || { cat out >&2; fail "$3 should have one record"; }
}

# The same of no_call's caller, in that program with odd.s: as one at a fixed address, and as one that moves.
expect_odd_verdict() { # kept|dropped NAME [LAYOUT: options of the linker...]
  local layout layouts=(-no-pie "-pie -Wl,-z,notext")
  (($# > 2)) && layouts=("${@:3}")
  for layout in "${layouts[@]}"; do
    # shellcheck disable=SC2086 # a list of words
    link_with lld app managed.o main.o collect.o odd.o $layout
    echo "$2 $layout"
    expect_verdict "$1" app managed_no_call --gc-entry=collect
  done
}

# The functions that gc/functions.h lists.
functions_that() { # can|cant
  sed -n "/define FUNCTIONS_THAT_${1^^}(F)/,/[^\\\\]$/p" "$gc/functions.h" | grep -oE '\bF\([a-z_]+\)' | sed 's/F(\(.*\))/\1/'
}

# ---- The installed tree --------------------------------------------------------------------------------

# make install, or uninstall, in the folder `installed`, as for a package: in the environment of the build, before install_tree
# changes it.
make_installed() { # TARGET [VARIABLE of the Makefile...]
  env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u PKG_CONFIG_LIBDIR -u PKG_CONFIG_SYSROOT_DIR \
    make -C "$TOP" "BUILD=$BUILD" "LLVM=$LLVM" "CC=$CC" "DESTDIR=$PWD/installed" PREFIX=/opt/stackpack "$@" \
    >install.log 2>&1 || { cat install.log >&2; fail "make $*"; }
}

# Installs, and lets tools find that tree alone of this project.
install_tree() { # [VARIABLE of the Makefile...]
  local prefix=$PWD/installed/opt/stackpack
  make_installed install "$@"
  export PATH=$prefix/bin:$PATH LD_LIBRARY_PATH=$prefix/lib CMAKE_PREFIX_PATH=$prefix
  export PKG_CONFIG_SYSROOT_DIR=$PWD/installed PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig
}

# The flags with which the library's users compile and link: -fsanitize=... where it was built so. One word a line.
library_flags() {
  nm "$BUILD/libstackpack.a" >library.symbols
  ! grep -q __asan_init library.symbols || echo "-fsanitize=address,undefined"
}

# ---- Looking at files ----------------------------------------------------------------------------------

# Column N of a section in readelf's table: 4 is the offset in the file, 5 the size. Empty if the file has none.
section_number() { # FILE SECTION COLUMN
  local number
  number=$(readelf --section-headers --wide "$1" | sed 's/^ *\[[ 0-9]*\] //' |
    awk -v name="$2" -v column="$3" '$1 == name { print $column }')
  [[ -z $number ]] || echo $((16#$number))
}

section_offset() { # FILE SECTION
  section_number "$1" "$2" 4
}

section_size() { # FILE SECTION
  section_number "$1" "$2" 5
}

# Overwrites a field of an ELF header: see set_field.py.
set_field() { # FILE FIELD VALUE
  python3 "$TOP/tests/cli/set_field.py" "$@"
}

# Overwrites one byte of a file.
set_byte() { # FILE OFFSET VALUE
  # shellcheck disable=SC2059 # the format is the byte
  printf "\\x$(printf %x "$3")" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# No dynamic relocation of the file is for a place in the section.
expect_no_relocations_in() { # FILE SECTION
  local start size offset
  start=$((16#$(readelf --section-headers --wide "$1" | sed 's/^ *\[[ 0-9]*\] //' | awk -v name="$2" '$1 == name { print $3 }')))
  size=$(section_size "$1" "$2")
  readelf --relocs --wide "$1" | awk '$3 ~ /^R_/ || NF == 1 && length($1) == 16 { print $1 }' >relocated # RELA; RELR
  [[ -s relocated ]] || fail "$1 has no relocations at all"
  while read -r offset; do
    ((16#$offset < start || 16#$offset >= start + size)) || fail "$1: a relocation at $offset, in $2"
  done <relocated
}

has_section() { # FILE SECTION
  [[ -n $(section_size "$1" "$2") ]]
}

expect_packed() { # FILE
  has_section "$1" .stackpack || fail "$1 has no section .stackpack"
  ! has_section "$1" .llvm_stackmaps || fail "$1 still has a section .llvm_stackmaps"
}

dump_json() { # FILE [OPTION...]
  "$stackpack" dump --format=json "${@:2}" "$1"
}

# A dump with the functions' names removed, as a stripped file lacks them.
dump_without_names() { # FILE
  dump_json "$1" | sed -E 's/"function":("([^"\\]|\\.)*"|null)/"function":null/'
}

# `dump --source` gives every record the frames that llvm-symbolizer finds for its instruction: function, file, line and
# column, with all inlined functions. SYMBOLS is the file that llvm-symbolizer reads; both need debug information for
# each record. Leaves the frames in the files `frames` and `frames.llvm`.
expect_source_of_llvm() { # FILE SYMBOLS [DUMP OPTION...]
  dump_json "$1" --source "${@:3}" >source.json
  python3 - >addresses 3>frames <<'PYTHON'
from records import load, records
import os

load("source.json")
with os.fdopen(3, "w") as frames:
    for record in records:
        print(hex(record["address"] - (record["kind"] == "statepoint")))
        assert record["source"], record
        for frame in record["source"]:
            assert set(frame) == {"function", "file", "line", "column"}, frame
            print(frame["function"], f"{frame['file']}:{frame['line'] or 0}:{frame['column'] or 0}", sep="\n", file=frames)
        print(file=frames)
PYTHON
  [[ -s addresses ]] || fail "no record in $1"
  "$LLVM/bin/llvm-symbolizer" --obj="$2" --inlines --functions=linkage --no-demangle <addresses >frames.llvm
  diff frames.llvm frames >frames.diff || { head -n 20 frames.diff >&2; fail "llvm-symbolizer finds other lines in $1"; }
}

# Each tool has the same findings for a packed file as for the raw one, except for numbers: they change where sections move.
expect_no_complaints() { # RAW PACKED
  comm -13 <(complaints "$1") <(complaints "$2") >complaints
  [[ ! -s complaints ]] || fail "new complaints about $2: $(<complaints)"
}

complaints() { # FILE
  {
    eu-elflint --gnu-ld "$1" || true
    for readelf in readelf "$LLVM/bin/llvm-readelf"; do "$readelf" --all --wide "$1" 2>&1 >/dev/null; done
  } 2>&1 |
    grep -v 'is executable but contains no executable sections' | # of code and data in one segment, data can be cut off
    sed "s|$1||g; s/0x[0-9a-f]*//g; s/[0-9]//g; s/\[ *]/[]/g" | sort -u
}

# Packs RAW to PACKED, even if it grows, and looks at it in every general way: it has a packed section and no raw one, runs as before,
# and `verify`, `dump` and the independent reader find them equal. Leaves the dump in packed.json.
pack_and_compare() { # RAW PACKED [ARGUMENT of the program...]
  expect_status 0 "$stackpack" pack --always -o "$2" "$1"
  expect_packed "$2"
  expect_same_run "$@"
  expect_status 0 "$stackpack" verify "$1" "$2"
  dump_json "$1" >raw.json
  dump_json "$2" >packed.json
  expect_same raw.json packed.json
  python3 "$TOP/tests/oracle/compare.py" "$1" - <packed.json >oracle.log 2>&1 ||
    { cat oracle.log >&2; fail "$2 isn't what the independent reader sees in $1"; }
}

# The same for a program that is large enough for the file to shrink by about as much as its section.
pack_and_compare_large() { # RAW PACKED [ARGUMENT of the program...]
  local raw packed saved
  pack_and_compare "$@"
  raw=$(section_size "$1" .llvm_stackmaps) packed=$(section_size "$2" .stackpack)
  saved=$(($(stat -c %s "$1") - $(stat -c %s "$2")))
  echo "raw $raw, packed $packed, the file is $saved bytes smaller"
  ((saved >= raw - packed - 16384)) || fail "the file should be smaller by about $((raw - packed)) bytes"
}

# Skips the test where the corpus of real programs is missing.
expect_corpus() { # FILE
  [[ -n ${CORPUS-} && -e $CORPUS/$1 ]] || skip "no corpus"
}

# Runs Python statements, from stdin, over the records of a JSON dump: see records.py for the names they can use.
expect_records() { # DUMP
  cat >statements.py
  python3 -c "from records import *; load('$1'); exec(compile(open('statements.py').read(), 'statements.py', 'exec'))" ||
    fail "$1 has other records"
}
