#!/bin/bash
# The includes of folders and headers are free of cycles, and arrows point down: see includes.py. The check itself
# notices each kind of offence.
. "$TOP/tests/cli/common.sh"

python3 "$TOP/tests/cli/includes.py" "$TOP" || fail "includes that shouldn't be"

expect_offence() { # FILE INCLUDED PATTERN
  printf '#include "%s"\n' "$2" >>"copy/$1"
  ! python3 "$TOP/tests/cli/includes.py" copy >offences || fail "$1 may include $2"
  cp "$TOP/$1" "copy/$1"
  grep -q "$3" offences || fail "$1 includes $2: $(<offences)"
}
mkdir copy
cp -r "$TOP"/{format,elf,runtime,tool} copy
expect_offence format/bits.c runtime/internal.h 'is above it'
expect_offence runtime/stackpack.h format/bits.h 'is above it'
expect_offence tool/image/image.c tool/commands.h 'is above it'
expect_offence tool/image/image.h tool/image/load.h 'a circle of headers'
expect_offence tool/image/image.c tool/sizes/survey.h 'a circle of folders'
expect_offence tool/image/image.c image.h "isn't named from the top"
