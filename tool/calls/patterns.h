/* patterns.h - the names that match a pattern of the user's.
 *
 * A function's symbol can be named in the linker's form or in its language's, and compilers hang
 * suffixes on to the names of parts and copies. With the pattern `rt::collect`, say:
 *
 *     _ZN2rt7collectEv                    rt::collect()
 *     _ZN2rt7collectIiEEvi.constprop.0    void rt::collect<int>(int)
 *     _RNvXs_C2rtNtB4_4HeapNtB4_2rt7collect   <rt::Heap as rt>::collect
 *
 * There are two readings. The wide one is for GC entries, all of whose parts must be found: any
 * suffix marks a part. The narrow one is for functions with a promise of the user's: only a certain
 * copy belongs to the function. By a third one, also `f.1` may be meant by `f`: such a name is of
 * another function, or of one of several that the source calls `f`.
 */
#ifndef STACKPACK_PATTERNS_H
#define STACKPACK_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

enum pattern_reading { PATTERN_NARROW, PATTERN_NUMBERED, PATTERN_WIDE };

/* A symbol's name in its forms. */
enum { PATTERN_FORMS = 6 };
struct pattern_name {
  const char *text; /* as the linker has it; borrowed */
  char *own;        /* without the suffixes of copies; owned */
  char *target;     /* of a thunk or vector variant: the function's name; owned, or NULL */
  char *forms[PATTERN_FORMS]; /* in its language; owned */
  size_t form_count;
  bool has_strange_suffix; /* a thunk, or with a suffix that may be another than a copy's */
  bool is_numbered;        /* it has a plain number among its suffixes */
  bool is_unreadable;      /* of C++ or Rust, in a form that the demangler can't read */
};
void pattern_name_open(struct pattern_name *name, const char *text);
void pattern_name_close(struct pattern_name *name);

/* Whether a pattern is free of wildcards (the shell's for files). */
bool pattern_is_plain(const char *pattern);

/* Whether a pattern means a name. */
bool pattern_means(const char *pattern, const struct pattern_name *name,
                   enum pattern_reading reading);

/* Whether a pattern may mean a name that the demangler can't read: it contains the pattern's last
 * word. */
bool pattern_may_mean(const char *pattern, const struct pattern_name *name);

/* The length of the own name of the function that a name's is a copy of. */
size_t pattern_function_length(const char *name);

#endif
