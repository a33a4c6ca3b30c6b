/* plain.c - completes the heap of the plain C build, samples/semispace/plain.c, for fibers. */
#include "collector.h"

void heap_between_fibers(void) {}
