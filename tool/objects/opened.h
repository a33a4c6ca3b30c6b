/* opened.h - a file whose records are read: a program, an object, or an archive of objects. */
#ifndef STACKPACK_OPENED_H
#define STACKPACK_OPENED_H

#include "tool/image/load.h"
#include "tool/print/pieces.h"

struct opened_objects;

struct opened {
  struct program program;         /* of objects: as they are laid out in memory */
  struct pieces pieces;           /* of objects; none of a program */
  uint64_t size;                  /* of the file, or of an archive's members */
  struct opened_objects *objects; /* NULL: a program */
};

/* Opens a file and reads its records: to be closed, even if that fails. Members of an archive
 * without stack maps are left out. */
bool opened_open(struct opened *opened, const char *path, const struct load_options *options,
                 struct problem *problem);
void opened_close(struct opened *opened);

#endif
