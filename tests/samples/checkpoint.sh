#!/bin/bash
# The checkpoint sample: variables are saved at each checkpoint, and a run that goes on from them has the same result, raw and packed;
# also a run of the other program. Variables of another program are refused.
. "$TOP/tests/samples/common.sh"

"$programs/checkpoint" >expected
read -r result _ <expected
for program in checkpoint-raw checkpoint; do
  expect_as_plain ': 0$' $program
done
for at in 0 1 22 23; do
  "$programs/checkpoint-raw" --save --at $at >raw
  "$programs/checkpoint" --save --at $at >packed
  expect_same raw packed
  for program in checkpoint-raw checkpoint; do
    [[ $("$programs/$program" --resume <raw) == "$result" ]] || fail "$program: another result from checkpoint $at"
  done
done

expect_die() { # PATTERN COMMAND...
  ! "${@:2}" >out 2>err || fail "it succeeds: ${*:2}"
  grep -qE "$1" err || fail "another message: $(<err)"
}
expect_die 'the run has no such checkpoint$' "$programs/checkpoint" --save --at 24
sed '1s/.$/0/' raw >other
expect_die 'a checkpoint of another program$' "$programs/checkpoint" --resume <other
sed '$d' raw >short
expect_die 'the checkpoint lacks a variable$' "$programs/checkpoint" --resume <short
