#!/bin/bash
# Help and version go to stdout with exit status 0; an invalid command line gets a line of usage on stderr and exit status 2.
. "$TOP/tests/cli/common.sh"

expect_help() { # ARGUMENT...
  expect_status 0 "$stackpack" "$@"
  [[ -s out && ! -s err ]] || fail "'$*' should print to stdout only"
}

expect_usage() { # ARGUMENT...
  expect_status 2 "$stackpack" "$@"
  [[ ! -s out && -s err ]] || fail "'$*' should print to stderr only"
  grep -qiE 'usage|--help' err || fail "no usage: $(<err)"
}

expect_help --version
only_line_matches '^stackpack [0-9]+\.[0-9]+' out || fail "the version: $(<out)"
expect_help --help
for command in pack unpack dump lookup verify stats report callgraph why split; do
  expect_output "\\b$command\\b"
done
for command in pack unpack dump lookup verify stats report callgraph why split; do
  expect_help $command --help
  expect_output "stackpack $command"
  expect_usage $command
  expect_usage $command --no-such-option file
  grep -q "unknown option: --no-such-option;" err || fail "no word of the option: $(<err)"
  expect_help $command -h
  mv out help.h
  expect_help help $command
  expect_same help.h out
done
expect_help -h
expect_help help

# An unknown word is answered with the nearest one.
expect_usage dmup file
grep -q "no command 'dmup'; did you mean dump?" err || fail "no command is near: $(<err)"
expect_usage dump --adress=1 file
grep -q 'unknown option: --adress=1; did you mean --address?' err || fail "no option is near: $(<err)"
expect_usage dump --source=yes file
grep -q -- '--source takes no value' err || fail "a value too many: $(<err)"
expect_usage dump --function
grep -q -- '--function needs a value' err || fail "a missing value: $(<err)"
expect_usage dump --function -- file
grep -q -- '--function needs a value' err || fail "the options' end is taken for a value: $(<err)"
expect_usage pack -o --always file
grep -q -- '-o needs a value' err || fail "an option is taken for a value: $(<err)"
expect_usage pack -x file
grep -q 'unknown option: -x;' err || fail "a letter that isn't known: $(<err)"
expect_help pack --help
for option in -o --section --if-present --keep-raw --force --conflicts --always --dry-run --statepoints --quiet --report; do expect_output "$option"; done
expect_help split --help
for option in -o --output-directory --quiet; do expect_output "$option"; done
expect_help unpack --help
for option in --raw -o --quiet; do expect_output "$option"; done
policy_options=(--gc-entry --no-gc --policy --drop-unreachable --strict)
for command in pack verify why stats report; do
  expect_help $command --help
  for option in "${policy_options[@]}"; do expect_output "$option"; done
done
expect_help dump --help
for option in --format --function --address --source --debug-dir --color --section --statepoints; do expect_output "$option"; done
expect_help lookup --help
for option in --format --source --debug-dir --color --section --statepoints; do expect_output "$option"; done
expect_help stats --help
for option in --top --max-growth --format --section; do expect_output "$option"; done

expect_usage
expect_usage repack file
expect_usage --no-such-option
expect_usage pack -o
expect_usage pack --section
expect_usage pack --statepoints=perhaps file
expect_usage dump --format=xml file
expect_usage dump one two
for surplus in "help pack extra" "--version extra" "--help extra" "-h extra"; do
  # shellcheck disable=SC2086 # a list of words
  expect_usage $surplus
  only_line_matches "^stackpack: .*'extra'" err || fail "'$surplus': $(<err)"
done
for option in pack:--output pack:--policy pack:--gc-entry split:--output-directory stats:--filter unpack:--raw; do
  expect_usage "${option%:*}" "${option#*:}=" file
  grep -q -- "${option#*:} has an empty value" err || fail "$option: $(<err)"
done
expect_usage dump --address=here file
expect_usage dump --address=2-1 file
expect_usage dump --color=blue file
expect_usage lookup --format=xml file 0
expect_usage verify one
expect_usage stats --format=xml file
expect_usage stats --top=many file
expect_usage stats --top=99999999999 file
expect_usage stats --max-growth=little --before=one two
expect_usage stats --before=one two three
expect_usage stats --sort=size file
expect_usage stats --max-growth=5 one
expect_usage report file
expect_usage report -o page.html
expect_usage report -o page.html one two three
expect_usage why
expect_usage why file
expect_usage why --gc-entry
expect_usage callgraph --format=xml file
expect_usage callgraph one two
