#!/bin/bash
# GC entries of several languages, in copies with the suffixes of compilers, in programs linked in four ways and stripped in five: each
# return address that is on the stack during a collection has its record still. The program itself prints these addresses. A name meets
# one suffix; with ROUNDS=10 (make campaign), each of them.
. "$TOP/tests/cli/common.sh"

cat >recorder.c <<'C'
#include <stdint.h>
#include <stdio.h>
extern void *__libc_stack_end;
extern char __executable_start, etext;
__attribute__((noinline, used)) void scan(void) {
  for (uintptr_t *p = __builtin_frame_address(0); p < (uintptr_t *)__libc_stack_end; p++)
    if (*p - (uintptr_t)&__executable_start < (uintptr_t)(&etext - &__executable_start))
      printf("%ld\n", (long)(*p - (uintptr_t)&__executable_start));
}
C
"$LLVM/bin/clang" -O1 -fPIE -c recorder.c

# Each function's linker name.
names=(collect _ZN2rt7collectEv _ZN2rt7collectIiEEvi '_ZN2rt7collect17h0123456789abcdefE' _RNvXs_C2rtNtB4_4HeapNtB4_2Gc7collect rt.heap.collect
  'runtime.(*mheap).grow' rt::collect_all _ZN2rt7collectIiQgtstT_Li2EEEvS1_ _ZN2rt4Heap4growEi _ZNH2rt4Heap4growERS0_
  _ZN2rtW2gc7collectEv)
suffixes=(.constprop.0 .isra.0 .part.1 .llvm.1234567 .specialized.2 .cfi .avx2 .lto_priv.0.cold .resolver .cold)
entries=(collect rt.heap.collect rt::collect rt::Gc::collect 'runtime.(*mheap).grow' rt::collect_all rt::Heap::grow)

# Each function is exported, and calls go to its copy.
write_native() { # ROUND
  echo 'long leaf(long); volatile long sink; void scan(void);'
  echo '__attribute__((noinline)) long leaf(long x) { return sink += x; }'
  for i in "${!names[@]}"; do
    cat <<C
void whole_$i(void) __asm__("${names[i]}");
static void copy_$i(void) __asm__("${names[i]}${suffixes[(i + $1) % ${#suffixes[@]}]}");
__attribute__((noinline)) void whole_$i(void) { sink += $i; scan(); sink++; }
static __attribute__((noinline)) void copy_$i(void) { sink += 2 * $i; scan(); sink++; }
__attribute__((noinline)) long helper_$i(long x) { copy_$i(); return sink += x; }
C
  done
}
{
  echo 'long leaf(long);'
  for i in "${!names[@]}"; do
    echo "long helper_$i(long); __attribute__((noinline)) long managed_$i(long x) { return helper_$i(x) + leaf(x); }"
  done
} >managed.c
{
  for i in "${!names[@]}"; do echo "long managed_$i(long);"; done
  echo 'int main(void) { long x = 0;'
  for i in "${!names[@]}"; do echo "x += managed_$i(x);"; done
  echo 'return x == 12345; }'
} >main.c
"$LLVM/bin/clang" -O1 -fPIE -c main.c
compile_managed managed.c managed.o

options=()
for entry in "${entries[@]}"; do options+=(--gc-entry="$entry"); done

addresses() { dump_json "$1" | sed -E 's/^\{"address":([0-9]+),.*/\1/' | sort; }

