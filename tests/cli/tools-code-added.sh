#!/bin/bash
# A module with code added after packing is refused, as its managed functions may be there now: by the library, from a file and
# in a process, and by the tool. Tools that keep the code are harmless.
. "$TOP/tests/cli/common.sh"

read -ra flags <<<"$(library_flags)"
compile list list.o -relocation-model=pic
cat >open.c <<'END'
#include <dlfcn.h>
#include <stackpack.h>
#include <stdio.h>
#include <string.h>
static struct stackpack_module modules[4];
static struct stackpack_process process;
static struct stackpack_file file;
void *allocate(long size) { return (void *)size; }
void collect(void) {}
int main(int count, char **arguments) { /* [LIBRARY] */
  puts(stackpack_error_text(stackpack_file_open(&file, arguments[count - 1])));
  enum stackpack_error error = stackpack_process_open(&process, modules, 4);
  if (count > 1 && error == STACKPACK_NO_STACK_MAPS && dlopen(arguments[1], RTLD_NOW) != NULL)
    error = stackpack_process_update(&process);
  uintptr_t address;
  struct stackpack_record record;
  printf("%s, %d", stackpack_error_text(error), stackpack_module_error(&modules[0], &address) == error);
  printf(", %d\n", stackpack_find(&process, address + 1, &record) == STACKPACK_CORRUPT);
  return 0;
}
END
"$LLVM/bin/clang" -std=c17 -fPIE -I"$TOP/runtime" -c open.c -o open.o

# Makes PT_GNU_EH_FRAME a segment of code in a page after all others. (Without PT_GNU_STACK, glibc 2.41 opens no library.)
cat >add_code.py <<'END'
import struct, sys
with open(sys.argv[1], "rb") as file:
    data = bytearray(file.read())
start, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
places = [start + 56 * i for i in range(count)]
headers = [struct.unpack_from("<IIQQQQQQ", data, place) for place in places]
end = max(one[3] + one[6] for one in headers if one[0] == 1)
end += -end % 0x10000 + 0x10000
data += bytes(-len(data) % 0x10000)
freed = next(place for place, one in zip(places, headers) if one[0] == 0x6474E550)
new = struct.pack("<IIQQQQQQ", 1, int(sys.argv[2]), len(data), end, end, 4096, 4096, 0x1000)
order = [bytes(data[place : place + 56]) for place in places if place != freed]
last = max(i for i, one in enumerate(order) if one[:4] == struct.pack("<I", 1))
order.insert(last + 1, new)
for place, one in zip(places, order):
    data[place : place + 56] = one
with open(sys.argv[1], "wb") as file:
    file.write(data + b"\xc3" * 4096)
END
added="code that was added after the stack maps were packed, and may have managed functions"
for pie in -no-pie -pie; do
  link_with lld raw $pie -Wl,-z,notext open.o list.o "$BUILD/libstackpack.a" "${flags[@]}" -ldl
  expect_status 0 "$stackpack" pack --always -o packed raw
  [[ $(./packed) == $'no error\nno error, 1, 0' ]] || fail "the packed program: $(./packed)"
  cp packed code
  python3 add_code.py code 5
  [[ $(./code) == "$added"$'\n'"$added, 1, 1" ]] || fail "with code: $(./code)"
  for command in dump stats lookup verify why callgraph pack; do
    arguments=(code)
    [[ $command != verify ]] || arguments=(raw code)
    [[ $command != lookup && $command != why ]] || arguments=(code 0x1)
    expect_refusal 'code: code was added after packing' "$stackpack" "$command" "${arguments[@]}"
  done
  cp packed data
  python3 add_code.py data 4
  [[ $(./data) == $'no error\nno error, 1, 0' ]] || fail "with data: $(./data)"
done
link_with lld open -rdynamic open.o "$BUILD/libstackpack.a" "${flags[@]}" -ldl
link_with lld lib.so -shared -Wl,-z,notext list.o
expect_status 0 "$stackpack" pack --always lib.so
[[ $(./open ./lib.so) == $'no error\nno error, 1, 0' ]] || fail "the packed library: $(./open ./lib.so)"
python3 add_code.py lib.so 5
[[ $(./open ./lib.so) == "$added"$'\n'"$added, 1, 1" ]] || fail "a library with code: $(./open ./lib.so)"
