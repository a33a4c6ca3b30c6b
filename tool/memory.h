/* memory.h - the command ends where memory runs out: see memory.c. */
#ifndef STACKPACK_MEMORY_H
#define STACKPACK_MEMORY_H

/* To be called before anything is allocated. */
void memory_begin(void);

#endif
