/* start.h - the first step of both programs, stackpack and stackpack-ld. */
#ifndef STACKPACK_START_H
#define STACKPACK_START_H

/* Keeps the numbers of closed standard streams from the files that are opened: a message must not
 * get into one. And a file that grows too large for `ulimit -f` is a failed write from now on, as
 * with a full disk. */
void start_safely(void);

#endif
