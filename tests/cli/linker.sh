#!/bin/bash
# stackpack-ld: compilers link by it, and get the real linker's program, packed.
. "$TOP/tests/cli/common.sh"

wrapper=$BUILD/stackpack-ld
compile_main main.o
compile list list.o -relocation-model=pic
export PATH=$LLVM/bin:$PATH # for ld.lld, which distributions have under other names
unset STACKPACK_LD
export STACKPACK_OPTIONS=--always # small programs grow

expect_program() { # RAW PACKED
  expect_packed "$2"
  expect_same_run "$1" "$2"
  expect_status 0 "$stackpack" verify "$1" "$2"
}

# The linker of a file: each but GNU ld says so.
linker_of() { # FILE
  case $(readelf --string-dump=.comment "$1"; readelf --notes "$1" 2>/dev/null) in
  *LLD*) echo ld.lld ;;
  *mold*) echo mold ;;
  *gold*) echo ld.gold ;;
  *) echo ld.bfd ;;
  esac
}

# ---- By compilers, and with each linker ----
# The wrapper links objects as `split` leaves them: their maps are in writable memory, so code may have other addresses.
"$stackpack" split --quiet -o split.o list.o
for linker in ld.lld ld.bfd ld.gold mold; do
  "$LLVM/bin/clang" --ld-path="$(command -v $linker)" -no-pie -o raw main.o split.o 2>/dev/null
  STACKPACK_LD=$linker "$LLVM/bin/clang" --ld-path="$wrapper" -no-pie -o app main.o list.o 2>log || { cat log; fail $linker; }
  [[ $(linker_of app) == "$linker" ]] || fail "not linked by $linker"
  expect_program raw app
done
STACKPACK_LD=no-such-linker "$LLVM/bin/clang" -fuse-ld="$wrapper" -Wl,--stackpack-ld=ld.bfd -no-pie -o app main.o list.o 2>log ||
  { cat log; fail "-Wl,--stackpack-ld"; }
[[ $(linker_of app) == ld.bfd ]] || fail "--stackpack-ld doesn't count"
"$LLVM/bin/clang" --ld-path="$wrapper" -no-pie main.o list.o
[[ $(linker_of a.out) == ld.lld ]] || fail "the default isn't ld.lld"
expect_packed a.out
# A file that would grow is left unpacked, with a message.
STACKPACK_OPTIONS='' "$LLVM/bin/clang" --ld-path="$wrapper" -no-pie -o grown main.o list.o 2>log || { cat log; fail "a program that would grow"; }
grep -q 'grown: warning: not packed, as the file would grow from [0-9]* to [0-9]* bytes' log || fail "of growth it says: $(<log)"
expect_same_run a.out grown
mkdir only-ld folder 'a folder'
ln -s "$(command -v ld.bfd)" only-ld/ld
PATH=$PWD/only-ld "$LLVM/bin/clang" --ld-path="$wrapper" -no-pie -o app main.o list.o
[[ $(linker_of app) == ld.bfd ]] || fail "without ld.lld it isn't ld"
expect_packed app

# gcc takes `ld` from a folder, and gets the linker that it'd have got: the wrapper skips itself in PATH.
ln -s "$wrapper" folder/ld
ln -s "$wrapper" folder/ld.gold
for options in "" "-fuse-ld=gold"; do
  for path in "$PATH" "$PWD/folder::$PATH"; do
    # shellcheck disable=SC2086 # an option or none
    PATH=$path gcc -Bfolder/ $options -no-pie -o app main.o list.o
    expect_packed app
    [[ $(linker_of app) == "ld.${options:+gold}" || $(linker_of app) == "ld.bfd" && -z $options ]] || fail "gcc $options: another linker"
  done
