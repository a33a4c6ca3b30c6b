#!/bin/bash
# Where little can make room for more program headers, pages stay in the file rather than that it's refused: small programs that
# lack the C library or a build ID, and programs whose sections patchelf moved.
. "$TOP/tests/cli/common.sh"

many_functions 10 >many.ll
compile ./many.ll many.o -relocation-model=pic
cat >start.c <<'C'
long run(long n);
static long heap[4096], used;
void *allocate(long size) { return &heap[used += size / 8]; }
void collect(void) {}
void _start(void) {
  long status = run(5) == 0;
#ifdef NOTED
  extern volatile const int noted[];
  __asm__(".pushsection .note.odd, \"a\", @note; .balign 4; .hidden noted; noted: .long 4, 4, 1; .asciz \"odd\"; .long 42; .popsection");
  status = status || noted[4] != 42;
#endif
  __asm__ volatile("syscall" : : "a"(60), "D"(status));
  __builtin_unreachable();
}
C
"$LLVM/bin/clang" -O1 -fPIC -mno-sse -c start.c
compile_main main.o -fPIE

check() { # LINKER OPTION...
  local linker=$1
  shift
  "$LLVM/bin/clang" -fuse-ld="$linker" -Wno-unused-command-line-argument -Wl,-z,notext -o app "$@" 2>log || { cat log; fail "$*"; }
  if [[ $* == *main.o* ]]; then
    patchelf --set-rpath /a/path/that/is/long/enough/to/need/some/room app
    "$stackpack" pack --dry-run app
  fi
  if [[ $* == *-shared* ]]; then
    expect_status 0 "$stackpack" pack --always -o packed app
    expect_status 0 "$stackpack" verify app packed
  else
    pack_and_compare app packed
  fi
  readelf --section-headers --wide packed >sections
  readelf --file-header packed >header
  # A section with bytes that starts before the program headers' end would be overwritten by them, even if it is one byte.
  python3 - <<'PYTHON' || fail "$*: a section stands where the program headers are"
import re
headers = 64 + 56 * int(re.search(r"Number of program headers: +([0-9]+)", open("header").read())[1])
for kind, offset, size in re.findall(r"\] \S+ +(\S+) +[0-9a-f]{16} ([0-9a-f]+) ([0-9a-f]+) ", open("sections").read()):
    assert kind in ("NULL", "NOBITS") or int(size, 16) == 0 or int(offset, 16) >= headers, (kind, offset, size, headers)
PYTHON
  (($(stat -c %s packed) <= $(stat -c %s app) + 2 * 64)) || fail "$*: the file grew by more than two program headers"
}

for linker in lld bfd gold mold; do
  [[ $linker == gold ]] || check $linker -static-pie -nostdlib start.o many.o -Wl,--build-id=none # gold makes no such file
  check $linker -shared -nostdlib many.o -Wl,--hash-style=gnu,--build-id=none
  check $linker -pie main.o many.o
done

# A note that the program itself reads stays where it is; where the linker leaves room before it, as the refusal says, the
# program is packed.
"$LLVM/bin/clang" -O1 -fPIC -mno-sse -DNOTED -c start.c -o noted.o
for linker in lld bfd mold; do # gold makes no such file
  "$LLVM/bin/clang" -fuse-ld=$linker -static-pie -nostdlib -Wl,--build-id=none,-z,notext -o app noted.o many.o
  ./app
  status=0
  "$stackpack" pack --always -o packed app 2>err || status=$?
  if ((status == 0)); then
    ./packed || fail "$linker: the note has moved"
  else
    grep -q "no room for more program headers: .note.odd can't be moved" err || fail "$linker: $(<err)"
    only_line_matches 'there is room if linked with --section-start=[^ ]+=0x[0-9a-f]+$' err || fail "$linker: $(<err)"
    [[ $linker != bfd ]] || continue # it puts this note alone elsewhere, as its own script doesn't name it
    "$LLVM/bin/clang" -fuse-ld=$linker -static-pie -nostdlib -Wl,--build-id=none,-z,notext -o app noted.o many.o \
      "-Wl,$(grep -o -- '--section-start=.*' err)"
    pack_and_compare app packed
    (($(stat -c %s packed) < $(stat -c %s app))) || fail "$linker: the file doesn't shrink"
  fi
done

# So is one that would grow, as there is room for the note's header alone, and too little to cut.
echo '.pushsection .note.odd, "a", @note; .balign 4; .long 4, 4, 1; .asciz "odd"; .long 42; .popsection' >odd.s
echo '.section .note.GNU-stack, "", @progbits' >>odd.s
for linker in lld bfd gold mold; do
  program=(-fuse-ld=$linker -pie -Wl,-z,notext,--build-id -o app main.o many.o odd.s)
  "$LLVM/bin/clang" "${program[@]}"
  "$stackpack" pack -o packed app >out 2>&1 || true
  only_line_matches "no room for more program headers: .note.odd can't be moved; " out || fail "$linker: $(<out)"
  "$LLVM/bin/clang" "${program[@]}" "-Wl,$(grep -o -- '--section-start=.*' out)"
  pack_and_compare app packed
  (($(stat -c %s packed) < $(stat -c %s app))) || fail "$linker: the file doesn't shrink"
done

# A table elsewhere than its section header says is immovable.
"$LLVM/bin/clang" -fuse-ld=lld -pie -Wl,-z,notext -o app main.o many.o
set_field app "section .dynsym offset" +8
expect_status 0 "$stackpack" pack --always -o packed app
expect_same_run app packed
