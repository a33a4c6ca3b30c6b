/* bounds.h - where a stack lies. A walk doesn't look beyond, whatever it finds. */
#ifndef SAMPLES_BOUNDS_H
#define SAMPLES_BOUNDS_H

#include "stackpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bounds of the calling thread's stack. */
struct stackpack_stack bounds_of_thread(void);

#ifdef __cplusplus
}
#endif
#endif
