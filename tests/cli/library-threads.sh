#!/bin/bash
# Packed libraries are loaded and unloaded while threads look up in them: right answers, free of data races.
. "$TOP/tests/cli/common.sh"

for count in 40 60; do
  many_functions "$count" >"lib$count.ll"
  compile "./lib$count.ll" "lib$count.o" -relocation-model=pic
  "$LLVM/bin/clang" -fuse-ld=lld -shared -Wl,-z,notext -o "lib$count.so" "lib$count.o"
  expect_status 0 "$stackpack" pack --always "lib$count.so"
done
cat >symbols.c <<'EOF'
void *allocate(long size);
void collect(void);
void *allocate(long size) { (void)size; return 0; }
void collect(void) {}
EOF
build_watched libstackpack.a
"$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -O1 -g -fsanitize=thread -rdynamic -I"$TOP" -I"$TOP/runtime" -o modules "$TOP"/tests/cli/modules.c symbols.c \
  watched/libstackpack.a -ldl -lpthread
TSAN_OPTIONS=halt_on_error=1 ./modules ./lib40.so ./lib60.so "${ROUNDS:-250}" >found 2>err || { cat found err >&2; fail "threads"; }
cat found

# A raw library that another thread is loading is looked at when it has been relocated.
[[ $(uname -m) == x86_64 ]] || exit 0
read -ra flags <<<"$(library_flags)"
"$LLVM/bin/clang" -O1 -fPIC -fuse-ld=lld -shared -o slow.so "$TOP/tests/cli/loading_slow.c"
"$CC" -std=c17 -O1 -rdynamic "${flags[@]}" -D_GNU_SOURCE -I"$TOP/runtime" -o loading "$TOP/tests/cli/loading.c" "$BUILD/libstackpack.a" -ldl -lpthread
objcopy --set-section-flags .llvm_stackmaps=alloc,load,data lib40.o writable.o
for option in -z,norelro -z,pack-relative-relocs -z,notext; do
  object=writable.o
  [[ $option != -z,notext ]] || object=lib40.o
  link_with lld raw.so -shared -Wl,-Bsymbolic,--no-as-needed,-rpath,. "-Wl,$option" $object ./slow.so
  expect_status 0 ./loading ./raw.so
done
