#!/bin/bash
# The target of a symbolic link is packed, and the link stays a link. Another hard link keeps the raw program.
. "$TOP/tests/cli/common.sh"

make_program lld raw list
mkdir bin lib
cp raw lib/app
ln -s ../lib/app bin/app
ln -s bin/app short
expect_status 0 "$stackpack" pack --always short
[[ $(readlink short) == bin/app && $(readlink bin/app) == ../lib/app ]] || fail "a link is no link any more"
[[ ! -L lib/app ]] || fail "the target has become a link"
expect_packed lib/app
expect_same_run raw short
[[ $(ls -A bin lib) == $'bin:\napp\n\nlib:\napp' ]] || fail "other files were left: $(ls -A bin lib)"

# -o to a symbolic link writes its target, too.
cp raw lib/other
ln -s ../lib/other bin/other
expect_status 0 "$stackpack" pack --always -o bin/other raw
[[ -L bin/other ]] || fail "the link was replaced"
expect_packed lib/other

cp raw one
ln one two
expect_status 0 "$stackpack" pack --always one
expect_packed one
expect_same two raw

ln -s nowhere dangling
expect_refusal 'dangling: ' "$stackpack" pack --always dangling
ln -s loop loop
expect_refusal 'loop: ' "$stackpack" pack --always loop
