#!/bin/bash
# Extended attributes are kept; a lost one is named.
. "$TOP/tests/cli/common.sh"

attribute() { # FILE NAME [VALUE]: gives or prints it
  python3 -c '
import os, sys
if len(sys.argv) > 3: os.setxattr(sys.argv[1], sys.argv[2], os.fsencode(sys.argv[3]))
else: print(os.fsdecode(os.getxattr(sys.argv[1], sys.argv[2])))' "$@"
}

many_functions 20 >many.ll
make_program lld raw ./many.ll
attribute raw user.note "some text" 2>err || skip "no extended attributes here: $(tail -n 1 err)"
cp --preserve=all raw app
expect_status 0 "$stackpack" pack --keep-raw=kept app
expect_packed app
[[ $(attribute app user.note) == "some text" ]] || fail "the attribute is lost"
[[ -n $(library_flags) ]] || expect_status 0 bash -c 'ulimit -s 128; exec "$@"' - "$stackpack" pack -o small raw
expect_status 0 "$stackpack" pack -o other raw
[[ $(attribute other user.note) == "some text" ]] || fail "the attribute is lost with -o"
! attribute kept user.note 2>err || fail "what was kept has the program's attributes"
expect_status 0 "$stackpack" unpack --raw=kept app
[[ $(attribute app user.note) == "some text" ]] || fail "the attribute is lost in unpacking"

# A capability: CAP_NET_BIND_SERVICE, effective and permitted. (linux/capability.h, VFS_CAP_REVISION_2)
if [[ $(id -u) == 0 ]] && python3 -c '
import os, struct
os.setxattr("raw", "security.capability", struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))' 2>err; then
  cp --preserve=all raw app
  expect_status 0 "$stackpack" pack --reader=elsewhere app
  [[ ! -s err ]] || fail "a warning: $(cat err)"
  python3 -c 'import os; assert os.getxattr("app", "security.capability") == os.getxattr("raw", "security.capability")' ||
    fail "the capability is lost"
  # A user who lacks the right to set it loses it.
  cp --preserve=all raw app
  expect_status 0 setpriv --bounding-set=-setfcap --inh-caps=-setfcap "$stackpack" pack --quiet --reader=elsewhere app
  only_line_matches '^stackpack: app: warning: the extended attribute security.capability isn.t kept' err ||
    { cat err; fail "it isn't said that the capability is lost"; }
  expect_packed app
fi
