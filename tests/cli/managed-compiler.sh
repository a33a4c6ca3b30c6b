#!/bin/bash
# The compiler that builds the corpus gives C code statepoints, at any optimisation, with and without deopt state; the program
# runs like one compiled plainly, raw and packed; and references live across a call are in the call's record.
. "$TOP/tests/cli/common.sh"

[[ -x $LLVM/bin/llvm-config && -e $("$LLVM/bin/llvm-config" --includedir)/llvm/IR/PassManager.h ]] || skip "no headers of LLVM"
export MANAGED_LLVM=$LLVM MANAGED_PASS=$PWD/pass.so MANAGED_OPTIONS
"$TOP/tests/corpus/build-pass" "$LLVM" "$MANAGED_PASS"

cat >program.c <<'EOF'
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#define APART __attribute__((noinline))

struct node { struct node *next; long values[4]; };
struct wide { long words[5]; };
static jmp_buf again;
static struct node none;
char *volatile kept; /* a way out that no analysis follows */

APART struct node *make(struct node *next, long value) {
  struct node *node = calloc(1, sizeof *node);
  node->next = next;
  node->values[1] = value;
  kept = (char *)node;
  return node;
}
APART long add(const long *place, const struct node *node) { kept = (char *)node; return *place + node->values[1]; }
APART signed char narrow(signed char value) { kept = 0; return (signed char)(value * 3); }
APART struct wide widen(struct wide wide, long n) { wide.words[n % 5] += n; kept = 0; return wide; }
APART long double stretch(long double value) { kept = 0; return value / 3; }
APART long sum(int count, ...) {
  va_list list;
  long all = 0;
  va_start(list, count);
  while (count-- > 0) all += *va_arg(list, long *);
  va_end(list);
  return all;
}
APART void leave(int value) { longjmp(again, value); }
APART int enter(int n) { /* of two returns */
  const int came = setjmp(again);
  if (came < n) leave(came + 1);
  return came;
}
APART long both(struct node *a, struct node *b, int n) { /* phis, selects, derived and mixed pointers */
  struct node *p = n & 1 ? a : b, *q = n & 2 ? &none : a;
  long local = n, *r = n & 4 ? &p->values[n % 4] : &local;
  for (int i = 0; i < n; i++) {
    long s = add(&p->values[1], q);
    *r += s + add(r, p) + narrow((signed char)s);
    p = p->next ? p->next : a;
    if (p == b) q = p;
  }
  return *r + local + sum(3, r, &p->values[1], &a->values[2]);
}
int main(int argc, char **argv) {
  struct node *list = make(0, 1);
  struct wide wide = {{1, 2, 3, 4, 5}};
  for (int i = 0; i < 20; i++) list = make(list, i * 7);
  long total = 0;
  for (int n = 0; n < 12; n++) {
    total = total * 31 + both(list, list->next->next, n);
    wide = widen(wide, n);
    total += enter(n) + wide.words[n % 5] + (long)stretch(n);
  }
  printf("%ld %s %d\n", total, argv[argc] ? "?" : "end", argc);
  return 0;
}
EOF
"$LLVM/bin/clang" -O1 -no-pie -fuse-ld=lld program.c -o plain
for level in -O0 -O1 -O2 -Os; do
  for MANAGED_OPTIONS in "" "-managed-deopt -managed-ids"; do
    "$TOP/tests/corpus/managed-cc" $level program.c -o program
    expect_same_run plain program
    pack_and_compare program packed
    WITH=${MANAGED_OPTIONS:+yes} expect_records packed.json <<'PYTHON'
import os

functions = {}
for record in records:
    functions.setdefault(record["function"], []).append(record)
assert len(functions["both"]) >= 3 and len(functions["main"]) >= 4
assert "enter" not in functions  # it calls setjmp
assert any(len(record["gc"]) >= 2 for record in functions["both"])
deopt = [record["deopt"] for record in records]
ids = {record["id"] for record in records}
if os.environ["WITH"]:
    assert all(deopt) and len(ids) == len(records)
else:
    assert not any(deopt) and len(ids) == 1
PYTHON
  done
done
