/* A shared library that calls back into the program: by a pointer it is given, by one it keeps, and by name. */
#include "program.h"

static step *registered;
void library_register(step *callback) { registered = callback; }

APART static long twice(step *callback, long value) {
  return callback(value) + callback(value + 1);
}
long library_each(step *callback, long value) { return twice(callback, value) + callback(value); }
APART long library_registered(long value) { return registered(value) + 1; }
APART long library_notify(long value) { return notified(value) + notified(value + 1); }

/* The executable's function of this name is called in place of this one. */
APART long replaced(long value) { return value + 1; }
APART long library_replaced(long value) { return replaced(value) + replaced(value * 2); }

static long chosen(long value) { return library_notify(value) + 2; }
static long other(long value) { return library_registered(value) + 3; }
step *library_choose(long value) { return value % 2 ? chosen : other; }

APART static long add(long value) { return value + 3; }
APART long library_pure(long value) { return add(value) * add(value + 1); }

__attribute__((constructor)) static void when_loaded(void) { report("loaded", library_notify(1)); }
__attribute__((destructor)) static void when_unloaded(void) {
  report("unloaded", library_notify(2));
}
