#!/bin/bash
# The help of each command fits a screen of 24 lines by 80 columns, and the manual page has all of its options. Manual
# pages are clean, and of this version.
. "$TOP/tests/cli/common.sh"

expect_fits() { # COMMAND...
  expect_status 0 "$@"
  (($(wc -l <out) <= 24)) || { cat out >&2; fail "$* doesn't fit 24 lines"; }
  ! grep -nE '^.{81}' out >&2 || fail "$*: lines of more than 80 columns"
}

helps() {
  python3 "$TOP/tests/cli/helps.py" "$stackpack" "$@"
}

expect_fits "$stackpack" --help
expect_fits "$BUILD/stackpack-ld" --stackpack-help
helps commands >commands
(($(wc -l <commands) >= 7)) || fail "too few commands"
while read -r command; do
  expect_fits "$stackpack" "$command" --help
  grep -qE "^\.SS $command\$" "$TOP/man/stackpack.1" || fail "the manual page doesn't describe $command"
  grep -qE "^\.B stackpack $command\$" "$TOP/man/stackpack.1" || fail "the manual page has no synopsis of $command"
  for option in $(helps options "$command"); do
    [[ $option == --help ]] || grep -qE "^\.(B|BI|BR|TP|IR|RB) .*${option//-/\\\\-}([ =\",]|\$)" "$TOP/man/stackpack.1" ||
      fail "the manual page hasn't $command $option"
  done
done <commands
helps manual <"$TOP/man/stackpack.1" >manual
helps listed <"$TOP/man/stackpack.1" | diff manual - >&2 || fail "the manual page lists other commands for an option than have it"
(($(wc -l <manual) >= 40)) || fail "too few options have a list of commands"
for option in --stackpack-ld --stackpack-option --stackpack-help; do
  grep -qE "^\.(B|BI) ${option//-/\\\\-}(=|\$)" "$TOP/man/stackpack-ld.1" || fail "the manual page hasn't $option"
done

command -v mandoc >/dev/null || skip "no mandoc"
version=$("$stackpack" --version)
for page in "$TOP"/man/*; do
  mandoc -T lint -W warning "$page" >lint || { cat lint >&2; fail "$page isn't clean"; }
  head -n 1 "$page" | grep -F "\"$version\"" >/dev/null || fail "$page is of another version"
done
