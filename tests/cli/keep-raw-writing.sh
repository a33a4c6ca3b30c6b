#!/bin/bash
# The program and its kept stack maps are written both, or both stay old: where writing one fails, the other one, and the file
# in its place before, stay.
. "$TOP/tests/cli/common.sh"

# A mount of its own; it goes away with the script.
if [[ $(id -u) == 0 && -z ${PRIVATE_MOUNTS-} ]] && unshare --mount true 2>/dev/null; then
  PRIVATE_MOUNTS=1 exec unshare --mount "$0"
fi

make_program lld app list
cp app raw
mkdir folder work

expect_untouched() { # folder has the raw program, the old kept file, and nothing else
  expect_same folder/app raw
  [[ $(<folder/kept) == "an older file" ]] || fail "the older file was lost"
  [[ $(ls -A folder | tr '\n' ' ') == "app kept " ]] || fail "files were left: $(ls -A folder)"
}

cp raw folder/app
echo "an older file" >folder/kept
expect_refusal 'no/such/kept: ' "$stackpack" pack --always --keep-raw=no/such/kept folder/app
expect_untouched
expect_refusal 'work: ' "$stackpack" pack --always --keep-raw=work folder/app
expect_untouched
expect_refusal 'no/such/out: ' "$stackpack" pack --always --keep-raw=folder/kept -o no/such/out folder/app
expect_untouched
expect_refusal 'work: ' "$stackpack" pack --always --keep-raw=folder/kept -o work folder/app
expect_untouched
expect_refusal 'folder/app: --keep-raw names the program itself' "$stackpack" pack --always --keep-raw=work/../folder/app folder/app
expect_untouched
ln -s ../folder/app work/link
expect_refusal '' "$stackpack" pack --always --keep-raw=work/link folder/app
expect_refusal '' "$stackpack" pack --always --keep-raw=work/../new -o ./new folder/app
[[ ! -e new ]] || fail "something was written"
expect_untouched
expect_refusal '' "$stackpack" pack --always --keep-raw=folder/kept folder/app raw # one file for two programs
expect_untouched

# A program that lacks stack maps, or is packed, has nothing to keep.
expect_status 0 "$stackpack" pack --always --if-present --keep-raw=folder/kept -o work/same "$(type -P true)"
expect_untouched
expect_status 0 "$stackpack" pack --always -o work/packed raw
expect_status 0 "$stackpack" pack --always --keep-raw=folder/kept -o work/same work/packed
expect_untouched

# A full disk.
(
  trap '' XFSZ
  ulimit -f 1
  expect_refusal 'folder/(app|kept): ' "$stackpack" pack --always --keep-raw=folder/kept folder/app
)
expect_untouched

# A program whose place refuses a rename: it is a mount point.
if [[ -n ${PRIVATE_MOUNTS-} ]] && touch work/mounted && mount --bind work/mounted work/mounted 2>/dev/null; then
  expect_refusal 'work/mounted: can.t be replaced' "$stackpack" pack --quiet --always --keep-raw=folder/kept -o work/mounted folder/app
  expect_untouched
  expect_refusal 'work/mounted: can.t be replaced' "$stackpack" pack --quiet --always --keep-raw=work/kept -o work/mounted folder/app
  [[ ! -e work/kept ]] || fail "the kept stack maps of a program that wasn't written"
  expect_untouched
fi

# And then it works; the older file is replaced.
expect_status 0 "$stackpack" pack --always --keep-raw=folder/kept folder/app
expect_packed folder/app
[[ $(ls -A folder | tr '\n' ' ') == "app kept " ]] || fail "files were left: $(ls -A folder)"
expect_status 0 "$stackpack" unpack --raw=folder/kept folder/app
expect_same folder/app raw

# Only its owner may read this program: nor may others read its stack maps.
chmod 4711 folder/app
expect_status 0 "$stackpack" pack --always --keep-raw=folder/kept folder/app
[[ $(stat -c %a folder/kept) == 600 && $(stat -c %a folder/app) == 4711 ]] || fail "modes: $(stat -c '%a %n' folder/*)"
