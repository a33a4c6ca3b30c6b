/* leaf_functions.h - the functions of the C library that never call back. */
#ifndef STACKPACK_LEAF_FUNCTIONS_H
#define STACKPACK_LEAF_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function's use of memory: a program may define malloc itself, and its friends, for the C
 * library's functions to call. (GNU C library's manual, "Replacing malloc") */
enum leaf_memory {
  LEAF_PURE,      /* it never allocates or frees */
  LEAF_ALLOCATES, /* it may, by functions of LEAF_ALLOCATOR */
  LEAF_ALONE, /* the same, if the program needs no other libraries: they might set its callees */
  LEAF_ALLOCATOR,
};

/* Whose functions are. The names of a compiler's run-time libraries are reserved for these (ISO C,
 * 7.1.3), whichever library has them. */
enum leaf_library {
  LEAF_OF_C_LIBRARY,
  LEAF_OF_ZLIB,
  LEAF_OF_TERMINALS,
  LEAF_OF_STACKPACK,
  LEAF_OF_COMPILERS
};

/* Functions with the same reason for calling no function of the program. Words are separated by
 * blanks; a star at the end matches any further text. If the program uses any of the functions in
 * `unless`, the reason is void. A new function gets into the group whose reason, memory and
 * `unless` hold for it in all supported C libraries, once: the first group with a name counts. */
struct leaf_group {
  enum leaf_library library;
  enum leaf_memory memory;
  const char *reason, *unless, *names;
};

/* When functions run that the C library was given: a set. */
enum leaf_occasion {
  LEAF_AT_EXIT = 1,
  LEAF_AT_QUICK_EXIT = 2,
  LEAF_AT_ABORT = 4, /* handlers of SIGABRT */
  LEAF_AT_ONCE = 8,  /* at once, and only then: the program's only function that is called */
};

/* The function that a function of the C library calls, and when: the argument of that number; or,
 * at LEAF_AT_ABORT, any function, for the signal that is its argument. */
struct leaf_callback {
  enum leaf_library library;
  uint8_t occasions; /* 0: unlisted */
  int8_t argument;
};
struct leaf_callback leaf_callback(const char *name);

/* The occasions for which a function of the C library calls the registered functions; it calls no
 * others of the program's. */
uint8_t leaf_occasions(const char *name);

/* With any of these, more may run at an end than the file registers: libraries may be loaded, or
 * functions found by name; and streams are written then: they may be the program's own, as may
 * printf's conversions. */
#define LEAF_LOADERS "dlopen dlmopen dlsym dlvsym"
#define LEAF_PRINTF_HOOKS                                                                          \
  "register_printf_function register_printf_specifier register_printf_type "                       \
  "register_printf_modifier"
#define LEAF_STREAM_MAKERS "fopencookie funopen pthread_cancel " LEAF_PRINTF_HOOKS

/* How a program has sanitizers call it, when they report something or allocate. */
#define LEAF_SANITIZER_HOOKS                                                                       \
  "__sanitizer_set_death_callback __asan_set_death_callback __asan_set_error_report_callback "     \
  "__msan_set_death_callback __sanitizer_install_malloc_and_free_hooks __sanitizer_malloc_hook "   \
  "__sanitizer_free_hook __sanitizer_report_error_summary __asan_on_error __ubsan_on_report "      \
  "__tsan_on_report __tsan_on_finalize"

/* A program may set a signal handler by these: functions for that purpose, and functions that can
 * make any system call. */
#define LEAF_SIGNAL_FUNCTIONS                                                                      \
  "signal sigaction __sigaction sigset sigvec ssignal sysv_signal __sysv_signal bsd_signal"
#define LEAF_SYSTEM_CALL "syscall"
#define LEAF_HANDLER_SETTERS LEAF_SIGNAL_FUNCTIONS " " LEAF_SYSTEM_CALL

/* And it may make another stack by these: then a jump back may leave this one waiting. */
#define LEAF_STACK_MAKERS "makecontext setcontext swapcontext sigaltstack clone"

extern const struct leaf_group leaf_groups[];
extern const size_t leaf_group_count;

/* The number of a library's group that has a name, or leaf_group_count. */
size_t leaf_group_of(const char *name, enum leaf_library library);

/* Whether a group of LEAF_ALLOCATOR has a name. */
bool leaf_is_allocator(const char *name);

/* Whether a function of the C library never returns. */
bool leaf_function_never_returns(const char *name);

#endif
