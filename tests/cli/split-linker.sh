#!/bin/bash
# stackpack-ld splits the inputs of a link: those with stack maps, wherever they are found; all others go to the linker
# unchanged, and temporary files are removed.
. "$TOP/tests/cli/common.sh"

wrapper=$BUILD/stackpack-ld
export PATH=$LLVM/bin:$PATH TMPDIR=$PWD/temporary
unset STACKPACK_LD
export STACKPACK_OPTIONS=--always # small as they are
mkdir temporary library shared
compile_main main.o -ffunction-sections
compile list list.o -function-sections
sed -E 's/@(cons|numbers|sum|reverse|run)\(/@unused_\1(/' "$samples/list.ll" >unused.ll
compile ./unused.ll unused.o -function-sections
"$LLVM/bin/llvm-ar" rcs library/libmanaged.a list.o unused.o
cp library/libmanaged.a exact.a
gcc -shared -o shared/libmanaged.so -x c - <<<'long run(long n) { return n; }'

expect_nothing_left() {
  [[ -z $(ls temporary) ]] || fail "left behind: $(ls -R temporary)"
}

# ---- The program is right and small ----
for linker in ld.lld ld.bfd ld.gold mold; do
  for inputs in "list.o unused.o" "-Llibrary -lmanaged" "-Wl,--whole-archive exact.a -Wl,--no-whole-archive"; do
    # shellcheck disable=SC2086 # a list of words
    STACKPACK_LD=$linker clang --ld-path="$wrapper" -no-pie -Wl,--gc-sections -o app main.o $inputs
    expect_packed app
    run ./app >printed
    ! grep -q unused <(nm app) || fail "$linker: unused code is kept"
    expect_nothing_left
  done
  [[ $linker != ld.lld ]] || dump_json app >first.json
  dump_json app >other.json
  [[ $(wc -l <first.json) == $(wc -l <other.json) && -s first.json ]] || fail "$linker: other records"
done

# Linkers may leave out functions of an object file, too. (gold doesn't.)
for linker in ld.lld ld.bfd mold; do
  expect_status 0 "$wrapper" --stackpack-ld=$linker -r --gc-sections -e run -o object.o list.o unused.o
  clang -no-pie -Wl,--gc-sections --ld-path="$wrapper" -o app main.o object.o
  dump_json app >other.json
  [[ $(wc -l <first.json) == $(wc -l <other.json) ]] || fail "$linker -r: other records"
done

# ---- The linker's arguments: a linker that only prints it, and the names of functions' sections of maps ----
cat >printer <<'END'
#!/bin/bash
for word in "$@"; do
  if [[ $word == @* ]]; then word=$(<"${word#@}"); fi
  echo "$word"
done | sed 's|/stackpack-ld-[^/]*|/T|'
END
chmod +x printer
expect_told() { # WORDS EXPECTED, each a line between blanks
  local words=$1
  shift
  # shellcheck disable=SC2086 # a list of words
  expect_status 0 "$wrapper" --stackpack-ld=./printer $words
  [[ $(tr '\n' ' ' <out) == "$* " ]] || { cat out; fail "$words: not $*"; }
  expect_nothing_left
}
split=$TMPDIR/T
expect_told "main.o list.o -lm no-such.o" main.o "$split/1/list.o" -lm no-such.o
expect_told "-r list.o" -r list.o
expect_told "-o list.o main.o" -o list.o main.o
expect_told "--format=binary list.o --format=elf unused.o" --format=binary list.o --format=elf "$split/0/unused.o"
expect_told "-b binary list.o -b elf64-x86-64 list.o" -b binary list.o -b elf64-x86-64 "$split/0/list.o"
expect_told "-lmanaged -L library -Lshared" "$split/0/libmanaged.a" -L library -Lshared
expect_told "-Lshared -Llibrary -lmanaged" -Lshared -Llibrary -lmanaged
expect_told "-Lshared -Llibrary -Bstatic -lmanaged -Bdynamic -lmanaged" \
  -Lshared -Llibrary -Bstatic "$split/0/libmanaged.a" -Bdynamic -lmanaged
expect_told "-Lshared --library-path=library --push-state -static -l:libmanaged.a --pop-state -lmanaged" \
  -Lshared --library-path=library --push-state -static "$split/0/libmanaged.a" --pop-state -lmanaged
expect_told "--exclude-libs exact.a -soname list.o exact.a" --exclude-libs exact.a -soname list.o "$split/0/exact.a"
expect_told "--sysroot=$PWD -L=/library --library=managed" "--sysroot=$PWD" -L=/library "$split/0/libmanaged.a"
expect_told "--sysroot $PWD -L=/library -l managed" --sysroot "$PWD" -L=/library "$split/0/libmanaged.a"
expect_told "--sysroot=$PWD =/list.o =/none.o" "--sysroot=$PWD" "$split/0/list.o" =/none.o
expect_told "-Llibrary --library managed -l m -u -l -l" -Llibrary "$split/0/libmanaged.a" -lm -u -l -l
expect_told "-sysroot=$PWD -library-path=/none -L=/library -library=managed" \
  "-sysroot=$PWD" -library-path=/none -L=/library "$split/0/libmanaged.a"
