/* Shared declarations of this program's files. `managed.c` and `library.c` become code with a
 * statepoint at every call; `native.c` is ordinary code. Every way from managed code into collect()
 * that the C library and the linker offer is taken at least once, and most look unlike a plain
 * call: the program's purpose. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stddef.h>

typedef long step(long value);
#define APART __attribute__((noinline))

/* native.c */
void collect(void); /* the GC entry */
long allocate(long value);
long tail_to_allocate(long value);
long raise_signal(long value);
long kill_self(long value);
long unblock_signal(long value);
long wait_for_timer(long value);
long sort(long value, int (*compare)(const void *, const void *));
long search(long value, int (*compare)(const void *, const void *));
long protect(step *body, long value);
__attribute__((noreturn)) void leave(long value);
long in_thread(step *body, long value);
long once(long value);
long through_stream(long value);
long through_tree(long value);
long through_modules(long value);
long found_by_name(long value);
long forked(long value);
long pure(long value);
void report(const char *what, long value);

/* managed.c */
long on_signal(long value);
long on_thread_end(long value);
long on_once(long value);
long on_write(long value);
long on_visit(long value);
long on_module(long value);
long on_fork(long value);
long named(long value);
long notified(long value); /* the library calls it by name */
long replaced(long value); /* the library has one, too, and gets this one */
long managed_main(long value);

/* library.c, a shared library */
void library_register(step *callback);
long library_each(step *callback, long value);
long library_registered(long value);
long library_notify(long value);
long library_replaced(long value);
step *library_choose(long value);
long library_pure(long value);

#endif
