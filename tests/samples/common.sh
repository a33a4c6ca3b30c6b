# shellcheck shell=bash
# Shared functions of the samples' tests, on top of tests/cli's.
. "$TOP/tests/cli/common.sh"

programs=$BUILD/samples

# Runs a sample with options, and compares its output with the plain build's (the file `expected`). Its
# statistics are left in the file PROGRAM.statistics: none may match the pattern.
expect_as_plain() { # PATTERN PROGRAM OPTION...
  "$programs/$2" --statistics "${@:3}" >output 2>"$2.statistics" || fail "${*:2} failed: $(<"$2.statistics")"
  diff expected output || fail "${*:2}: not the output of the plain build"
  ! grep -E "$1" "$2.statistics" || fail "${*:2}: the run shows too little"
}

# A mutant of a sample crashes, or prints something else than the plain build.
expect_mutant() { # MUTANT OPTION...
  if ASAN_OPTIONS=handle_segv=0 timeout 60 "$BUILD/tests/samples/$1" "${@:2}" >output 2>mutant.log; then
    ! cmp -s expected output || fail "$1 makes no difference"
  fi
}

# Ends the test where valgrind is unable to run the samples: they contain sanitizers, and these have looked already; or it is
# missing.
expect_valgrind() { # SAMPLE [TOOL...]
  local tool
  ! nm "$programs/$1" | grep __asan_init >/dev/null || exit 0
  for tool in valgrind "${@:2}"; do command -v "$tool" >tool || skip "$tool is not installed"; done
}

# Raw and packed, a sample prints under valgrind the plain build's output. (Some valgrinds fail on some compilers' debug info.)
expect_clean() { # SAMPLE OPTION...
  local program
  expect_valgrind "$1"
  objcopy --strip-debug "$programs/$1-raw" raw
  "$stackpack" pack --always -q -o packed raw
  "$programs/$1-plain" "${@:2}" >expected
  for program in raw packed; do
    valgrind --quiet --error-exitcode=1 --leak-check=full ./$program "${@:2}" --stress >output 2>valgrind.log ||
      fail "$program: valgrind found an error: $(<valgrind.log)"
    diff expected output || fail "$program: another output under valgrind"
  done
}

# ---- Traces: samples/trace -----------------------------------------------------------------------------