expect_told "-format=binary list.o -format=elf -relocatable list.o" -format=binary list.o -format=elf -relocatable list.o
"$LLVM/bin/llvm-as" -o bit.o list.o.bc 2>/dev/null || printf 'BC\xc0\xde.llvm_stackmaps' >bit.o
expect_told "bit.o shared/libmanaged.so" bit.o shared/libmanaged.so
"$stackpack" split -q -o already.o list.o
expect_told "already.o" already.o
echo "main.o 'list.o' -lm" >words.rsp
expect_told "-v @words.rsp" -v main.o "$split/1/list.o" -lm
printf ' \n' >blanks.rsp
expect_told "-v @blanks.rsp @/dev/null" -v
echo "-o '' it\\'s\" a file\"" >quoted.rsp
expect_told "@quoted.rsp" -o '""' "it\\'s\\ a\\ file"

# A library for another machine is passed over, as linkers do it.
mkdir other
for file in list.o shared/libmanaged.so; do
  cp $file other/$(basename $file)
  printf '\x03\0' | dd of=other/$(basename $file) bs=1 seek=18 conv=notrunc status=none # EM_386
done
ar rc other/libmanaged.a other/list.o
expect_told "main.o -Lother -Llibrary -lmanaged" main.o -Lother -Llibrary "$split/1/libmanaged.a"
expect_told "main.o -Lother -lmanaged" main.o -Lother -lmanaged
for words in "-o other/list.o" "-b binary other/list.o -b elf64-x86-64"; do # not the link's machine
  expect_told "$words main.o -Lother -Llibrary -lmanaged" "$words" main.o -Lother -Llibrary "$split/1/libmanaged.a"
done

# ---- What goes wrong ----
head -c 3000 list.o >cut.o
printf '.llvm_stackmaps\0' >>cut.o
expect_status 2 "$wrapper" --stackpack-ld=./printer main.o cut.o
only_line_matches '^stackpack-ld: cut.o: ' err || { cat err; fail "another complaint"; }
expect_nothing_left
expect_status 1 "$wrapper" --stackpack-ld=ld.bfd list.o no-such-object.o
expect_nothing_left
if [[ -z $(library_flags) ]]; then # a sanitizer needs more memory than that
  truncate -s 64M large
  objcopy --add-section .large=large list.o large.o
  expect_status 2 bash -c 'ulimit -v 120000 && exec "$@"' - "$wrapper" --stackpack-ld=./printer list.o large.o
  only_line_matches 'not enough memory' err || { cat err; fail "another complaint"; }
  expect_nothing_left
fi
# Options by which the linker reads other files.
for option in "-C library" --directory=library --chroot=/none "-c script" --mri-script=script --remap-inputs=list.o=unused.o \
  --remap-inputs-file=list; do
  # shellcheck disable=SC2086 # a list of words
  expect_status 2 "$wrapper" --stackpack-ld=./printer main.o $option list.o
  only_line_matches "^stackpack-ld: the linker's option -[^ ]* changes the inputs: leave it out$" err || { cat err; fail "$option: another complaint"; }
done
# A linker script names an input: that stays whole, and would lose its stack maps.
mkdir scripts
echo '/* GROUP ( no.o ) */ OUTPUT_FORMAT(elf64-x86-64) GROUP ( main.o, AS_NEEDED ( "list.o" ) )' >scripts/libmanaged.so
echo 'INPUT(-lm already.o nothing.o)' >scripts/free.ld
cp library/libmanaged.a scripts/libreal.a
ar rc libreal.a main.o # only mold prefers it to the file beside the script, as list.o
cp main.o scripts/list.o
echo 'INPUT(libreal.a)' >scripts/beside.a
echo 'INPUT(beside.a)' >scripts/nested.a
echo 'INCLUDE "beside.a"' >scripts/include.a
echo 'STARTUP(libreal.a)' >scripts/startup.a
printf '# A line'"'"'s "end\nINPUT(libreal.a) # again' >scripts/line.a
echo 'SECTIONS { .text : { *(.text) KEEP (*(.init)) libreal.a (.text*) } }' >scripts/sections.a
echo "SEARCH_DIR($PWD/library)" >scripts/folder.a
echo 'INCLUDE folder.a' >scripts/deep.a
for words in "-Lscripts -lmanaged" scripts/libmanaged.so scripts/beside.a "-T scripts/beside.a" -Tscripts/beside.a --script=scripts/beside.a \
  --default-script=scripts/beside.a "-dT beside.a -Lscripts" "-Lscripts -Tbeside.a" scripts/nested.a scripts/include.a scripts/startup.a \
  scripts/line.a scripts/sections.a; do
  # shellcheck disable=SC2086 # a list of words
  expect_status 2 "$wrapper" --stackpack-ld=./printer --gc-sections main.o $words
  only_line_matches '^stackpack-ld: scripts/[a-z]*\.(so|a): it names (list.o|scripts/libreal.a), whose stack maps ' err ||
    { cat err; fail "$words: another complaint"; }
  expect_nothing_left
  expect_told "main.o $words" main.o $words
