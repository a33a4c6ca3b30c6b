#!/bin/bash
# The C code that the pages on collectors and porting and stackpack(3) show compiles unchanged and free of warnings, and the library has all
# the functions that it calls.
. "$TOP/tests/cli/common.sh"

# Writes the blocks between two lines, each to a file of its own: PREFIX1.c, PREFIX2.c
blocks() { # PREFIX START-LINE END-LINE
  awk -v prefix="$1" -v start="$2" -v end="$3" '
    $0 == end { inside = 0 }
    inside { print > prefix count ".c" }
    $0 == start { inside = 1; count++ }'
}

blocks page '```c' '```' <"$TOP/doc/collectors.md"
blocks porting '```c' '```' <"$TOP/doc/porting.md"
sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$TOP/man/stackpack.3" | sed 's/\\-/-/g; s/\\e/\\/g' | blocks manual .nf .fi
[[ -e page2.c && -e manual1.c ]] || fail "no code in the page, or in the manual page"
mapfile -t flags < <(library_flags)
for code in page*.c porting1.c manual*.c; do
  "$CC" -std=c17 -Wall -Wextra -Werror -fPIC -I"$TOP/runtime" -c "$code" -o "${code%.c}.o"
done
"$CC" "${flags[@]}" -shared -Wl,--no-undefined -o page.so page1.o page2.o "$BUILD/libstackpack.a"
"$CC" "${flags[@]}" -shared -Wl,--no-undefined -o porting.so porting1.o "$BUILD/libstackpack.a"
"$CC" "${flags[@]}" -shared -Wl,--no-undefined -o manual.so manual1.o "$BUILD/libstackpack.a"
