/* jit.h - compiles managed functions one by one at run time, and frees them again. */
#ifndef JIT_JIT_H
#define JIT_JIT_H

#include "stackpack.h"

struct jit;

/* A compiled function, with its stack maps. */
struct jit_function;

/* Functions are added to the process. Their IR refers to the program's own functions by name. */
struct jit *jit_open(struct stackpack_process *process);
void jit_close(struct jit *jit);

/* Compiles a module's IR, whose function has the GC strategy: see main.c. */
struct jit_function *jit_compile(struct jit *jit, const char *ir, const char *name);
void *jit_address(const struct jit_function *function);

/* Frees functions. Threads must have stopped calling them. Waits for threads between stackpack_enter
 * and stackpack_leave: they may still be in the functions. */
void jit_free(struct jit *jit, struct jit_function *const *functions, size_t count);

#endif
