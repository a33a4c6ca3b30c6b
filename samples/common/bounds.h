/* bounds.h - the bounds of a stack. A walk stays within them, even on a damaged stack. */
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
