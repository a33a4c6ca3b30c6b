#!/bin/bash
# The loaded module counts, even if its file has changed since: a raw and a packed build of a program and its
# library give the same answers for each byte of their code.
. "$TOP/tests/cli/common.sh"

read -ra flags <<<"$(library_flags)"
compile list list.o -relocation-model=pic
many_functions 9 | sed 's/@run(/@other_run(/' >nine.ll
compile ./nine.ll nine.o -relocation-model=pic
many_functions 8 | sed 's/@run(/@other_run(/' >eight.ll
compile ./eight.ll eight.o -relocation-model=pic
"$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -O1 -fPIE -I"$TOP/runtime" -c "$TOP/tests/cli/situations.c" -o main.o

# Both builds in folders of their own, so that the names are the same. `other` is an earlier version of the library.
build() { # FOLDER OPTION...
  mkdir -p "$1"
  link_with lld "$1/app" main.o list.o "$BUILD/libstackpack.a" "${flags[@]}" -ldl -lpthread -rdynamic "${@:2}"
  link_with lld "$1/lib.so" nine.o -shared -Wl,-z,notext "${@:3}"
  link_with lld "$1/other.so" eight.o -shared -Wl,-z,notext "${@:3}"
}

# Runs a situation with copies of the files, and leaves its answers in FOLDER.SITUATION.
try() { # FOLDER SITUATION OTHER COMMAND...
  local folder=$1 situation=$2 other=$3
  rm -rf copies
  cp -r "$folder" copies
  chmod a+rwx . copies
  (cd copies && "${@:4}" "$situation" ./lib.so "$other") >"$folder.$situation" 2>&1 ||
    { cat "$folder.$situation" >&2; fail "$folder: $situation"; }
}

for pie in -no-pie -pie; do
  for id in none sha1; do
    rm -rf raw packed headless
    build raw $pie -Wl,-z,notext "-Wl,--build-id=$id"
    cp -r raw packed
    expect_status 0 "$stackpack" pack packed/app packed/lib.so packed/other.so
    try packed plain - ./app
    grep -q "^no error; 2 modules" packed.plain || fail "two modules should be there"
    (($(grep -c "frame size" packed.plain) > 90)) || fail "few records were found"
    for side in raw packed; do
      for situation in plain folder files update deleted fifo unreadable; do
        try $side $situation - ./app
        expect_same packed.plain $side.$situation
      done
      try $side replaced ./other.so ./app
      expect_same packed.plain $side.replaced
      interpreter=$(readelf -lW raw/app | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
      try $side plain - "$interpreter" ./app
      expect_same packed.plain $side.plain
    done
    cp -r raw headless # files without section headers
    for file in app lib.so; do "$LLVM/bin/llvm-objcopy" --strip-sections headless/$file; done
    try headless plain - ./app
    expect_same packed.plain headless.plain
    # Without unwind tables, objcopy leaves a program header for them, of no bytes and outside of memory.
    rm -rf bare bare-packed
    cp -r raw bare
    for file in app lib.so; do objcopy --remove-section=.eh_frame --remove-section=.eh_frame_hdr bare/$file 2>objcopy.log; done
    cp -r bare bare-packed
    expect_status 0 "$stackpack" pack bare-packed/app bare-packed/lib.so
    for side in bare bare-packed; do try $side plain - ./app; done
    expect_same bare.plain bare-packed.plain
    # Packed on disk while it is loaded; and a missing /proc, where it can be hidden.
    try raw replaced "$PWD/packed/lib.so" ./app
    expect_same packed.plain raw.replaced
    if unshare -rm mount -t tmpfs none /proc 2>/dev/null; then
      try raw plain - unshare -rm sh -c 'mount -t tmpfs none /proc && exec ./app "$@"' sh
      expect_same packed.plain raw.plain
    fi
  done
done
