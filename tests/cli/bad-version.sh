#!/bin/bash
# Stack maps of other versions, and of other formats with LLVM's version: the message has their version.
. "$TOP/tests/cli/common.sh"

# A map with one function and one record.
cat >maps.c <<'C'
void f(void) {}
__asm__(".section .llvm_stackmaps,\"a\"\n .balign 8\n"
        ".byte " VERSION ", 0, 0, 0\n .long 1, 0, 1\n .quad f, 8, 1\n"
        ".quad 7\n .long 1\n .short 0, 1\n"
        ".byte " KINDS ", 0\n .short 8, 0, 0\n .long 0\n .balign 8\n .short 0, 0\n .balign 8\n" AFTER);
int main(void) { return 0; }
C
link() { # VERSION KIND AFTER
  "$LLVM/bin/clang" -DVERSION="\"$1\"" -DKINDS="\"$2\"" -DAFTER="\"$3\"" -no-pie maps.c -o app
}
refused() { # VERSION
  for command in pack dump; do
    expect_status 2 "$stackpack" $command --section=.llvm_stackmaps app
    [[ $(<err) =~ ^stackpack:\ app:\ .*\(version\ $1,\ or\ another\ format\),\ .*\ at\ .*0x[0-9a-f]+$ ]] || fail "it says: $(<err)"
  done
}

link 3 4 ''
expect_status 0 "$stackpack" dump app
for version in 1 2 4 255; do
  link $version 4 ''
  refused $version
done
link 3 77 '' # a location's kind that LLVM doesn't have
refused 3
link 3 4 '.byte 0, 9' # bytes where the next map or padding would be
refused 3
link 3 4 '.byte 4, 0, 0, 0'
refused 4
