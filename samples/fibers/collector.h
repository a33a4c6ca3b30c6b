/* collector.h - the heap as the program around the fibers sees it.
 *
 * Two files implement it: collector.c, which moves objects, and plain.c, which hands out memory and
 * never takes it back. Managed code sees heap.h only.
 */
#ifndef FIBERS_COLLECTOR_H
#define FIBERS_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* bytes: the size of each of the two spaces. stress: collect at every allocation, and every time
 * that another fiber is about to run. */
void heap_open(size_t bytes, bool stress);
void heap_close(void);

/* Called while no fiber runs. */
void heap_between_fibers(void);

/* Writes what the collections did, a line for each figure. */
void heap_report(FILE *file);

#endif
