# shellcheck shell=bash
# Shared functions of this folder's tests, on top of tests/cli's.
. "$TOP/tests/cli/common.sh"
export STACKPACK=$stackpack LLVM RECORDER=$PWD/recorder.so ANSWERS=$PWD/answers

# Of the programs that a family draws, these are tried.
case $SAMPLING in few) every=8 ;; *) every=1 ;; esac

make_recorder() {
  gcc -O2 -Wall -Wextra -Werror -fPIC -shared -Wl,-z,initfirst -o recorder.so "$TOP/tests/callgraph/recorder.c"
}

make_answers() {
  build_plain_library
  "$LLVM/bin/clang" -O1 -Wall -Wextra -Werror -std=c17 -D_GNU_SOURCE -I"$TOP" -I"$TOP/runtime" -o answers \
    "$TOP/tests/callgraph/answers.c" plain/libstackpack.a "$@"
}

# Where the recorder is to look: MODULE:ADDRESS for each function, separated by commas.
places() { # FILE FUNCTION...
  local file=$1 function address places=()
  shift
  for function in "$@"; do
    address=$(nm "$file" | awk -v name="$function" '$3 == name { print $1 }')
    [[ -n $address ]] || fail "$file has no function $function"
    places+=("$(basename "$file"):$address")
  done
  (IFS=,; echo "${places[*]}")
}

# Runs a program and adds the return addresses that were on its stack at the places to a file.
record() { # PLACES SEEN COMMAND...
  local places=$1 seen=$2 status=0
  shift 2
  env RECORD_AT="$places" RECORD_OUT=seen.now LD_PRELOAD="$RECORDER" "$@" >record.out 2>record.err || status=$?
  ((status == 0)) || { tail -n 20 record.out record.err >&2; fail "exit status $status: $*"; }
  cat seen.now >>"$seen"
}

# The return addresses that were seen in a module, in hexadecimal, each once.
seen_in() { # MODULE SEEN
  sed -n "s/^$1://p" "$2" | sort -u
}

# The return addresses of a file's records, in the same form.
addresses() { # FILE
  dump_json "$1" | python3 -c 'import json, sys
for line in sys.stdin: print(hex(json.loads(line)["address"]))' | sort -u
}

# Every return address that was seen, and that has a record in the raw file, has one in the packed file.
expect_sound() { # RAW PACKED SEEN
  local module
  module=$(basename "$1")
  seen_in "$module" "$3" >seen.all
  addresses "$1" >raw.addresses
  addresses "$2" >packed.addresses
  comm -12 seen.all raw.addresses >seen.records
  [[ -s seen.records ]] || fail "$module: no address with a record was ever seen"
  comm -23 seen.records packed.addresses >lost
  # The answers separate dropped records from code without stack maps, also where all of a function's records were dropped.
  comm -23 raw.addresses packed.addresses >dropped.addresses
  "$ANSWERS" "$2" <dropped.addresses >dropped.answers
  [[ $(sort -u dropped.answers) == "not a safepoint" ]] || { sort dropped.answers | uniq -c >&2; fail "$2: what was dropped answers otherwise"; }
  [[ $("$ANSWERS" "$2" <packed.addresses | sort -u) == found ]] || fail "$2: not all of its records are found"
  [[ ! -s lost ]] || { head -n 20 lost >&2; fail "$module: $(wc -l <lost) return addresses were seen on the stack, but dropped"; }
  echo "$module: $(wc -l <raw.addresses) records, $(($(wc -l <raw.addresses) - $(wc -l <packed.addresses))) dropped;" \
    "$(wc -l <seen.records) were seen on the stack at $(awk '$1 == "entries" { n += $2 } END { print n }' "$3") entries, and all are there"
}

# Every walk ended where threads, or constructors of libraries, begin: otherwise less was seen than there was.
expect_whole_walks() { # PROGRAM SEEN
  local start
  start=$((16#$(nm "$1" | awk '$3 == "_start" { print $1 }')))
  sed -nE "s/^outermost ([^:]*):(.*)/\1 \2/p" "$2" | sort -u | while read -r module address; do
    [[ $module == libc.so.* || $module == ld-linux* ]] || ((address - start > 0 && address - start < 64)) || fail "a walk ended at $module:$address"
  done
}