done
ln -s "$wrapper" folder/ld.lld
"$LLVM/bin/clang" -Bfolder/ -fuse-ld=lld -no-pie -o app main.o list.o
[[ $(linker_of app) == ld.lld ]] || fail "clang -B -fuse-ld=lld: another linker"
expect_packed app
echo 'int unused;' >unused.c # link-time optimisation: the compiler gives the linker a plugin, which runs the compiler
gcc -flto -O2 -c unused.c
gcc -flto -O2 -Bfolder/ -no-pie -o app main.o list.o unused.o
expect_packed app

# ---- Packed and unpacked outputs ----
link() { # [LINKER ARGUMENT...]
  expect_status 0 "$wrapper" --stackpack-ld=ld.bfd "$@"
}
printf '.globl _start\n_start: mov $60, %%eax\nxor %%edi, %%edi\nsyscall\n.section .note.GNU-stack\n' >start.s
gcc -c start.s
many_functions 5 >many.ll
compile ./many.ll many.o
echo 'void collect(void) {} void *allocate(long n) { return (void *)n; }' >runtime.c
gcc -c runtime.c
managed=(start.o many.o runtime.o)
for form in "-o linked" "-olinked" "--output=linked" "--output linked" "--outp=linked" "--outp linked" "-o other -o linked"; do
  rm -f linked
  # shellcheck disable=SC2086 # a list of words
  link $form "${managed[@]}"
  expect_packed linked
  ./linked
done
[[ ! -e other ]] || fail "an output too many"
expect_status 0 "$wrapper" --stackpack-ld="$LLVM/bin/ld.lld" -o linked "${managed[@]}" -mllvm -opt-bisect-limit=-1
expect_packed linked
link "${managed[@]}"
expect_packed a.out
link -shared -z notext -o library.so many.o
expect_packed library.so
ld.bfd -r -o expected.o "${managed[@]}"
link -r -o object.o "${managed[@]}"
expect_same expected.o object.o
ld.bfd -o expected start.o
link -o plain start.o
expect_same expected plain
"$stackpack" split --quiet -o split.o many.o
ld.bfd --oformat=binary -o expected "${managed[@]/many.o/split.o}"
link --oformat=binary -o binary "${managed[@]}"
expect_same expected binary
link -o /dev/null "${managed[@]}"
[[ -c /dev/null ]] || fail "/dev/null was replaced"

# A file that the linker left unwritten stays unpacked, and the linker's messages are passed on.
ld.bfd -o raw "${managed[@]}"
cp raw a.out
cp raw before
ld.bfd --version >expected
link --version
expect_same out expected
link --help -o raw
expect_same raw before
expect_same a.out before
link -V
expect_same a.out before

# ---- Its own options, on the command line, in the environment and in response files ----
expect_options() { # RECORDS: so many are left in `app`
  [[ $("$stackpack" dump --format=json app | wc -l) == "$1" ]] || fail "$1 records should be left in app"
}
all=$("$stackpack" dump --format=json linked | wc -l)
link -o app "${managed[@]}" --stackpack-option=--gc-entry=none --stackpack-option=--gc-entry=no_such
expect_options "$all" # no function of these names: nothing is dropped
link -o app "${managed[@]}" --stackpack-option=--gc-entry=allocate
few=$("$stackpack" dump --format=json app | wc -l)
((few < all)) || fail "an option on the command line doesn't count"
STACKPACK_OPTIONS='  --always --gc-entry=allocate	--strict ' link -o app "${managed[@]}"
expect_options "$few"
link -o app "${managed[@]}"
expect_options "$all"

