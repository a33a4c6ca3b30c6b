#!/bin/bash
# The facts about frames equal LLVM's reading of the unwind tables, raw and packed, for each machine and all compiler options;
# `verify` asks libdw, too, and the second reader of packed tables finds the same.
. "$TOP/tests/cli/common.sh"

# Frames of all kinds: a leaf's, large ones, a call with ten arguments, a dynamic alloca, a stack that is realigned, both, a
# loop that is shrink-wrapped, and a noreturn function.
cat >frames.c <<'C'
typedef long vector __attribute__((vector_size(32), aligned(64)));
extern long sink(void *p);
extern long many(long, long, long, long, long, long, long, long, long, long);
extern void gone(void) __attribute__((noreturn));
long leaf(long a) { return a + 1; }
long large(long a) { char b[5000]; return sink(b) + a; }
long pushes(long a, long b) { return many(a, b, 3, 4, 5, 6, 7, 8, 9, a) + sink(&a) * b; }
long dynamic(long a) { char *p = __builtin_alloca(a); return sink(p) + many(a, 2, 3, 4, 5, 6, 7, 8, 9, 10); }
long aligned(long a) { vector v = {a}; sink(&v); return v[1] + a; }
long both(long a) { vector v = {a}; char *p = __builtin_alloca(a); return sink(&v) + sink(p) + v[2]; }
long wrapped(long n) { long s = 0; if (n < 10) return n; for (long i = 0; i < n; i++) s += sink(&s) * sink(&n); return s; }
long last(long n) { if (n > 5) gone(); return sink(&n); }
long variadic(int n, ...) { __builtin_va_list l; __builtin_va_start(l, n); long r = sink(&l); __builtin_va_end(l); return r + n; }
C
cat >rest.c <<'C'
long sink(void *p) { return (long)p; }
long many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) { return a + b + c + d + e + f + g + h + i + j; }
void gone(void) { for (;;); }
int main(void) { return 0; }
C

# Compiles, links and compares for a machine, with the options.
compare_frames() { # MACHINE OPTION...
  local clang_options=("--target=$1-linux-gnu") program
  [[ $1 != riscv64 ]] || clang_options+=(-march=rv64gc -mabi=lp64d)
  compile_managed frames.c frames.o "${clang_options[@]}" -fno-pie -fasynchronous-unwind-tables "${@:2}"
  "$LLVM/bin/clang" "${clang_options[@]}" -O1 -fno-pie -c rest.c -o rest.o
  link_with lld app -nostdlib -Wl,-e,main,--unresolved-symbols=ignore-all rest.o frames.o
  expect_status 0 "$stackpack" pack --always -q -o packed app
  expect_status 0 "$stackpack" verify app packed
  expect_status 0 "$PYTHON" "$TOP/tests/oracle/packed_decoder.py" --compare="$stackpack" packed
  for program in app packed; do
    "$stackpack" dump --format=json $program >dump.json
    expect_status 0 "$PYTHON" "$TOP/tests/cli/frames_dwarfdump.py" "$LLVM" $program dump.json
    (($(sed -n 's/ compared.*//p' out) >= 10)) || { cat out >&2; fail "$*: too few records"; }
    grep -q ' 0 different, 0 unknown' out || { cat out >&2; fail "$*: frames that aren't known"; }
    cat out >>all
  done
}

expect_some() { # WHAT
  grep -qE " [1-9][0-9]* $1" all || fail "none $1"
  rm all
}

PYTHON=${PYTHON:-python3}
for options in -O0 -O2 -Oz "-O2 -fno-omit-frame-pointer -momit-leaf-frame-pointer" \
  "-O2 -mstackrealign -fstack-protector-all" "-O2 -fcf-protection=full -fstack-clash-protection"; do
  sampled 2 || continue
  read -ra words <<<"$options"
  compare_frames x86_64 "${words[@]}"
done
cp all pushed
expect_some larger # as arguments are pushed
mv pushed all
expect_some "by a register"

protections=(pac-ret+leaf+b-key)
[[ ${LLVM##*-} == 1[89] ]] || protections+=(pac-ret+pc)
for options in -O0 -O2 "-O2 -fomit-frame-pointer -mbranch-protection=pac-ret" "${protections[@]/#/-O2 -mbranch-protection=}"; do
  sampled 2 || continue
  read -ra words <<<"$options"
  compare_frames aarch64 "${words[@]}"
done
expect_some signed

[[ ${other_machines[*]} == *riscv64* ]] || exit 0
for options in -O0 -O2 "-O2 -fno-omit-frame-pointer -mno-relax"; do
  read -ra words <<<"$options"
  compare_frames riscv64 "${words[@]}"
done
grep -q ', 0 save more' all && ! grep -q ', [1-9][0-9]* save more' all || fail "ordinary prologues that save more than is told"
expect_some "by a register"
compare_frames riscv64 -O2 -msave-restore
expect_some "save more"