# The raw program's output, with positions in the places of addresses. A frame's instruction is before its return address.
print_lines_of_llvm() { # PROGRAM RAW-OUTPUT
  sed -nE 's/^#[0-9]+ +(0x[0-9a-f]+)$/\1/p' "$2" | while read -r address; do printf '0x%x\n' $((address - 1)); done |
    "$LLVM/bin/llvm-symbolizer" --obj="$1" --inlines --functions=linkage --no-demangle --relativenames >frames
  awk -v frames=frames '
    /^\(/ { next }
    !/^#/ { print; next }
    { before = substr($0, 1, index($0, "0x") - 1); after = "" }
    { while ((getline name < frames) > 0 && name != "") {
        getline place < frames
        sub(/:[0-9]+$/, "", place) # the column
        print before name " at " place after
        before = "      (inlined into "; after = ")" } }' "$2"
}

# Behind each trace.
expect_reason() { # REASON OUTPUT
  local traces
  traces=$(grep -c '^exception: ' "$2")
  [[ $(grep -c '^(' "$2") == "$traces" && $(grep -cxF "($1)" "$2") == "$traces" ]] || fail "not the reason '$1': $(<"$2")"
}

# Stripped, the packed program has the positions of the raw one's debug information. Raw, and packed without positions, it prints
# the same addresses, and the reason. `emulator` runs the programs.
check_trace() { # FOLDER STRIP
  local formulas=('+ 1 / 6 - 2 1' '+ 1 / 6 - 2 2' '+ 1 /' '* 2 + 3 / 1 * 0 4' '/ 1 0' '1 2' '- 9 8')
  "${emulator[@]}" "$1/samples/trace-raw" "${formulas[@]}" >raw
  print_lines_of_llvm "$1/samples/trace-raw" raw >expected
  "$2" -o stripped "$1/samples/trace"
  "${emulator[@]}" ./stripped "${formulas[@]}" >printed
  diff expected printed || fail "$1: other positions"
  grep '^[^# ]' printed >results
  diff - results <<'RESULTS' || fail "$1: other results"
7
exception: a division by zero
exception: a number is missing
exception: a division by zero
exception: a division by zero
exception: a formula that goes on after its end
1
RESULTS
  [[ $(grep -cE '^#[0-9]+ +calculate at samples/trace/calculator.c:[0-9]+$' printed) == 5 ]] || fail "$1: calculate isn't in each trace"
  grep -qE '^ +\(inlined into [a-z_]+ at samples/trace/calculator.c:[0-9]+\)$' printed || fail "$1: no function is inlined"

  "$stackpack" pack --always -q -o without "$1/samples/trace-raw"
  "${emulator[@]}" ./without "${formulas[@]}" >without.out
  expect_reason "the program isn't packed, so that its debug information has the positions" raw
  expect_reason 'the program was packed without --source' without.out
  diff <(grep -v '^(' raw) <(grep -v '^(' without.out) || fail "$1: other addresses"
}

# ---- gdb, with the commands of stackpack-gdb.py ----

PATH=$BUILD:$PATH # where they find stackpack
gdb="gdb"
in_gdb() { # OUTPUT GDB-ARGUMENT...
  "$gdb" --batch -nx -ex 'set debuginfod enabled off' -ex "source $TOP/bindings/gdb/stackpack-gdb.py" "${@:2}" -ex "python pass" >"$1" 2>&1 </dev/null ||
    { cat "$1"; fail "gdb failed"; }
}

# The lines of debugger_listing.py go to the file `listed`: so many frames, roots and derived references at least; those of suspended
# stacks have a mark.
take_listing() { # OUTPUT SAMPLE LEAST [MARK]
  sed -nE "s/^${4-}((frame|root) )/\1/p" "$1" | sort >listed
  [[ -s listed ]] || fail "$2: nothing is listed: $(<"$1")"
  awk -v least="$3" '{ n[$1]++ } $4 != $5 { n["derived"]++ } END { split(least, l); exit n["frame"] < l[1] || n["root"] < l[2] || n["derived"] < l[3] }' listed ||
    fail "$2: less than $3: $(<"$1")"
}

# The same lines as those of debugger_listing.py. (The order of a record's pairs is free.)
roots_of() { # OUTPUT of info roots all
  sed -nE 's/^#[0-9]+ +(0x[0-9a-f]+) in .*: a statepoint, .*/frame \1/p
    s/^  \S+ +(0x[0-9a-f]+): (0x[0-9a-f]+)  reference$/\1 \2 \2/p
    s/^  \S+ +(0x[0-9a-f]+): (0x[0-9a-f]+)  derived from \S+ (0x[0-9a-f]+), [-+][0-9]+$/\1 \2 \3/p' "$1" |
    awk '$1 == "frame" { pc = $2; print; next } { print "root", pc, $0 }'
}

expect_listed() { # OUTPUT of info roots all, for all threads
  roots_of "$1" | sort >printed
  diff listed printed || fail "$1: other frames or roots than the collector lists"
  grep -q 'managed frames with .*; the walk ends at the outermost frame$' "$1" || fail "$1: another end: $(<"$1")"
}

# Prints the roots of all suspended fibers, below the commands that do it: these go to the file `commands`.
suspended=(-ex "source $TOP/tests/samples/debugger_fibers.py")
take_suspended() { # OUTPUT LEAST
  take_listing "$1" fibers "$2" "suspended "
  grep '^info roots at ' "$1" >commands || fail "no fiber is suspended: $(<"$1")"
  expect_suspended "$1"
}
expect_suspended() { # OUTPUT of the commands
  expect_listed "$1"
  [[ $(grep -c '; the walk ends at the outermost frame$' "$1") == $(grep -c . commands) ]] || fail "$1: another end: $(<"$1")"
}
