#!/bin/bash
# A file that would grow by packing stays unchanged, but with --always; --dry-run prints the outcome, and stats the size.
. "$TOP/tests/cli/common.sh"

cat >one.ll <<'IR'
declare void @collect()
define i64 @run(i64 %n) gc "statepoint-example" {
  call void @collect()
  ret i64 %n
}
IR
make_program lld small ./one.ll
many_functions 60 >many.ll
make_program lld large ./many.ll
size=$(stat -c %s small)

cp small app
expect_status 0 "$stackpack" pack app
expect_output "^app: not packed, as the file would grow from $size to [0-9]+ bytes; --always packs it all the same\$"
[[ $(wc -l <out) == 1 ]] || fail "more than that"
grown=$(sed -E 's/.* to ([0-9]+) bytes.*/\1/' out)
expect_same app small
expect_status 0 "$stackpack" pack --quiet --keep-raw=kept app
[[ ! -s out && ! -e kept ]] || fail "said or kept something"
expect_same app small
expect_status 0 "$stackpack" pack -o copy app
expect_same copy small
[[ -x copy ]] || fail "the copy can't be executed"
expect_status 0 "$stackpack" pack --dry-run --always app
expect_output "file $size -> $grown bytes; nothing is written\$"
expect_same app small
expect_status 0 "$stackpack" stats app
expect_output "^app: $size bytes, $grown when it's packed\$"
expect_status 0 "$stackpack" pack --always app
expect_packed app
[[ $(stat -c %s app) == "$grown" ]] || fail "another size than was said"

cp large app
expect_status 0 "$stackpack" pack --dry-run --report --keep-raw=kept -o other app
expect_output "; nothing is written\$"
expect_same app large
[[ ! -e other && ! -e kept ]] || fail "something was written"
expect_status 0 "$stackpack" stats app
expected=$(sed -nE 's/^app: .* bytes, ([0-9]+) when.*/\1/p' out)
expect_status 0 "$stackpack" stats --format=json app
python3 -c "import json; assert json.load(open('out'))['counts']['packed_file_size'] == $expected" || fail "another size in JSON"
expect_status 0 "$stackpack" pack app
expect_packed app
[[ $(stat -c %s app) == "$expected" ]] || fail "another size than was said"
expect_status 0 "$stackpack" stats app
expect_output "^app: $expected bytes\$"
expect_status 0 "$stackpack" stats --format=json app
! grep -q packed_file_size out || fail "a packed file has no other packed size"

# Dropped records must be chosen when the file is packed.
for option in --gc-entry=collect --drop-unreachable; do
  cp app before
  expect_refusal 'app: is packed already' "$stackpack" pack $option app
  expect_refusal 'app: is packed already' "$stackpack" stats $option app
  expect_same app before
done
expect_status 0 "$stackpack" pack app
expect_output '^app: is packed already$'
