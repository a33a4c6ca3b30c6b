/* The managed code of the program: see program.h. */
#include "program.h"

/* ---- Calls out of a collection's reach: their records are to be dropped ---- */

APART static long checksum(long value) { return pure(value) * 31 + pure(value + 1); }

APART static long checksums(long value) {
  long sum = 0;
  for (long i = 0; i < 3; i++)
    sum += checksum(value + i);
  return sum;
}

/* ---- Calls that can ---- */

APART static long direct(long value) {
  return allocate(value) + checksums(value) + allocate(value + 1);
}
APART static long recursive(long value) {
  return value < 2 ? direct(value) : recursive(value - 1) + recursive(value - 2);
}
APART static long even(long value);
APART static long odd(long value) { return value <= 0 ? allocate(value) : even(value - 1) + 1; }
APART static long even(long value) {
  return value <= 0 ? tail_to_allocate(value) : odd(value - 1) + 2;
}

static step *const operations[] = {direct, recursive, even, odd, allocate};
APART static long by_table(long value) { return operations[value % 5](value % 7) + 1; }

struct object {
  long fields;
  step *method;
};
static struct object objects[] = {{1, recursive}, {2, even}, {3, tail_to_allocate}};
APART static long by_object(long value) {
  return objects[value % 3].method(objects[value % 3].fields + value % 5);
}

APART static long by_argument(step *body, long value) { return body(value) + 1; }

static int compare(const void *a, const void *b) {
  return *(const long *)a < allocate(*(const long *)b) ? 1 : -1;
}
static int match(const void *a, const void *b) {
  return *(const long *)a - *(const long *)b + (direct(0) & 0) > 0;
}

/* Functions that the C library, the linker's start-up code, the kernel and the other module call.
 * */
long on_signal(long value) { return allocate(value) + 5; }
long on_thread_end(long value) { return allocate(value) + 6; }
long on_once(long value) { return recursive(value % 3); }
long on_write(long value) { return allocate(value) + 8; }
long on_visit(long value) { return allocate(value) + 9; }
long on_module(long value) { return allocate(value) + 10; }
long on_fork(long value) { return allocate(value) + 11; }
long named(long value) { return allocate(value) + 12; }
long notified(long value) { return allocate(value) + 13; }
long replaced(long value) { return allocate(value) + 14; }
static long called_back(long value) { return recursive(value % 4) + 15; }

__attribute__((constructor)) static void before_main(void) { report("constructor", direct(1)); }
__attribute__((destructor)) static void after_main(void) { report("destructor", direct(2)); }

/* The last call is a noreturn one: its return address is the end of the function. */
__attribute__((noreturn)) APART static void give_up(long value) { leave(allocate(value)); }
static long gives_up(long value) {
  if (value % 2)
    give_up(value);
  return allocate(value);
}
static long nested(long value) { return protect(gives_up, value) + allocate(value); }

long managed_main(long value) {
  report("direct", direct(value) + recursive(5) + even(4));
  report("table", by_table(value) + by_table(value + 1) + by_table(value + 2) +
                      by_table(value + 3) + by_table(value + 4));
  report("object", by_object(value) + by_object(value + 1) + by_object(value + 2));
  report("argument", by_argument(direct, value) + by_argument(odd, 3));
  report("signal",
         raise_signal(value) + kill_self(value) + unblock_signal(value) + wait_for_timer(value));
  report("sort", sort(value, compare));
  report("search", search(value, match));
  report("protect", protect(gives_up, 1) + protect(gives_up, 2) + protect(nested, 3));
  report("thread", in_thread(recursive, 4));
  report("once", once(value));
  report("stream", through_stream(value));
  report("tree", through_tree(value));
  report("modules", through_modules(value));
  report("name", found_by_name(value));
  report("fork", forked(value));
  library_register(called_back);
  report("library", library_each(called_back, value) + library_registered(value));
  report("library by name", library_notify(value) + library_replaced(value));
  report("library's choice", library_choose(value)(value) + library_pure(value));
  return checksums(value);
}
