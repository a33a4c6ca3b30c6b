#!/bin/bash
# samples/types: the pass gives indirect calls and functions their types, by the places where pointers are kept; calls then
# reach the functions stored in their place alone. Each by_* calls something that collects, by a pointer that went a way of its
# own; no_* never do, though functions of the same signature collect.
. "$TOP/tests/cli/common.sh"

[[ -x $LLVM/bin/llvm-config && -e $("$LLVM/bin/llvm-config" --includedir)/llvm/IR/PassManager.h ]] || skip "no headers of LLVM"
read -ra flags < <("$LLVM/bin/llvm-config" --cppflags | sed 's/-I/-isystem /g')
g++ -O1 -fPIC -shared -std=c++17 -fno-rtti -Wall -Wextra -Werror "${flags[@]}" "$TOP/samples/types/types_pass.cpp" -o types.so

cat >program.h <<'C'
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline))
typedef long function(long);
struct operations { char tag; function *computes, *collects; };
struct other { long before; function *copied, *taken, *read, *exchanged, *filled, *found; void *data; long number; };
struct closure { function *code; long value; };
struct table { char tag; union { long number; function *code; } choice; function *after; long more; };
struct outer { char tag; struct closure inner; function *last; };
struct remote { function *stored, *unused; };
extern struct remote remote;
extern function *remote_variable;
APART void collect(void);
APART long remote_call(function *f, long x);
APART function *remote_result(void);
void remote_set(void);
C
cat >program.c <<'C'
#include "program.h"
static volatile long state;
void collect(void) { state++; }
static APART long computes(long x) { return x * 3; }
/* A function of its own for each way: none is known by another one's. */
#define COLLECTS(name) static APART long name(long x) { collect(); return x + __LINE__; }
COLLECTS(constant) COLLECTS(copied) COLLECTS(taken) COLLECTS(read) COLLECTS(exchanged) COLLECTS(filled) COLLECTS(closed) COLLECTS(returned)
COLLECTS(chosen) COLLECTS(given) COLLECTS(resulting) COLLECTS(after) COLLECTS(inner) COLLECTS(array) COLLECTS(local) COLLECTS(variable)
COLLECTS(number) COLLECTS(data) COLLECTS(argument) COLLECTS(variadic) COLLECTS(thread) COLLECTS(member) COLLECTS(anonymous) COLLECTS(last)
COLLECTS(moved) COLLECTS(remotely) COLLECTS(found)
long aliased_to(long x) { collect(); return x + __LINE__; }
extern function aliased __attribute__((alias("aliased_to")));

static struct operations operations = {1, computes, constant};
static struct operations *volatile the_operations = &operations;
static struct other other;
static struct other *volatile the_other = &other;
static struct table table = {.tag = 1, .choice.code = member, .after = after, .more = 2};
static struct table *volatile the_table = &table;
static struct outer outers[2] = {{1, {computes, 2}, computes}, {1, {inner, 2}, last}};
static struct outer *volatile the_outers = outers;
static function *functions[2] = {computes, array};
static function *variables, *closed_variable = computes;
static _Thread_local function *of_thread;
static struct { char tag; function *code; } nameless[2] = {{1, anonymous}, {2, anonymous}}, *volatile the_nameless = nameless;
static volatile int one = 1;
static volatile size_t where_found = offsetof(struct other, found);
struct aliases { function *alias; } aliases = {aliased}, *volatile the_aliases = &aliases;
struct moves { function *from, *to; } moves, *volatile the_moves = &moves;

static APART void set(function **place) { *place = taken; }
static APART long get(function **place, long x) { return (*place)(x) + 1; }
static APART struct closure make(void) { return (struct closure){closed, 1}; }
static APART long call_closure(struct closure closure, long x) { return closure.code(x) + closure.value; }
static APART long call_given(function *f, long x) { return f(x) + 1; }
static APART long call_safe(function *f, long x) { return f(x) + 1; }
static APART function *result(void) { return resulting; }
static APART function *safe_result(void) { return computes; }
static APART function *variadic_last(int n, ...) { va_list list; va_start(list, n); function *f = va_arg(list, function *); va_end(list); return f; }
static APART void fill(void) { function *all[2] = {computes, filled}; memcpy(&the_other->filled, &all[one], sizeof(function *)); }
static APART void move(void) { struct moves copy = *the_moves; memcpy(the_moves, &copy, sizeof copy); the_moves->to = the_moves->from; }

