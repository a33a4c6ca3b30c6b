/* roots.h - the roots: references on the threads' stacks and in global variables. */
#ifndef THREADS_ROOTS_H
#define THREADS_ROOTS_H

#include "copier.h"
#include "world.h"

/* Opens the program's stack maps: once, at start-up. */
void roots_open(void);
void roots_close(void);

/* Forwards every reference on the stack of a waiting thread. */
void roots_of_thread(struct thread *thread, struct copier *copier);

/* Forwards every reference in a global root. */
void roots_of_globals(struct copier *copier);

#endif
