/* plain.c - what the build that is plain C has beside the heap of samples/semispace/plain.c, to
 * which fibers make no difference. */
#include "collector.h"

void heap_between_fibers(void) {}