APART long by_constant(long x) { return the_operations->collects(x) + 1; }
APART long by_copied(long x) { return the_other->copied(x) + 1; }
APART long by_taken(long x) { return the_other->taken(x) + 1; }
APART long by_read(long x) { return get(&the_other->read, x) + 1; }
APART long by_exchanged(long x) { return the_other->exchanged(x) + 1; }
APART long by_filled(long x) { return the_other->filled(x) + 1; }
APART long by_closure(long x) { struct closure c = {closed, x}; return call_closure(c, x) + 1; }
APART long by_member(long x) { return the_table->choice.code(x) + 1; }
APART long by_after(long x) { return the_table->after(x) + 1; }
APART long by_inner(long x) { return the_outers[one].inner.code(x) + 1; }
APART long by_last(long x) { return the_outers[one].last(x) + 1; }
APART long by_array(long x) { return functions[one](x) + 1; }
APART long by_local(long x) { function *volatile f[2] = {computes, local}; return f[one](x) + 1; }
APART long by_variable(long x) { return variables(x) + 1; }
APART long by_number(long x) { return ((function *)the_other->number)(x) + 1; }
APART long by_data(long x) { return ((function *)the_other->data)(x) + 1; }
APART long by_chosen(long x) { return (one ? chosen : the_operations->computes)(x) + 1; }
APART long by_given(long x) { return call_given(given, x) + 1; }
APART long by_argument(long x) { return remote_call(argument, x) + 1; }
static APART long result_of(long x) { return result()(x) + 1; }
APART long by_result(long x) { return result_of(x) + 1; }
static APART long result_of_remote(long x) { return remote_result()(x) + 1; }
APART long by_remote_result(long x) { return result_of_remote(x) + 1; }
static APART function *the_variadic(void) { return variadic_last(1, variadic); }
static APART long call_variadic(long x) { return the_variadic()(x) + 1; }
APART long by_variadic(long x) { return call_variadic(x) + 1; }
static APART long call_returned(long x) { return make().code(x) + 1; }
APART long by_returned(long x) { return call_returned(x) + 1; }
APART long by_thread(long x) { return of_thread(x) + 1; }
APART long by_nameless(long x) { return the_nameless[one].code(x) + 1; }
APART long by_alias(long x) { return the_aliases->alias(x) + 1; }
APART long by_moved(long x) { return the_moves->to(x) + 1; }
static APART long call_found(long x) { function *f = *(function **)((char *)the_other + where_found); return f(x) + 1; }
APART long by_found(long x) { return call_found(x) + 1; }
APART long by_remote_field(long x) { return remote.stored(x) + 1; }
APART long by_remote_variable(long x) { return remote_variable(x) + 1; }

APART long no_field(long x) { return the_operations->computes(x) + 1; }
APART long no_variable(long x) { return closed_variable(x) + 1; }
APART long no_parameter(long x) { return call_safe(computes, x) + 1; }
static APART long result_of_safe(long x) { return safe_result()(x) + 1; }
APART long no_result(long x) { return result_of_safe(x) + 1; }
APART long no_remote_field(long x) { return remote.unused(x) + 1; }

int main(void) {
  struct closure all[] = {{returned, 1}};
  struct other copy;
  the_other->copied = the_operations->collects;
  set(&the_other->taken);
  the_other->read = read;
  __atomic_exchange_n(&the_other->exchanged, exchanged, __ATOMIC_SEQ_CST);
  fill();
  the_other->number = (long)number;
  the_other->data = data;
  the_other->found = found;
  variables = variable;
  of_thread = thread;
  closed_variable = the_operations->computes;
  the_moves->from = moved;
  move();
  remote.unused = computes;
  remote_variable = remotely;
  remote_set();
  copy = *the_other;
  *the_other = copy;
#define BY(F) F(constant) F(copied) F(taken) F(read) F(exchanged) F(filled) F(closure) F(member) F(after) F(inner) F(last) F(array) F(local) F(variable) \
  F(number) F(data) F(chosen) F(given) F(argument) F(result) F(remote_result) F(variadic) F(returned) F(thread) F(nameless) F(alias) F(moved) F(found) \
  F(remote_field) F(remote_variable)
#define NO(F) F(field) F(variable) F(parameter) F(result) F(remote_field)
  long sum = all[0].value, before;
#define CALL_BY(name) before = state, sum += by_##name(one); if (state == before) return 2;
#define CALL_NO(name) before = state, sum += no_##name(one); if (state != before) return 3;
  BY(CALL_BY) NO(CALL_NO)
  return sum == 0;
}
C
cat >remote.c <<'C'
#include "program.h"
struct remote remote;
function *remote_variable;
static APART long stored(long x) { collect(); return x + 1; }
static APART long result(long x) { collect(); return x + 2; }
long remote_call(function *f, long x) { return f(x) + 1; }
function *remote_result(void) { return result; }
void remote_set(void) { remote.stored = stored; }
C

