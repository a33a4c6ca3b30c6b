#!/bin/bash
# A result is printed when the file is in place: an irreplaceable file has none, and where printing the result fails, the one
# line says that the file is written. The new file on standard output stays apart from it.
. "$TOP/tests/cli/common.sh"

many_functions 20 >many.ll
make_program lld raw ./many.ll
expect_status 0 "$stackpack" pack --reader=elsewhere --keep-raw=kept -o packed raw

refuse_full() { # WORD COMMAND...: of the command's line, standard output is full
  local status=0
  "${@:2}" >/dev/full 2>err || status=$?
  ((status == 2)) || fail "exit status $status: ${*:2}"
  only_line_matches "^stackpack: $1: it is written, but the result isn't: standard output: " err || { cat err; fail "not one line"; }
}
cp raw app
refuse_full app "$stackpack" pack --reader=elsewhere app
expect_same app packed
cp raw app
refuse_full app "$stackpack" pack --reader=elsewhere --report --gc-entry=collect --keep-raw=other app
expect_packed app
expect_status 0 "$stackpack" unpack --raw=other -o back app
expect_same back raw
cp packed app
refuse_full app "$stackpack" unpack --raw=kept app
expect_same app raw

# An irreplaceable file: another user's in a folder like /tmp.
if [[ $(id -u) == 0 ]] && mkdir sticky && chmod 1777 sticky . && setpriv --reuid=12345 --clear-groups test -x "$stackpack"; then
  cp raw sticky/app
  cp kept sticky/kept
  for arguments in "pack --reader=elsewhere sticky/app" "pack --reader=elsewhere --format=json sticky/app" "pack --reader=elsewhere --keep-raw=sticky/new sticky/app" "unpack --raw=kept -o sticky/app packed"; do
    # shellcheck disable=SC2086 # a list of words
    expect_status 2 setpriv --reuid=12345 --clear-groups "$stackpack" $arguments
    [[ ! -s out ]] || fail "a result of nothing: $(<out)"
    only_line_matches "^stackpack: sticky/app: can't be replaced: " err || fail "$(<err)"
    expect_same sticky/app raw
    [[ $(ls -A sticky | tr '\n' ' ') == "app kept " ]] || fail "files were left: $(ls -A sticky)"
  done
fi
cp raw app
status=0
"$stackpack" pack --reader=elsewhere --quiet app >/dev/full || status=$?
((status == 0)) || fail "nothing is said with --quiet"
expect_same app packed

# To standard output: a pipe, and a file.
"$stackpack" pack --reader=elsewhere -o /dev/stdout raw 2>err | cat >app
expect_same app packed
grep -q '^raw: .* records' err || fail "nothing is said"
chmod -x app
"$stackpack" pack --reader=elsewhere --report --gc-entry=collect -o /dev/stdout raw 2>err >app
[[ $(head -c 4 app) == $'\x7fELF' ]] || fail "no program"
expect_packed app
grep -q '^raw: dropped ' err || fail "no report"
"$stackpack" unpack --raw=kept -o /dev/stdout packed 2>err | cat >app
expect_same app raw

# A symbolic link to a missing file stays a link.
mkdir folder
ln -s nowhere folder/short
ln -s folder/short long
expect_status 0 "$stackpack" pack --reader=elsewhere -o long raw
[[ -L long && -L folder/short ]] || fail "a link was replaced"
expect_same folder/nowhere packed
ln -s "$PWD/folder/absolute" absolute
expect_status 0 "$stackpack" pack --reader=elsewhere -o absolute raw
[[ -L absolute ]] || fail "the link was replaced"
expect_same folder/absolute packed
ln -s loop loop
expect_refusal 'loop: ' "$stackpack" pack --reader=elsewhere -o loop raw
[[ -L loop ]] || fail "the loop was replaced"

# The kept file is safe from the file that it gives back; the packed file may be.
cp kept before
expect_refusal 'packed: -o names the file of the raw stack maps' "$stackpack" unpack --raw=kept -o kept packed
ln kept hard
expect_refusal 'packed: -o names the file of the raw stack maps' "$stackpack" unpack --raw=kept -o hard packed
expect_same kept before
cp packed app
expect_status 0 "$stackpack" unpack --raw=kept -o app app
expect_same app raw

# So does `split`.
"$stackpack" split -o split.o raw.o >said
"$stackpack" split -o /dev/stdout raw.o 2>err | cat >other.o
expect_same other.o split.o
expect_same err said
refuse_full raw.o "$stackpack" split raw.o
