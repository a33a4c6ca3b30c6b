#!/bin/bash
# Names of functions, sources and files with control characters and bytes outside UTF-8 are escaped for a terminal, and JSON has
# them, too. A mangled name that expands to 800 MB is shown mangled.
. "$TOP/tests/cli/common.sh"

bomb=_Z1f1AI1aS0_E
for letter in {1..9} {A..P}; do bomb+="S_IS${letter}_S${letter}_E"; done
for name in 'escape\1B[31m' 'not\FFutf8' 'line\0Afeed' "$bomb"; do
  printf 'declare void @collect()\ndefine i64 @"%s"(i64 %%n) gc "statepoint-example" {\n  call void @collect()\n  ret i64 %%n\n}\n' "$name"
done | awk '!/^declare/ || !seen++' >$'source\e.ll'
compile $'./source\e.ll' names.o
make_program lld app list names.o
cp app $'app\e[31m'

expect_clean() { # FILE...: no control characters but the ends of lines, and UTF-8
  # shellcheck disable=SC2016
  ! grep -qP '[\x00-\x09\x0b-\x1f\x7f]' "$@" || { grep -aP '[\x00-\x09\x0b-\x1f\x7f]' "$@" | cat -v >&2; fail "control characters"; }
  python3 -c 'import sys; [open(name, encoding="utf-8").read() for name in sys.argv[1:]]' "$@" || fail "not UTF-8"
}
address=$("$stackpack" dump --format=json app | grep escape | grep -oE '"address":[0-9]+' | head -n 1 | cut -d : -f 2)
for command in "dump" "dump --source" "dump --format=json" "callgraph" "callgraph --format=dot" "callgraph --format=json" "stats" \
  "stats --gc-entry=collect" "why --gc-entry=collect"; do
  arguments=()
  [[ $command != why* ]] || arguments=("$address")
  # shellcheck disable=SC2086 # a list of words
  expect_status 0 within 10 "$stackpack" $command app "${arguments[@]}"
  expect_clean out err
  (($(stat -c %s out) < 1000000)) || fail "$command: an immense output"
  case $command in
  *json) grep -q 'not\\\\xffutf8' out && ! grep -q '"function":null' out || fail "$command: a name is missing" ;;
  *why* | *stats*) ;;
  *) grep -q 'not\\\+xffutf8' out || fail "$command: a name is missing" ;;
  esac
done
expect_status 0 "$stackpack" lookup --source app "$(printf '%#x' "$address")"
expect_output 'escape\\x1b'
expect_clean out err
expect_status 2 "$stackpack" dump $'app\e[31m.missing'
expect_clean err
expect_status 2 "$stackpack" why --gc-entry=collect app $'no\e[31m'
expect_clean err
# A warning, too, about a pattern without a match.
expect_status 0 "$stackpack" stats --gc-entry=$'no\e[31m' $'app\e[31m'
grep -q 'warning: no function is called' err || fail "no warning: $(<err)"
expect_clean err
