/* collector.h - the heap's interface for the program around the fibers.
 *
 * Two files implement it: collector.c moves objects; plain.c allocates memory, and frees it at the
 * end. Managed code sees only heap.h.
 */
#ifndef FIBERS_COLLECTOR_H
#define FIBERS_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* bytes: the size of each of the two spaces. stress: collect at every allocation, and before
 * each switch to a fiber. */
void heap_open(size_t bytes, bool stress);
void heap_close(void);

/* Called while no fiber runs. */
void heap_between_fibers(void);

/* Writes the collections' figures, one a line. */
void heap_report(FILE *file);

#endif
