/* work.h - how a caller lends a second thread.
 *
 * Nothing here starts threads: this code also runs inside other people's programs. What can be done
 * in two pieces that don't wait for each other takes a function that does both, in whichever way
 * its caller has; the result is the same in each.
 */
#ifndef STACKPACK_WORK_H
#define STACKPACK_WORK_H

typedef void work_piece(void *context);

/* Does both pieces, side by side if it can, and returns when both are done. */
typedef void work_both(work_piece *piece, void *one, work_piece *other_piece, void *other);

#endif
