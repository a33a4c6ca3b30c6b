/* jit.h - compiles managed functions one by one at run time, and frees them again. */
#ifndef JIT_JIT_H
#define JIT_JIT_H

#include "stackpack.h"

struct jit;

/* A function that was compiled, with its stack maps. */
struct jit_function;

/* The process gets the functions' code. Names in their IR are found in the program itself. */
struct jit *jit_open(struct stackpack_process *process);
void jit_close(struct jit *jit);

/* Compiles the IR of a module whose function has the GC strategy: see main.c. */
struct jit_function *jit_compile(struct jit *jit, const char *ir, const char *name);
void *jit_address(const struct jit_function *function);

/* Frees functions that no thread will call any more. It waits for those between stackpack_enter and
 * stackpack_leave: they may be in them. */
void jit_free(struct jit *jit, struct jit_function *const *functions, size_t count);

#endif
