#!/bin/bash
# A full disk, or a limit on file sizes, leaves the program unchanged, and the folder free of temporary files.
. "$TOP/tests/cli/common.sh"

# A mount of its own; it goes away with the script.
if [[ $(id -u) == 0 && -z ${PRIVATE_MOUNTS-} ]] && unshare --mount true 2>/dev/null; then
  PRIVATE_MOUNTS=1 exec unshare --mount "$0"
fi

expect_untouched() { # FOLDER: it has the raw program and nothing else
  expect_same "$1/app" raw
  [[ $(ls -A "$1") == app ]] || fail "files were left: $(ls -A "$1")"
}

many_functions 200 >many.ll
make_program bfd raw ./many.ll
mkdir folder disk
cp raw folder/app
for kilobytes in 1 8 64; do
  # Where SIGXFSZ is ignored, a write fails; elsewhere it may kill.
  # shellcheck disable=SC2016 # expanded by the shell that is started
  expect_refusal 'folder/app: ' bash -c 'trap "" XFSZ; ulimit -f $0; exec "$@"' $kilobytes "$stackpack" pack --always folder/app
  expect_untouched folder
  status=0
  # shellcheck disable=SC2016
  { bash -c 'ulimit -f $0; exec "$@"' $kilobytes "$stackpack" pack --always folder/app || status=$?; } >out 2>err
  ((status != 0)) || fail "success with a limit of $kilobytes KB"
  expect_untouched folder
done

# A file system with less room than the packed file needs.
if [[ -n ${PRIVATE_MOUNTS-} ]] && mount -t tmpfs -o size=$(($(stat -c %s raw) / 1024 + 20))k tmpfs disk 2>/dev/null; then
  cp raw disk/app
  expect_refusal 'disk/app: .*[Nn]o space' "$stackpack" pack --always disk/app
  expect_untouched disk
  expect_refusal 'disk/new: .*[Nn]o space' "$stackpack" pack --always -o disk/new raw
  expect_untouched disk
fi

# With room again, the same file is packed.
expect_status 0 "$stackpack" pack --always folder/app
expect_packed folder/app
