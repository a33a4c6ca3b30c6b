/* side_by_side.h - does two pieces of work in two threads. */
#ifndef STACKPACK_SIDE_BY_SIDE_H
#define STACKPACK_SIDE_BY_SIDE_H

#include "format/work.h"

/* A work_both. Where no thread is to be had, one piece comes after the other. */
void side_by_side(work_piece *piece, void *one, work_piece *other_piece, void *other);

#endif
