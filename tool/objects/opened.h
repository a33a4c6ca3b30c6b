/* opened.h - opens a program, an object, or an archive of objects, and reads its records. */
#ifndef STACKPACK_OPENED_H
#define STACKPACK_OPENED_H

#include "tool/image/load.h"
#include "tool/print/pieces.h"

struct opened_objects;

struct opened {
  struct program program;         /* of objects: the laid-out file */
  struct pieces pieces;           /* of objects; empty for a program */
  uint64_t size;                  /* of the file, or of an archive's members */
  struct opened_objects *objects; /* NULL: a program */
};

/* Opens a file and reads its records. The caller closes it, also after a failure. Archive members
 * are read if they have stack maps or global roots. */
bool opened_open(struct opened *opened, const char *path, const struct load_options *options,
                 struct problem *problem);
void opened_close(struct opened *opened);

#endif