printf '%s\n' -Map=a\\\ folder/map @inner.rsp "many.o" >outer.rsp
cat >inner.rsp <<'END'
-o 'a folder'/app\ \"1\" start.o
--stackpack-option=--gc-entry=allocate @none
END
ln -sf "$PWD/runtime.o" @none # no response file of this name: a file's name as it is
link @outer.rsp
expect_packed 'a folder/app "1"'
[[ -s 'a folder/map' ]] || fail "an option of the response file is lost"
[[ $("$stackpack" dump --format=json 'a folder/app "1"' | wc -l) == "$few" ]] || fail "an option in a response file doesn't count"
# More words than execve takes, and an own option among them.
{ seq -f "-L/a/folder/that/is/not/there/%.0f" 60000; echo "--stackpack-option=--gc-entry=allocate -o app ${managed[*]}"; } >long.rsp
(($(wc -c <long.rsp) > 2097152)) || fail "the response file is too short"
link @long.rsp
expect_packed app
expect_options "$few"
echo @self.rsp >self.rsp
# As rustc runs an lld of its own: -flavor counts outside response files alone.
printf '%s\n' -o app "${managed[@]}" >flavor.rsp
ln -s "$(command -v lld)" flavored
expect_status 0 "$wrapper" --stackpack-ld=./flavored -flavor gnu @flavor.rsp
expect_packed app

# ---- What goes wrong ----
expect_complaint() { # PATTERN ARGUMENT...
  local pattern=$1
  shift
  expect_status 2 "$wrapper" "$@"
  only_line_matches "^stackpack-ld: $pattern" err || { cat err >&2; fail "another complaint"; }
}
rm -f a.out
expect_complaint '.*response files' @self.rsp
for option in --stackpack-else --stackpack-option; do
  expect_complaint "unknown option, or one without =VALUE: $option;" $option
done
expect_complaint "no linker 'no-such-linker'" --stackpack-ld=no-such-linker
expect_complaint "no linker './no-such-linker'" --stackpack-ld=./no-such-linker
expect_complaint '.*stackpack-ld itself' --stackpack-ld=folder/ld
printf '#!/bin/sh\nexec "%s" "$@"\n' "$wrapper" >again
chmod +x again
expect_complaint '.*runs stackpack-ld' --stackpack-ld=./again
mkdir alone
cp "$wrapper" alone
wrapper=$PWD/alone/stackpack-ld PATH=/usr/bin:/bin expect_complaint 'no stackpack beside' --stackpack-ld=ld.bfd start.o

echo old >app
expect_status 1 "$wrapper" --stackpack-ld=ld.bfd -o app no-such-object.o
grep -q 'no-such-object' err || fail "the linker's words are lost"
expect_status 2 "$wrapper" --stackpack-ld=ld.bfd -o app "${managed[@]}" --stackpack-option=--gc-entry=none --stackpack-option=--strict
grep -q '^stackpack: app: ' err || { cat err >&2; fail "what pack says is lost"; }
[[ ! -e app ]] || fail "a program that couldn't be packed is left"

STACKPACK_OPTIONS=--gc-entry expect_status 2 "$wrapper" --stackpack-ld=ld.bfd -o app "${managed[@]}"
only_line_matches '^stackpack: --gc-entry needs a value' err || { cat err >&2; fail "an option without its value"; }

# Closed streams' numbers are no file's.
printf '#!/bin/sh\nls -l /proc/$PPID/fd >descriptors\n' >list
chmod +x list
"$wrapper" --stackpack-ld=./list -o app start.o <&- >&- 2>&-
[[ $(grep -c ' [012] -> /dev/null$' descriptors) == 3 ]] || { cat descriptors >&2; fail "closed streams"; }

# ---- Signals: to the linker, and back from it ----
cat >slow <<'END'
#!/bin/bash
trap 'echo interrupted; trap - TERM; kill -TERM $$' TERM
echo started >started
while :; do sleep 0.1; done
END
printf '#!/bin/sh\nkill -SEGV $$\n' >crash
chmod +x slow crash
"$wrapper" --stackpack-ld=./slow >said &
pid=$!
until [[ -s started ]]; do sleep 0.05; done
kill -TERM $pid
status=0
wait $pid || status=$?
((status == 143)) || fail "not ended by the signal, but with status $status"
[[ $(<said) == interrupted ]] || fail "the linker didn't get the signal"
expect_status 139 "$wrapper" --stackpack-ld=./crash
