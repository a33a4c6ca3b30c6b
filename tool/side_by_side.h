/* side_by_side.h - does two pieces of work in two threads. */
#ifndef STACKPACK_SIDE_BY_SIDE_H
#define STACKPACK_SIDE_BY_SIDE_H

#include "../format/packed_write.h"

/* A packed_both. Where no thread is to be had, one piece comes after the other. */
void side_by_side(packed_work *work, void *one, packed_work *other_work, void *other);

#endif
