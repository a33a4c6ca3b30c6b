#!/bin/bash
# `stats --before` lists new, gone, grown and shrunk functions, and with --max-growth fails if the stack
# maps have grown too much.
. "$TOP/tests/cli/common.sh"

# In the later build f2 is gone, f3 has fewer safepoints, f4 more, and `added` is new.
many_functions 40 >some.ll
large() { # FUNCTION
  awk -v function_="^define i64 @$1\\\\(" '
    /^define/ { inside = $0 ~ function_ }
    { print }
    inside && /call void @collect/ && !done++ { for (i = 0; i < 30; i++) print }'
}
large f3 <some.ll >before.ll
{
  large f4 <some.ll | awk '/^define i64 @f2\(/ { skip = 1 } !skip { print } /^}/ { skip = 0 }'
  printf 'define i64 @added(i64 %%n) gc "statepoint-example" {\n  call void @collect()\n  ret i64 %%n\n}\n'
} >after.ll
make_program lld before ./before.ll
make_program lld after ./after.ll

expect_changes() { # BEFORE AFTER
  expect_status 0 "$stackpack" stats --format=json --before="$1" "$2"
  python3 - <<'PYTHON' || fail "$1 and $2: not what changed"
import json
stats = json.load(open("out"))
changes = {change["name"]: change for change in stats["functions"]["changes"]}
assert changes["f2"]["change"] == "gone" and changes["f2"]["after"] == 0
assert changes["added"]["change"] == "new" and changes["added"]["before"] == 0
assert changes["f3"]["change"] == "shrunk" and changes["f4"]["change"] == "grown"
for kind in "new", "gone", "grown", "shrunk":
    assert stats["functions"][kind] == sum(change["change"] == kind for change in changes.values())
before, after = (stats[side]["packed"]["size"] for side in ("before", "after"))
assert abs(stats["growth_percent"] - 100 * (after - before) / before) < 1e-9
rest = {side: stats[side]["packed"]["rest"] for side in ("before", "after")}
assert (after - rest["after"]) - (before - rest["before"]) == \
    sum(change["after"] - change["before"] for change in changes.values())
PYTHON
}
expect_changes before after
for program in before after; do expect_status 0 "$stackpack" pack -o $program.packed $program; done
expect_changes before.packed after.packed
expect_changes before after.packed

expect_status 0 "$stackpack" stats --before=before after
expect_output '^ *[0-9.]+ +0\.0 +-[0-9.]+ +-100\.0  f2$'
expect_output '^ *0\.0 +[0-9.]+ +\+[0-9.]+  +added$'
expect_output 'gone functions: 1$'
expect_output 'new functions: 1$'

# A program is as large as itself, raw and packed.
expect_status 0 "$stackpack" stats --max-growth=0 --before=before before.packed
expect_output '\(\+0\.00 %\)'
! grep -qE ' (new|gone|grown|shrunk) functions' out || fail "nothing has changed"

many_functions 80 >larger.ll
make_program lld larger ./larger.ll
expect_status 1 "$stackpack" stats --max-growth=10 --before=before larger
expect_output 'grown by [0-9.]+ %, more than 10 %$'
expect_status 1 "$stackpack" stats --max-growth=10% --format=json --before=before larger
expect_status 0 "$stackpack" stats --max-growth=1000 --before=before larger
expect_status 0 "$stackpack" stats --max-growth=0 --before=larger before
expect_status 2 "$stackpack" stats --max-growth=10 --before=before missing
expect_status 2 "$stackpack" stats --max-growth=10 --before=missing larger
