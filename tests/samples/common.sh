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
