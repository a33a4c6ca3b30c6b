#!/bin/bash
# A file without read permission, and a folder without write permission, are refused, and stay unchanged.
. "$TOP/tests/cli/common.sh"

make_program lld app list
mkdir folder
cp app folder/app
cp app before
chmod 000 app
chmod 555 folder

# Root may do everything, unless it gives that up.
if [[ $(id -u) == 0 ]]; then
  unprivileged=(setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search)
  "${unprivileged[@]}" true 2>/dev/null || skip "root can't give up its privileges here"
else
  unprivileged=()
fi
for command in pack dump stats "pack -o out.packed"; do
  # shellcheck disable=SC2086 # a list of words
  expect_refusal 'app: .*[Pp]ermission denied' "${unprivileged[@]}" "$stackpack" $command app
done
expect_refusal 'folder/app: .*[Pp]ermission denied' "${unprivileged[@]}" "$stackpack" pack --always folder/app
expect_refusal 'folder/new: .*[Pp]ermission denied' "${unprivileged[@]}" "$stackpack" pack --always -o folder/new folder/app
expect_same folder/app before
[[ $(ls -A folder) == app ]] || fail "other files in the folder: $(ls -A folder)"
