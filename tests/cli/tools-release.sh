#!/bin/bash
# A release's steps work on a packed program, of every kind: strip, debug information in a file of its own,
# another rpath, in any order. It still runs, its stack maps are still found at run time, eu-elflint's findings are the same,
# and the debug file still fits.
. "$TOP/tests/cli/common.sh"

many_functions 60 >many.ll
compile ./many.ll many.o -relocation-model=pic
objcopy --set-section-flags .llvm_stackmaps=alloc,load,data many.o many.writable.o # for static PIEs
build_plain_library
for define in "" -DLIBRARY; do
  # shellcheck disable=SC2086 # nothing, or a word
  "$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -O1 -g -fPIC $define -I"$TOP/runtime" -c "$TOP/tests/cli/found.c" -o "found$define.o"
done
"$LLVM/bin/clang" -rdynamic -o found found-DLIBRARY.o plain/libstackpack.a -ldl

# Prints the file's stack maps as found at run time.
look() { # FILE
  if [[ $1 == *.so ]]; then ./found "./$1" 0; else "./$1" "./$1"; fi 2>/dev/null || fail "$1 doesn't run: ${step-}"
}

findings() { # FILE
  { eu-elflint --gnu-ld "$1" || true; } 2>&1 | sed "s/0x[0-9a-f]*//g; s/[0-9]//g; s/\[ *]/[]/g" | sort -u
}

expect_as_before() { # RAW FILE DONE: raw.found has what is found in RAW
  look "$2" >"$2.found"
  cmp raw.found "$2.found" || fail "$1 $3: other stack maps at run time"
  expect_status 0 "$stackpack" verify "$1" "$2"
}

# Each step may add the findings that it adds to the raw file, and the checker's own faults: gold has headers and code in
# one segment, and when stack maps between them are cut out, its first part has lost its code, but stays executable; after
# a cut, .bss may be alone in a segment, and strip gives this any offset, as it lacks bytes; and patchelf sorts program
# headers by address, and so puts PT_INTERP after PT_DYNAMIC: eu-elflint 0.190 takes such a program for a static one.
known='loadable segment \[\] is executable but contains no executable sections'
known+='|loadable segment \[\] is writable but contains no writable sections'
known+="|section \[\] '\.bss': alloc flag set but section not in any loaded segment"
known+='|static executable cannot have dynamic sections'
# mold gives .bss the offset 0, and so eu-elflint looks for it in another segment; packing gives it its place.
known+="|section \[\] '\.bss' not fully contained in segment of program header entry "
expect_no_new_findings() { # RAW RAW-CHANGED PACKED-CHANGED DONE
  local new
  new=$(comm -13 <(sort -u <(findings "$1") <(findings "$2")) <(findings "$3") |
    { grep -vxE "$known" || true; })
  [[ -z $new ]] || fail "$1 $4: $new"
}

apply() { # COMMAND... FILE; "debug" moves debug information to FILE.debug
  local file=${!#}
  if [[ $1 == debug ]]; then
    objcopy --only-keep-debug "$file" "$file.debug" && strip -g "$file" &&
      objcopy --add-gnu-debuglink="$file.debug" "$file"
  else
    "$@" 2>log
  fi
}

release() { # RAW PACKED STEP...
  local raw=$1 packed=$2 step changed_raw=changed-raw changed=changed
  [[ $raw != *.so ]] || { changed_raw=changed-raw.so changed=changed.so; }
  shift 2
  cp "$raw" $changed_raw
  cp "$packed" $changed
  for step in "$@"; do
    # shellcheck disable=SC2086 # a list of words
    apply $step $changed_raw || { echo "$raw: $step can't be done to the raw file, either: $(head -n 1 log)"; return 0; }
    (look $changed_raw) >raw.changed 2>&1 && cmp -s raw.found raw.changed ||
      { echo "$raw: $step breaks the raw file, too"; return 0; }
    # shellcheck disable=SC2086
    apply $step $changed || { cat log; fail "$raw: $step"; }
    expect_as_before "$raw" $changed "$*, after $step"
  done
  expect_no_new_findings "$raw" $changed_raw $changed "$*"
  if [[ "$*" == *debug* ]]; then
    [[ $(gdb --batch -nx -ex 'set debuginfod enabled off' -ex 'info line f7' $changed 2>&1) == *"many.ll"* ]] ||
      fail "$raw $*: a debugger doesn't find the debug information"
  fi
}

done=0
for linker in lld bfd gold mold; do
  "$LLVM/bin/clang" -fuse-ld=$linker -Wl,--version >log 2>&1 || { echo "no linker $linker"; continue; }
  for kind in "-no-pie" "-no-pie -static" "-pie -Wl,-z,notext" "-static-pie" "-shared -Wl,-z,notext"; do
    [[ $linker$kind != gold-static-pie ]] || continue # it can't do that
    objects=(found.o many.o plain/libstackpack.a) app=app
    [[ $kind != -static-pie ]] || objects[1]=many.writable.o
    [[ $kind != -shared* ]] || objects=(many.o) app=lib.so
    # shellcheck disable=SC2086 # a list of words
    "$LLVM/bin/clang" -fuse-ld=$linker $kind -Wl,--build-id -o $app "${objects[@]}" 2>log || { cat log; fail "$linker $kind: can't link"; }
    echo "$linker $kind"
    (look $app) >raw.found 2>/dev/null || { echo "$linker $kind: the raw file doesn't run"; continue; } # mold 2.37's static PIE
    [[ $(wc -l <raw.found) == $(($(dump_json $app | wc -l) + 1)) ]] || fail "$linker $kind: not every record is found"
    (($(wc -l <raw.found) > 500)) || fail "$linker $kind: few records"
    expect_status 0 "$stackpack" pack -o packed-$app $app
    expect_as_before $app packed-$app packed
    expect_no_new_findings $app $app packed-$app packed
    rpath="patchelf --set-rpath /nowhere/lib"
    release $app packed-$app debug "$rpath"
    release $app packed-$app strip
    done=$((done + 1))
    [[ $linker == lld || $linker == bfd ]] || continue # every way is for two linkers only
    sampled 4 || continue
    release $app packed-$app "$rpath" strip
    release $app packed-$app "$rpath" debug
    release $app packed-$app eu-strip
    release $app packed-$app "$LLVM/bin/llvm-strip" "$rpath"
  done
done
((done >= 12)) || fail "only $done kinds of files were tried"
