#!/bin/bash
# tests/bench/shadow-stack/compare.sh - the cost of giving a collector the roots, in four ways, beside a build without roots.
#
#   make samples && tests/bench/shadow-stack/compare.sh [BUILD]       prints a table in Markdown
#
# Instructions are counted by valgrind's callgrind and are the same at every run. Times are the median of RUNS (15) runs
# of each program, by turns, so that the machine's other work hits all of them. Each is given as a multiple of the first time in
# its row: seconds say little about another machine. SIZE (100) is the work, HEAP (4096) the kilobytes of
# a space; without a collection it is as large as it need be.
set -euo pipefail

samples=${1:-build}/samples
size=${SIZE:-100} heap=${HEAP:-4096} runs=${RUNS:-15}
large=1000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

programs=(shadow-stack-unrooted shadow-stack semispace-raw semispace semispace-plain)
collecting=(shadow-stack semispace-raw semispace)

# ---- Instructions, by purpose ----

# The object files of the workload in a program.
workload_objects() { # PROGRAM
  case $1 in
    shadow-stack-unrooted) echo "$samples"/shadow-stack.d/*.unrooted.ll.o ;;
    shadow-stack) echo "$samples"/shadow-stack.d/*.shadow.ll.o ;;
    semispace-plain) echo "$samples"/semispace.d/plain/{trees,lists,arrays,words}.o ;;
    *) echo "$samples"/semispace.d/O2/{trees,lists,arrays,words}.o ;;
  esac
}

# The names of all functions of object files or libraries, a line each, after a word.
function_names() { # WORD FILE...
  local word=$1
  shift
  nm --defined-only "$@" | awk -v word="$word" '$2 ~ /^[tT]$/ { print word, $3 }'
}

# Writes to $work/PROGRAM.HEAP lines of a purpose and the thousands of instructions for it. The workload is the program's
# purpose; roots are found by the library and the sample's own walk; the rest is allocating, copying, and the
# start. Functions are recognised by their names: some valgrinds fail on some compilers' debug info.
count_instructions() { # PROGRAM HEAP
  local objects
  read -r -a objects < <(workload_objects "$1")
  {
    function_names workload "${objects[@]}" "$samples/common.d/numbers.o"
    function_names roots "$samples"/semispace.d/stack.o "$samples"/shadow-stack.d/{roots,no_roots}.o \
      "$samples/../libstackpack.a"
  } >"$work/functions"
  objcopy --strip-debug "$samples/$1" "$work/program"
  valgrind --tool=callgrind --callgrind-out-file="$work/profile" \
    "$work/program" --size "$size" --heap "$2" >/dev/null 2>"$work/valgrind" || {
    cat "$work/valgrind" >&2
    exit 1
  }
  callgrind_annotate --threshold=100 --auto=no --show-percs=no "$work/profile" |
    awk '
      NR == FNR { purpose[$2] = $1; next }
      { gsub(",", "", $1) }
      $2 == "PROGRAM" { all = $1 }
      $2 !~ /:/ { next }
      { name = $2; sub(/.*:/, "", name); sub("\047.*", "", name); sum[purpose[name]] += $1 }
      END {
        printf "workload %.0f\nroots %.0f\nrest %.0f\nall %.0f\n", sum["workload"] / 1000, sum["roots"] / 1000,
          (all - sum["workload"] - sum["roots"]) / 1000, all / 1000
      }' "$work/functions" - >"$work/$1.$2"
}

instructions() { # PURPOSE HEAP PROGRAM
  awk -v purpose="$1" '$1 == purpose { print $2 }' "$work/$3.$2"
}

# ---- Times ----

measure_times() { # HEAP PROGRAM...
  local heap=$1 program run start end
  shift
  for ((run = 0; run < runs; run++)); do
    for program in "$@"; do
      start=${EPOCHREALTIME/./}
      "$samples/$program" --size "$size" --heap "$heap" >/dev/null
      end=${EPOCHREALTIME/./}
      echo $((end - start)) >>"$work/$program.$heap.times"
    done
  done
}

median() { # HEAP PROGRAM
  sort -n "$work/$2.$1.times" | awk '{ time[NR] = $1 } END { print time[int((NR + 1) / 2)] }'
}

times() { # HEAP FIRST-PROGRAM PROGRAM
  awk -v time="$(median "$1" "$3")" -v first="$(median "$1" "$2")" 'BEGIN { printf "%.2f", time / first }'
}

# ---- Sizes ----

code() { # PROGRAM
  local objects
  read -r -a objects < <(workload_objects "$1")
  size -A "${objects[@]}" | awk '$1 ~ /^\.text/ { sum += $2 } END { print sum }'
}

# The code and data for roots: a section of stack maps, or LLVM's __gc_FUNCTION for each function with a frame.
tables() { # PROGRAM
  {
    size -A "$samples/$1" | awk '$1 == ".llvm_stackmaps" || $1 == ".stackpack" { print $2 }'
    nm --print-size --radix=d "$samples/$1" | awk '$4 ~ /^__gc_/ { print $2 }'
  } | awk '{ sum += $1 } END { print sum + 0 }'
}

file_size() { # PROGRAM
  strip -o "$work/stripped" "$samples/$1"
  stat -c %s "$work/stripped"
}

# ---- The table ----

row() { # TITLE COMMAND ARGUMENT...  (the program is the last argument)
  local program
  printf '| %s |' "$1"
  shift
  for program in "${programs[@]}"; do
    printf ' %s |' "$("$@" "$program")"
  done
  printf '\n'
}

# A figure of programs that collect; a dash for the others.
of_collecting() { # COMMAND ARGUMENT... PROGRAM
  if [[ " ${collecting[*]} " == *" ${*: -1} "* ]]; then
    "$@"
  else
    echo –
  fi
}

for program in "${programs[@]}"; do
  count_instructions "$program" "$large"
done
for program in "${collecting[@]}"; do
  count_instructions "$program" "$heap"
done
measure_times "$large" "${programs[@]}"
measure_times "$heap" "${collecting[@]}"

printf '| |'
printf ' %s |' "${programs[@]}"
printf '\n| --- |'
printf ' ---: |%.0s' "${programs[@]}"
printf '\n'
row "no collection: thousand instructions of the workload" instructions workload "$large"
row "time" times "$large" "${programs[0]}"
row "collections: thousand instructions of the workload" of_collecting instructions workload "$heap"
row "to find the roots" of_collecting instructions roots "$heap"
row "to allocate and copy, and at the start" of_collecting instructions rest "$heap"
row "together" of_collecting instructions all "$heap"
row "time" of_collecting times "$heap" "${collecting[0]}"
row "bytes of the workload's machine code" code
row "of tables that tell of roots" tables
row "of the file, stripped" file_size
