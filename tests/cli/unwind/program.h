/* program.h - a program whose stack has every kind of frame, for the tests of the unwinding walker.
 *
 * managed.c is compiled with statepoints, as is conventions.ll. Its functions keep references, and addresses within objects,
 * across calls of the functions of native.cc: C++ that calls back by way of qsort, by a signal's
 * handler and on another stack. Each allocation collects (collector.c): it moves all objects and
 * makes the old ones inaccessible. With PLAIN defined all is plain C and C++, and prints the same.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef MANAGED
#define REFERENCE __attribute__((address_space(1)))
#else
#define REFERENCE
#endif

struct object {
  struct object REFERENCE
      *next; /* in collector.c: where the object has moved to, while it is old */
  long values[5];
};
typedef struct object REFERENCE *reference;

/* managed.c */
long managed_sort(long n);
long managed_compare(long a, long b);
long managed_handler(long n);
long managed_dynamic(long n);
long managed_realigned(long n);
long managed_fiber(long n);

/* conventions.ll */
long managed_vector(reference a, reference b, long n);
long managed_conventions(reference a, long n);

/* native.cc */
long native_sort(long n);      /* qsort, of elements that managed_compare compares */
long native_interrupt(long n); /* raises a signal; managed_handler runs on top of all */
long native_through(long n);   /* a C++ function that calls managed_dynamic, and catches */
long native_yield(long n);     /* suspends the fiber, whose stack then waits through collections */
void native_touch(char *a, char *b); /* makes variables have addresses */

/* collector.c */
reference allocate(long value);
struct stackpack_context;
void collect_at_signal(void *ucontext);
void collect_on(char *stack, char *end); /* there is another stack, */
void collect_suspended(void *ucontext);  /* waiting, being run, or done with: NULL */
void collector_open(const char *walker,
                    const char *path); /* a file whose stack maps are checked, or null */
void collector_report(void);

#ifdef __cplusplus
}
#endif
#endif