done
for words in "scripts/folder.a -lmanaged" "-lmanaged -T scripts/folder.a" "scripts/deep.a -lmanaged"; do
  # shellcheck disable=SC2086 # a list of words
  expect_status 2 "$wrapper" --stackpack-ld=./printer --gc-sections main.o $words
  only_line_matches "^stackpack-ld: $PWD/library/libmanaged.a: --gc-sections would .* by -L$" err || { cat err; fail "$words: another complaint"; }
done
for words in "-lmanaged -static" "-static -Bdynamic -lmanaged" "-r -lmanaged" "-n -lmanaged" "-lmanaged --omagic"; do # for some linkers that isn't the shared library
  # shellcheck disable=SC2086 # a list of words
  expect_status 2 "$wrapper" --stackpack-ld=./printer --gc-sections main.o -Lshared -Llibrary $words
  only_line_matches '^stackpack-ld: library/libmanaged.a: -lmanaged may mean it, .* say -l:libmanaged.a$' err || { cat err; fail "$words: another complaint"; }
done
expect_told "--gc-sections main.o -Lshared -Llibrary -lmanaged" --gc-sections main.o -Lshared -Llibrary -lmanaged
for words in /dev/fd/3 "-T /dev/fd/3"; do # lld reads both
  # shellcheck disable=SC2086 # a list of words
  expect_status 2 "$wrapper" --stackpack-ld=./printer --gc-sections main.o $words 3< <(echo)
  only_line_matches '^stackpack-ld: /dev/fd/3: a pipe, ' err || { cat err; fail "$words: another complaint"; }
done
expect_told "--gc-sections main.o scripts/free.ld" --gc-sections main.o scripts/free.ld
# Options as GNU ld takes them, too, and one of mold's.
for words in "--gc-section scripts/beside.a" "--gc-s scripts/beside.a" "-gc-sec scripts/beside.a" "--gc-s --scr=scripts/beside.a" \
  "--gc-s -scrip scripts/beside.a" "--gc-s --default-sc=scripts/beside.a" "--mri-s=script" "--remap-inputs-f=list" -Clibrary; do
  # shellcheck disable=SC2086 # a list of words
  expect_status 2 "$wrapper" --stackpack-ld=./printer main.o $words
done
expect_told "--library-p=library -lmanaged" --library-p=library "$split/0/libmanaged.a"
expect_told "-library-pat library -lmanaged" -library-pat library "$split/0/libmanaged.a"
expect_told "--sysr=$PWD -L=/library -lmanaged" "--sysr=$PWD" -L=/library "$split/0/libmanaged.a"
expect_told "-Lshared -Llibrary --push -Bstat -lmanaged --pop -lmanaged" \
  -Lshared -Llibrary --push -Bstat "$split/0/libmanaged.a" --pop -lmanaged
expect_told "-bbinary list.o -belf64-x86-64 unused.o" -bbinary list.o -belf64-x86-64 "$split/0/unused.o"
expect_told "--form=binary list.o --form elf unused.o" --form=binary list.o --form elf "$split/0/unused.o"
expect_status 0 "$wrapper" --stackpack-ld=./printer --gc-s --no-gc-sec main.o scripts/beside.a