# Gives the functions of a module whose names match a statepoint for each call.
manage() { # MODULE NAMES
  sed -i -E "s/^(define .*@($2)\\([^{]* #[0-9]+)( [^{]*)?\\{\$/\\1 gc \"statepoint-example\"\\4 {/" "$1.ll" # group 3 is within the names
  "$LLVM/bin/opt" -passes=rewrite-statepoints-for-gc "$1.ll" -o "$1.bc"
  "$LLVM/bin/llc" -relocation-model=pic -filetype=obj "$1.bc" -o "$1.o"
}

by=$(grep -oE '^APART long by_[a-z_]+' program.c | sed 's/.* //')
no=$(grep -oE '^APART long no_[a-z_]+' program.c | sed 's/.* //')
for options in "-O0 -g" "-O2 -g" "-O2"; do
  for source in program remote; do
    # shellcheck disable=SC2086 # a list of words
    "$LLVM/bin/clang" -w -std=c11 $options -Xclang -disable-O0-optnone -fpass-plugin="$PWD/types.so" -S -emit-llvm $source.c
    manage $source "(by|no)_[a-z_]*|get|call_[a-z]*|result_of[a-z_]*|remote_call"
  done
  for layout in -no-pie "-pie -Wl,-z,notext"; do
    # shellcheck disable=SC2086 # a list of words
    link_with lld app program.o remote.o $layout
    expect_status 0 ./app
    for function in $by; do expect_verdict kept app "$function" --gc-entry=collect; done
    # In the absence of debug info, the types of variables whose initialiser has padding are unknown: functions there may be
    # anywhere.
    [[ $options == *-g ]] || continue
    for function in $no; do expect_verdict dropped app "$function" --gc-entry=collect; done
  done
done

# A call without a prototype is untyped, and may reach any function; compatible types of C are one.
cat >unprototyped.c <<'C'
#define APART __attribute__((noinline))
static volatile long state;
APART void collect(void) { state++; }
enum choice { ONE };
static APART long chooses(unsigned x) { collect(); return x; }
static APART void notes(long x) { state = x; collect(); }
static APART double computes(double x) { return x * 3; }
static struct { long (*choice)(enum choice); void (*unprototyped)(); double (*computes)(double); } volatile all = {(long (*)(enum choice))chooses, (void (*)())notes, computes};
APART long by_choice(long x) { return all.choice(ONE) + x; }
APART long by_unprototyped(long x) { all.unprototyped(x); return x + 1; }
APART long no_collection(long x) { return (long)all.computes((double)x) + 1; }
int main(void) { return (int)(by_choice(2) + by_unprototyped(3) + no_collection(4)) & 1; }
C
"$LLVM/bin/clang" -w -std=c11 -O2 -fpass-plugin="$PWD/types.so" -S -emit-llvm unprototyped.c
manage unprototyped "(by|no)_[a-z]*"
link_with lld app unprototyped.o
for function in by_choice by_unprototyped; do expect_verdict kept app $function --gc-entry=collect; done
expect_verdict dropped app no_collection --gc-entry=collect

# A function stored by a pointer that was counted from a struct's start may be in any field.
cat >counted.c <<'C'
#include <stddef.h>
#define APART __attribute__((noinline))
static volatile long state;
static volatile size_t where;
APART void collect(void) { state++; }
static APART long collects(long x) { collect(); return x + 1; }
static APART long computes(long x) { return x + 2; }
static struct fields { long (*stored)(long), (*counted)(long); } all = {computes, computes}, *volatile fields = &all;
APART long by_counted(long x) { return fields->counted(x) + 1; }
int main(void) { where = offsetof(struct fields, counted); *(long (**)(long))((char *)fields + where) = collects; return by_counted(1) == 0; }
C
for level in -O0 -O2; do
  "$LLVM/bin/clang" -w $level -Xclang -disable-O0-optnone -fpass-plugin="$PWD/types.so" -S -emit-llvm counted.c
  manage counted "(by)_[a-z]*"
  link_with lld app counted.o
  expect_verdict kept app by_counted --gc-entry=collect
done
