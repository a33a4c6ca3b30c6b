#!/bin/bash
# `unpack` refuses unfitting files, in one line: another program's stack maps, a packed file that was changed, a file
# that is broken anywhere. The files stay unchanged then.
. "$TOP/tests/cli/common.sh"

make_program lld app list
make_program bfd other list
cp app raw
expect_status 0 "$stackpack" pack --always --keep-raw=kept app
expect_status 0 "$stackpack" pack --always --keep-raw=kept.other other
cp app packed

unpack() { # PATTERN KEPT PACKED
  expect_refusal "$1" "$stackpack" unpack --raw "$2" -o new "$3"
  [[ ! -e new ]] || fail "something was written"
}

unpack 'kept.other: kept of another program' kept.other app
unpack 'kept: kept of another program' kept other
unpack 'raw: isn.t packed$' kept raw
unpack 'app: not a file of kept stack maps$' app app
unpack 'none: can.t be opened: ' none app
: >empty
unpack 'empty: an empty file$' empty app
unpack '\.: not a regular file$' . app
unpack 'main.o: ' kept main.o

# The packed file was changed: stripped, or a byte of it.
for change in "strip" "patchelf --set-rpath /nowhere" "objcopy --remove-section=.comment"; do
  cp app changed
  $change changed
  unpack 'kept: kept of another program, or of this one before it was changed$' kept changed
done
cp app changed
set_byte changed $(($(section_offset app .comment) + 3)) 0
unpack 'kept: kept of another program, or of this one before it was changed$' kept changed

# Every truncation of the header, and many of the rest; a flipped bit in every eighth byte, and in the header in each: it
# is refused, or the original comes out all the same (a frame has bits that nobody reads).
size=$(stat -c %s kept)
for ((length = 1; length < size; length += length < 64 ? 5 : 97)); do
  head -c $length kept >broken
  unpack 'broken: (not a file of kept stack maps|a broken file of kept stack maps: .*)$' broken app
done
cat kept <(printf x) >broken
unpack 'broken: a broken file of kept stack maps: the original program can.t be made of it$' broken app
readarray -t bytes < <(od -An -v -t u1 -w1 kept)
for ((at = 0; at < size; at += at < 48 ? 1 : 41)); do
  cp kept broken
  set_byte broken $at $((bytes[at] ^ 1 << at % 8))
  if ((at >= 48)) && "$stackpack" unpack --quiet --raw broken -o new app 2>/dev/null; then
    expect_same new raw
    rm new
  else
    unpack 'broken: (not a file of kept|kept stack maps by another version|kept of another|a broken file of kept) ?.*$' broken app
  fi
done

# In place, the packed file stays unchanged.
expect_refusal 'kept.other: ' "$stackpack" unpack --raw kept.other app
expect_same app packed
expect_refusal 'no/such/out: ' "$stackpack" unpack --raw kept -o no/such/out app
expect_status 0 "$stackpack" unpack --raw kept app
expect_same app raw

# Usage.
for arguments in "app" "--raw" "--raw kept" "--raw kept app app" "--raw kept --no-such-option app"; do
  # shellcheck disable=SC2086 # a list of words
  expect_refusal '' "$stackpack" unpack $arguments
done
