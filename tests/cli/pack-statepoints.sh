#!/bin/bash
# `--statepoints` selects the statepoints among the records: by their form, all of them, or none.
. "$TOP/tests/cli/common.sh"

kinds() { # DUMP
  python3 -c "import json, sys; print(*sorted({json.loads(line)['kind'] for line in open('$1')}))"
}

make_program lld mixed patchpoints
make_program lld all list
for choice in auto all none; do
  for program in mixed all; do
    # A plain stack map fails to read as a statepoint.
    if [[ $choice == all && $program == mixed ]]; then
      expect_refusal 'mixed: .*statepoint' "$stackpack" pack --always --statepoints=all -o packed mixed
      expect_refusal 'mixed: .*statepoint' "$stackpack" dump --statepoints=all mixed
      continue
    fi
    expect_status 0 "$stackpack" pack --always --statepoints=$choice -o packed $program
    expect_same_run $program packed
    dump_json $program --statepoints=$choice >raw.json
    dump_json packed >packed.json
    expect_same raw.json packed.json
    found=$(kinds packed.json)
    case $choice-$program in
    none-*) expected="stackmap" ;;
    *-all) expected="statepoint" ;;
    *-mixed) expected="stackmap statepoint" ;;
    esac
    [[ $found == "$expected" ]] || fail "--statepoints=$choice: $program has $found, not $expected"
  done
done

# auto is the default.
expect_status 0 "$stackpack" pack --always -o packed mixed
expect_status 0 "$stackpack" pack --always --statepoints=auto -o packed.auto mixed
expect_same packed packed.auto
expect_status 2 "$stackpack" pack --always --statepoints=some -o other mixed
