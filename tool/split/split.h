/* split.h - gives each section of code a section of stack maps of its own, in an object file. */
#ifndef STACKPACK_SPLIT_H
#define STACKPACK_SPLIT_H

#include "tool/image/problem.h"
#include "tool/split/buffer.h"

#include <elf.h>

/* The result of splitting a file. */
struct split {
  struct buffer file;         /* no bytes: the file stays as it is */
  size_t functions, sections; /* whose maps were split, and into how many sections */
  bool is_uncompiled;         /* there is bitcode that has no stack maps yet */
};

/* Splits the stack maps of a relocatable ELF object. False, and a problem, if it can't be done. */
bool split_object(struct split *split, const uint8_t *bytes, size_t size, struct problem *problem);

/* Splits those of the members of an archive, which becomes an ordinary one if it is thin: the
 * members, read from the files beside `path`, are in it then. */
bool split_archive(struct split *split, const char *path, const uint8_t *bytes, size_t size,
                   struct problem *problem);

/* Whether a file may have stack maps to split, by its first SPLIT_MAGIC_SIZE bytes: an object, an
 * archive, or LLVM's bitcode. */
enum { SPLIT_MAGIC_SIZE = EI_NIDENT + sizeof(Elf64_Half) };
bool split_is_input(const uint8_t bytes[SPLIT_MAGIC_SIZE]);

/* Splits any file. A file that is neither an object nor an archive, has no stack maps, or has only
 * maps that are split already stays as it is. */
bool split_file(struct split *split, const char *path, const uint8_t *bytes, size_t size,
                struct problem *problem);

#endif
