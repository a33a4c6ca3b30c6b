#!/bin/bash
# File names with spaces, a leading dash, a newline or an empty first part are just names.
. "$TOP/tests/cli/common.sh"

make_program lld raw list
cp raw 'two words'
cp raw ./-o
cp raw $'new\nline'
cp raw "quote'"
expect_status 0 "$stackpack" pack --always 'two words' ./-o "$PWD/quote'" $'new\nline'
for name in 'two words' ./-o "quote'" $'new\nline'; do expect_packed "$name"; done
cp raw ./--quiet
expect_status 0 "$stackpack" pack --always -- --quiet
expect_packed ./--quiet
expect_refusal "'': can't be opened: " "$stackpack" pack --always ''

# Words of the command line are printed as names are: control characters by their numbers, in one line.
odd=$'odd\n\e[31m'
expect_refusal "no command 'odd\\\\x0a\\\\x1b\\[31m'; see " "$stackpack" "$odd"
expect_refusal 'unknown option: --odd\\x0a\\x1b\[31m; see ' "$stackpack" pack "--$odd"
expect_refusal "--format is text or json, not 'odd\\\\x0a\\\\x1b\\[31m'; see " "$stackpack" pack "--format=$odd" raw
expect_status 2 "$BUILD/stackpack-ld" --stackpack-ld="$odd"
only_line_matches '^stackpack-ld: no linker .odd\\x0a\\x1b\[31m. in PATH$' err || fail "stackpack-ld: $(<err)"
