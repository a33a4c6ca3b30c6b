#!/bin/bash
# A family of broken programs, each with one thing wrong: every subcommand refuses programs with unreadable stack maps, `pack`
# refuses programs that it fails to rewrite. Each run ends without a crash, and a refused file stays unchanged. See
# tests/oracle/broken_files.py.
. "$TOP/tests/cli/common.sh"

python3 "$TOP/tests/oracle/broken_files.py" files >list
expect_status 0 "$stackpack" pack --always -o packed files/valid
expect_output ': 4 records of 3 functions'
(($(wc -l <list) >= 180)) || fail "only $(wc -l <list) files"
while read -r name verdict; do
  file=files/$name reason='' commands=("pack" "dump")
  sampled 2 || continue
  cp "$file" before
  case $name in
  version_0) reason='bytes between stack maps' ;; # a header of version 0 begins as padding does
  version_*) reason='.*version' commands+=("stats") ;;
  section_ends_*) reason='.*([0-9]|truncated|ends)' ;;
  not_elf_*) commands+=("pack -o new" "dump --format=json" "stats" "verify files/valid") ;;
  esac
  for command in "${commands[@]}"; do
    # shellcheck disable=SC2086 # a list of words
    if [[ $verdict == refuse || $verdict == pack && $command == pack* ]]; then
      expect_refusal "$file: $reason" within 20 "$stackpack" $command "$file"
      expect_same "$file" before
      [[ ! -e new ]] || fail "$file: something was written"
    elif ! (expect_status 0 within 20 "$stackpack" $command "$file") 2>failed; then
      expect_refusal "" within 20 "$stackpack" $command "$file"
    fi
  done
done <list