# The same in a folder that GNU ld searches by itself, and in the system's root.
mkdir -p root/usr/local/lib root/opt root/lib/x86_64-linux-gnu
cp library/libmanaged.a root/usr/local/lib
printf '.globl _start\n_start: call run@plt\n.section .note.GNU-stack\n' | gcc -c -o start.o -x assembler -
printf '.globl collect, allocate\ncollect: allocate: ret\n.section .note.GNU-stack\n' | gcc -c -o runtime.o -x assembler -
expect_status 0 ld.bfd --sysroot="$PWD/root" -o own start.o -lmanaged runtime.o
expect_status 2 "$wrapper" --stackpack-ld=ld.bfd --gc-sections --sysroot="$PWD/root" -o own start.o -lmanaged runtime.o
only_line_matches "^stackpack-ld: $PWD/root/usr/local/lib/libmanaged.a: --gc-sections would .* by -L$" err || { cat err; fail "another complaint"; }
expect_status 0 "$wrapper" --stackpack-ld=ld.bfd --gc-sections --sysroot="$PWD/root" -L=/usr/local/lib -o own start.o -lmanaged runtime.o
expect_packed own
# shellcheck disable=SC2016 # the linker's own
{
  expect_status 0 "$wrapper" --stackpack-ld=ld.bfd --gc-sections --sysroot="$PWD/root" '-L$SYSROOT/usr/local/lib' -o own start.o -lmanaged runtime.o
  expect_packed own
  echo 'INPUT(=/usr/local/lib/libmanaged.a)' >root/opt/libequals.a
  echo 'INPUT($SYSROOT/usr/local/lib/libmanaged.a)' >root/opt/libname.a
  echo 'INPUT(/usr/local/lib/libmanaged.a)' >root/opt/libin.a
  echo 'INPUT(-lmanaged)' >root/opt/libown.a
}
cp root/usr/local/lib/libmanaged.a root/lib/x86_64-linux-gnu/libdebian.a
expect_status 2 "$wrapper" --stackpack-ld=ld.bfd --gc-sections --sysroot="$PWD/root" -o own start.o -ldebian runtime.o
only_line_matches "^stackpack-ld: $PWD/root/lib/x86_64-linux-gnu/libdebian.a: --gc-sections would .* by -L$" err || { cat err; fail "in Debian's folder"; }
cp library/libmanaged.a root/usr/local/lib/libboth.a
cp shared/libmanaged.so root/usr/local/lib/libboth.so
expect_status 2 "$wrapper" --stackpack-ld=ld.bfd --gc-sections --sysroot="$PWD/root" -n -o own start.o -lboth runtime.o
only_line_matches '^stackpack-ld: .*/libboth.a: -lboth may mean it, ' err || { cat err; fail "-n, and the linker's folder"; }
cp root/opt/libin.a root/usr/local/lib/libtext.a
expect_status 2 "$wrapper" --stackpack-ld=ld.bfd --gc-sections --sysroot="$PWD/root" -o own start.o -ltext runtime.o
only_line_matches '^stackpack-ld: .*/libtext.a: it names .*/libmanaged.a, whose stack maps ' err || { cat err; fail "a script in the linker's folder"; }
echo 'INPUT(self.a) INPUT(self.a)' >self.a
expect_status 2 "$wrapper" --stackpack-ld=ld.bfd --gc-sections -o own start.o self.a
only_line_matches '^stackpack-ld: self.a: linker scripts name each other$' err || { cat err; fail "a script that names itself"; }
for name in equals name in own; do
  expect_status 2 "$wrapper" --stackpack-ld=ld.bfd --gc-sections --sysroot="$PWD/root" -L=/opt -o own start.o -l$name runtime.o
  only_line_matches "^stackpack-ld: $PWD/root/opt/lib$name.a: it names $PWD/root/+usr/local/lib/libmanaged.a, whose stack maps " err || { cat err; fail "-l$name: another complaint"; }
done

TMPDIR=/dev/null expect_status 2 "$wrapper" --stackpack-ld=./printer list.o
only_line_matches '^stackpack-ld: list.o: /dev/null/' err || { cat err; fail "another complaint"; }
TMPDIR=/dev/null expect_status 0 "$wrapper" --stackpack-ld=./printer main.o already.o # needs no folder

# A limit for files, which the message keeps; and one for descriptors.
status=0
(ulimit -f 1; exec "$wrapper" --stackpack-ld=./printer list.o) >out 2>err || status=$?
((status == 2)) && only_line_matches '^stackpack-ld: list.o: .*File too large' err || { cat err; fail "exit status $status beyond the limit"; }
expect_nothing_left
expect_status 0 bash -c 'ulimit -n 4; exec "$@"' - "$wrapper" --stackpack-ld=/bin/true list.o
expect_nothing_left

# A response file that no one writes: a signal ends the wait.
mkfifo pipe
expect_status 124 timeout -k 10 1 "$wrapper" --stackpack-ld=./printer @pipe

# The time is in proportion to the words: 20,000 took 12 seconds.
printf -- '-us%d\n' {1..40000} >many
expect_status 0 within 5 "$wrapper" --stackpack-ld=/bin/true --gc-sections main.o @many
cat >slow <<'END'
#!/bin/bash
echo started >started
while :; do sleep 0.1; done
END
chmod +x slow
"$wrapper" --stackpack-ld=./slow list.o &
pid=$!
until [[ -s started ]]; do sleep 0.05; done
[[ -n $(ls temporary) ]] || fail "there is no split copy while the linker runs"
kill -TERM $pid
! wait $pid || fail "not ended by the signal"
expect_nothing_left
