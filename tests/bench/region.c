/* region.c - memory that can be measured: see rival.h. */
#include "rival.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void region_reserve(struct region *region, size_t capacity) {
  *region = (struct region){.capacity = capacity + 4096};
  region->start = mmap(NULL, region->capacity, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region->start == MAP_FAILED) {
    perror("measure");
    exit(2);
  }
}

void *region_take(struct region *region, size_t size, size_t alignment) {
  const size_t start = (region->size + alignment - 1) / alignment * alignment;
  if (start > region->capacity || size > region->capacity - start) {
    fputs("measure: a rival's memory is larger than it said\n", stderr);
    exit(2);
  }
  region->size = start + size;
  return region->start + start;
}

void region_free(struct region *region) {
  if (region->start != NULL)
    munmap(region->start, region->capacity);
  *region = (struct region){0};
}
