#!/bin/bash
# tests/golden/make.sh: writes the tables of each kind for each machine, and the library's answers, into this folder. For a
# deliberate change of the format alone: the tables of a version that has been released stay.
TOP=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$TOP/build}") LLVM=${LLVM:-$("$TOP/tests/find-llvm.sh")} CC=${CC:-cc}
export TOP BUILD LLVM CC
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder" || exit
. "$TOP/tests/cli/common.sh"

for name in collect allocate; do printf 'define ptr addrspace(1) @%s(i64 %%n) uwtable { ret ptr addrspace(1) null }\n' $name; done |
  sed 's/^define ptr addrspace(1) @collect(i64 %n)\(.*\)ret.*/define void @collect()\1ret void }/' >runtime.ll
cat >roots.ll <<'IR'
@a = global i64 0
@b = global [1000 x i64] zeroinitializer
@list = constant [3 x ptr] [ptr @a, ptr @b, ptr getelementptr (i8, ptr @b, i64 7992)], section "gc_roots"
IR
# With IDs and deopt state: so many that they are compressed.
many_functions 3 | sed -E 's/^(define .*) gc "/\1 uwtable gc "/' | awk '
  /call void @collect/ { $0 = $0 " \"statepoint-id\"=\"" 500 + NR "\" [\"deopt\"(i64 " NR ", i32 7, i64 1311768467463790320, i64 %n)]" }
  { print }' >many.ll
sed -E 's/i32 (15|20), ptr/i32 32, ptr/' "$samples/patchpoints.ll" >patchpoints.ll # sizes that every machine takes
for machine in x86_64 aarch64 riscv64; do
  for kind in list deopt frames pairs patchpoints many; do
    [[ $machine == x86_64 || $kind != frames ]] || continue # LLVM has transitions there alone
    [[ $machine != riscv64 || $kind != patchpoints ]] || continue # LLVM can't assemble them
    file=$samples/$kind.ll
    [[ $kind == many || $kind == patchpoints ]] && file=$kind.ll
    for part in runtime roots; do "$LLVM/bin/llc" -mtriple=$machine-linux-gnu -filetype=obj $part.ll; done
    "$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc "$file" -o object.bc
    "$LLVM/bin/llc" -mtriple=$machine-linux-gnu -filetype=obj object.bc -o object.o
    "$LLVM/bin/ld.lld" --section-start=.llvm_stackmaps=0x201000 -e run -u list --noinhibit-exec -o app object.o runtime.o roots.o 2>log
    "$stackpack" pack -q --always --reader=elsewhere --global-roots=gc_roots -o packed app
    "$LLVM/bin/llvm-objcopy" -O binary --only-section=.stackpack packed $machine-$kind.table
  done
done
version=$TOP/tests/golden/version$(od -An -tu2 -j4 -N2 x86_64-list.table | tr -d ' ')
mkdir -p "$version"
cp --no-preserve=mode ./*.table "$version"
"$CC" -O1 -std=c17 -D_GNU_SOURCE -I"$TOP" -o print "$TOP/tests/golden/answers.c" "$BUILD/libstackpack.a" -lzstd
./print ./*.table >"$version/answers"
