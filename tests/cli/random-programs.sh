#!/bin/bash
# The records of random programs, however odd, are those that the second reader finds; but of several functions at one
# address, not each has its own.
. "$TOP/tests/cli/common.sh"

oracle=$TOP/tests/oracle
for profile in typical wild; do
  for seed in 1 2 3 4; do
    for size in "0 1" "5 60" "300 40"; do
      read -r records functions <<<"$size"
      python3 "$oracle/random_stackmap.py" --profile $profile --seed $seed --records "$records" --functions "$functions" -o random
      expect_status 0 "$stackpack" pack --always --conflicts=omit -o packed random
      dump_json random >raw.json
      dump_json packed >packed.json
      expect_same raw.json packed.json
      expect_status 0 python3 "$oracle/compare.py" --left-out random raw.json
      [[ $profile == wild ]] || expect_output 'records equal, 0$'
    done
  done
done
