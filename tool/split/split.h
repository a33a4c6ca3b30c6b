/* split.h - gives each section of code a section of stack maps of its own, in an object file. */
#ifndef STACKPACK_SPLIT_H
#define STACKPACK_SPLIT_H

#include "tool/image/problem.h"
#include "tool/split/buffer.h"

#include <elf.h>

/* The result of splitting a file. */
struct split {
  struct buffer file;         /* no bytes: the file stays unchanged */
  size_t functions, sections; /* the functions of the split maps, and the new sections */
  bool is_uncompiled;         /* there is bitcode, still without stack maps */
  bool is_fat;                /* there is an object that also has its bitcode */
};

/* Splits the stack maps of a relocatable ELF object. False, and a problem, on failure. */
bool split_object(struct split *split, const uint8_t *bytes, size_t size, struct problem *problem);

/* The same for the members of an archive. A thin one becomes an ordinary one, with the members in
 * it, read from the files beside `path`. */
bool split_archive(struct split *split, const char *path, const uint8_t *bytes, size_t size,
                   struct problem *problem);

/* Whether a file may have stack maps to split, by its first SPLIT_MAGIC_SIZE bytes: an object, an
 * archive, or LLVM's bitcode. */
enum { SPLIT_MAGIC_SIZE = EI_NIDENT + sizeof(Elf64_Half) };
bool split_is_input(const uint8_t bytes[SPLIT_MAGIC_SIZE]);

/* Whether bytes are those of a relocatable ELF object. */
bool split_is_object(const uint8_t *bytes, size_t size);

/* Splits any file. Other files than objects and archives stay unchanged, and so do files without
 * stack maps, or with split ones only. */
bool split_file(struct split *split, const char *path, const uint8_t *bytes, size_t size,
                struct problem *problem);

#endif
