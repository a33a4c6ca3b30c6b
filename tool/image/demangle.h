/* demangle.h - names as their programmers wrote them: of C++ (Itanium ABI) and Rust. */
#ifndef STACKPACK_DEMANGLE_H
#define STACKPACK_DEMANGLE_H

#include <stdbool.h>

/* Prints a linker's name, in its language's form if it has one. */
void demangle_print(const char *name);

/* A name in its language's form, with or without parameters, to be freed; NULL if it has none. */
char *demangle(const char *name, bool with_parameters);

#endif
