#!/bin/bash
# The threads sample: however its threads meet, raw and packed, its sum is the one computed without threads and collections.
# RUNS (20) is how many runs are made of each program, all with other numbers and other pauses.
. "$TOP/tests/cli/common.sh"

programs=$BUILD/samples
sources=$TOP/samples/threads
ulimit -c 0

# Exactly the records unneeded by collections are dropped.
expect_status 0 "$stackpack" verify --policy="$sources/gc.policy" --global-roots=gc_roots "$programs/threads-raw" \
  "$programs/threads"
expect_different "$programs/threads-raw" "$programs/threads"

# Runs a program with the options and a seed; it must succeed and print the same as the other programs did.
declare -A sums
check() { # PROGRAM SEED OPTION...
  local program=$1 seed=$2
  shift 2
  expect_status 0 "$program" --statistics --seed "$seed" "$@"
  ! grep -E '^collections: 0$|moved: 0 |walked: 0$|\(0 of threads in native' err ||
    fail "$program --seed $seed $*: the run shows too little"
  [[ ${sums["$seed $*"]-$(<out)} == "$(<out)" ]] || fail "$program --seed $seed $*: not the sum of before"
  sums["$seed $*"]=$(<out)
}

# More threads than processors and only one, few pauses and many, lists of other lengths; each with a collection at every
# allocation and poll, and with a heap that is full now and then. The periods are coprime, so that all meet.
for ((seed = 1; seed <= ${RUNS:-20}; seed++)); do
  sampled 3 || continue
  for program in "$programs/threads-raw" "$programs/threads"; do
    check "$program" $seed --stress --threads $((1 + seed % 7)) --lists $((2 + seed % 5)) --length $((10 + seed % 11)) \
      --pauses $((3 + seed % 97))
    check "$program" $seed --heap 24 --threads $((1 + seed % 5)) --lists 20 --length 20 --pauses $((3 + seed % 97))
  done
done

# The sample's behaviour if a root was missed: each mistake must show, as a fault, as the collector's complaint, or as
# a wrong sum. The linker puts the mistakes in (--wrap).
cat >mistakes.c <<'EOF2'
#include "roots.h"
void __real_roots_of_thread(struct thread *thread, struct copier *copier);
void __wrap_roots_of_thread(struct thread *thread, struct copier *copier);
void __real_roots_of_globals(struct copier *copier);
void __wrap_roots_of_globals(struct copier *copier);

void __wrap_roots_of_thread(struct thread *thread, struct copier *copier) {
  static unsigned count;
  count++;
  if (!(SKIPPED))
    __real_roots_of_thread(thread, copier);
}
void __wrap_roots_of_globals(struct copier *copier) {
  if (!(GLOBALS_SKIPPED))
    __real_roots_of_globals(copier);
}
EOF2
flags=()
if nm "$programs/threads-raw" | grep __asan_init >/dev/null; then flags=("-fsanitize=address,undefined"); fi
build_mistaken() { # CONDITION CONDITION
  "$CC" -std=c17 "${flags[@]}" -DSKIPPED="$1" -DGLOBALS_SKIPPED="$2" -I"$sources" -I"$TOP/samples/common" \
    -I"$TOP/runtime" -B"$LLVM/bin/" -fuse-ld=lld -no-pie -pthread -Wl,--wrap=roots_of_thread -Wl,--wrap=roots_of_globals \
    -o mistaken mistakes.c "$programs"/threads.d/{lists,main,world,roots,native,entries}.o \
    "$programs"/common.d/{bounds,copier,heap_allocate,managed_call,numbers,options,die}.o "$BUILD/libstackpack.a"
}
many=(--stress --threads 4 --lists 6 --length 20)
build_mistaken 0 0
expect_status 0 ./mistaken "${many[@]}"
for mistake in "thread->is_native 0" "!thread->is_native&&count%5==0 0" "0 1"; do
  # shellcheck disable=SC2086 # two words
  build_mistaken $mistake
  ASAN_OPTIONS=handle_segv=0:${ASAN_OPTIONS-} timeout 60 ./mistaken "${many[@]}" >out 2>err &&
    fail "nothing shows that roots are missed: $mistake"
done

# The code that the compiler sees is free of data races.
build_watched samples/threads-raw samples/threads
export TSAN_OPTIONS=halt_on_error=1:exitcode=66
for ((seed = 1; seed <= (${RUNS:-20} + 9) / 10; seed++)); do
  for program in watched/samples/threads-raw watched/samples/threads; do
    check "$program" $seed --stress --threads 5 --lists 3 --length 20 --pauses 20
    check "$program" $seed --heap 24 --threads 4 --lists 20 --length 20 --pauses 20
  done
done
