#!/bin/bash
# The semispace sample: with a moving collector, raw and packed, its output equals the plain C build's. A wrong,
# lost or invented root shows as another checksum, as a fault in the old space, or as the collector's own complaint.
. "$TOP/tests/samples/common.sh"

# Exactly the records unneeded by collections are dropped.
for variant in semispace semispace-O0; do
  expect_status 0 "$stackpack" verify --policy="$TOP/samples/semispace/gc.policy" "$programs/$variant-raw" "$programs/$variant"
  expect_output ': [1-9][0-9]* records more, which packing dropped'
done

# The raw and the packed stack maps of one program must give the collector the same frames and pairs.
for variant in semispace semispace-O0; do
  expect_different "$programs/$variant" "$programs/$variant-raw"
  for options in "" "--heap 200" "--stress --size 1" "--stress --size 4"; do
    sampled 2 || continue
    read -ra words <<<"$options"
    "$programs/semispace-plain" "${words[@]}" >expected
    for program in "$variant-raw" "$variant"; do
      expect_as_plain '^collections: 0$|moved: 0 |walked: 0 |\(0 of them' "$program" "${words[@]}"
    done
    diff "$variant-raw.statistics" "$variant.statistics" || fail "$variant $options: other statistics than unpacked"
  done
done

expect_clean semispace --size 1
