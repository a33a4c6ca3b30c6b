/* demangle.h - names as their programmers wrote them: of C++ (Itanium ABI) and Rust. */
#ifndef STACKPACK_DEMANGLE_H
#define STACKPACK_DEMANGLE_H

#include <stdbool.h>

/* Prints a name that a linker knows, in its language's form if it has one. */
void demangle_print(const char *name);

/* Whether a pattern, as the shell's for files, is for a name: in the linker's form, or in its
 * language's, with or without the parameters. A suffix that compilers add (`.part.0`) may be
 * missing in the pattern. */
bool demangle_matches(const char *pattern, const char *name);

#endif
