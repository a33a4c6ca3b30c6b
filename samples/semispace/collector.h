/* collector.h - the heap's interface for the program around the workload.
 *
 * Two files implement it: collector.c moves objects; plain.c allocates memory, and frees it at the
 * end. The workload sees only heap.h.
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

/* Runs managed code: workload(size). This is the only way into managed code. */
uint64_t heap_run(uint64_t (*workload)(uint64_t size), uint64_t size);

/* Writes the collections' figures, one a line. */
void heap_report(FILE *file);

#endif