# Every record that a collection sees is kept.
check() { # PROGRAM DROPS-SOME(yes|no) OPTION...
  local start
  start=$((0x$("$LLVM/bin/llvm-readelf" -lW "$1" | awk '$1 == "LOAD" { print substr($3, 3); exit }')))
  # scan looks at its callers' stack, and so might do anything: then each of its callers would be kept, whatever its name.
  expect_status 0 "$stackpack" pack --always --no-gc=scan -o packed "${@:3}" "$1"
  addresses "$1" >before
  addresses packed >after
  run "$1" | awk -v start=$start '{ print $1 + start }' | sort -u | comm -12 - before >seen
  [[ $(wc -l <seen) -ge ${#names[@]} ]] || fail "$1: the collections see $(wc -l <seen) records"
  comm -23 seen after >lost
  [[ ! -s lost ]] || { cat lost; fail "$1: dropped, though a collection sees them"; }
  [[ $2 == no || $(wc -l <after) -lt $(wc -l <before) ]] || fail "$1: nothing is dropped"
}

check_links() { # ROUND
  local link first=collect${suffixes[$1]}
  write_native "$1" >native.c
  "$LLVM/bin/clang" -O1 -fPIE -Wno-everything -c native.c
  for link in "lld -no-pie" "bfd -no-pie" "lld -pie -Wl,-z,notext" "lld -no-pie -rdynamic"; do
    # shellcheck disable=SC2086 # a list of words
    link_with ${link%% *} app managed.o main.o native.o recorder.o ${link#* }
    check app yes "${options[@]}"
    check app yes --gc-entry='*collect*' --gc-entry='*mheap*' --gc-entry='rt::Heap::g*'
    strip -x -o stripped app && check stripped yes "${options[@]}"
    strip -g -o stripped app && check stripped yes "${options[@]}"
    strip -N "$first" -o stripped app && check stripped yes "${options[@]}"
    [[ $link == *-rdynamic ]] || continue # or no entry has a name that is left
    strip -s -o stripped app && check stripped no "${options[@]}"
    "$LLVM/bin/llvm-strip" --strip-unneeded -o stripped app && check stripped no "${options[@]}"
  done
}
for ((round = 0; round < ${ROUNDS:-1} && round < ${#suffixes[@]}; round++)); do check_links $round; done

# A generic method of a trait, by rustc.
command -v rustc >rustc.log || exit 0
cat >rt.rs <<'RUST'
#![no_std]
#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
pub trait Gc { fn collect<T: Copy + Into<u64>>(&self, x: T) -> u64; fn poll(&self) -> u64 { self.collect(1u32) } }
pub struct Heap<A>(pub A);
extern "C" { fn scan(); }
static mut SINK: u64 = 0;
impl<A: Copy + Into<u64>> Gc for Heap<A> {
    #[inline(never)]
    fn collect<T: Copy + Into<u64>>(&self, x: T) -> u64 {
        unsafe { scan(); SINK = SINK.wrapping_add(x.into().wrapping_add(self.0.into())); SINK }
    }
}
#[no_mangle] #[inline(never)] pub extern "C" fn leaf(x: u64) -> u64 { unsafe { SINK = SINK.wrapping_add(x); SINK } }
#[no_mangle] #[inline(never)] pub extern "C" fn helper_0(x: u64) -> u64 { Heap(x as u32).collect(x as u16).wrapping_add(1) }
#[no_mangle] #[inline(never)] pub extern "C" fn helper_1(x: u64) -> u64 { Heap(x as u8).poll().wrapping_add(1) }
RUST
names=(one two)
printf 'long leaf(long);\n' >managed.c
for i in 0 1; do
  echo "long helper_$i(long); __attribute__((noinline)) long managed_$i(long x) { return helper_$i(x) + leaf(x); }" >>managed.c
done
echo 'long managed_0(long), managed_1(long); int main(void) { return managed_0(1) + managed_1(2) == 1; }' >main.c
compile_managed managed.c managed.o
"$LLVM/bin/clang" -O1 -fPIE -c main.c
for link in "lld -no-pie" "lld -pie -Wl,-z,notext -rdynamic"; do
  mangling=() # rustc's own choice
  [[ $link != *-rdynamic ]] || mangling=(-C symbol-mangling-version=v0)
  rustc -O --crate-type=lib --emit=obj -C panic=abort -C relocation-model=pic "${mangling[@]}" -o rt.o rt.rs 2>rustc.log ||
    { cat rustc.log; fail "rustc"; }
  # shellcheck disable=SC2086 # a list of words
  link_with ${link%% *} app managed.o main.o rt.o recorder.o ${link#* }
  for entry in rt::Gc::collect rt::Heap::collect; do
    check app yes --gc-entry=$entry
    strip -x -o stripped app && check stripped no --gc-entry=$entry
    strip -s -o stripped app && check stripped no --gc-entry=$entry
  done
done
