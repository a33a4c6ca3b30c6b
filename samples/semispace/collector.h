/* collector.h - the heap as the program around the workload sees it.
 *
 * Two files implement it: collector.c, which moves objects, and plain.c, which hands out memory and
 * never takes it back. The workload itself sees heap.h only.
 */
#ifndef SEMISPACE_COLLECTOR_H
#define SEMISPACE_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* bytes: the size of each of the two spaces. stress: collect at every allocation. */
void heap_open(size_t bytes, bool stress);
void heap_close(void);

/* Runs managed code: workload(size). Managed code is entered nowhere else. */
uint64_t heap_run(uint64_t (*workload)(uint64_t size), uint64_t size);

/* Writes what the collections did, a line for each figure. */
void heap_report(FILE *file);

#endif
