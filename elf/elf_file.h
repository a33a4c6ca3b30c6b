/* elf_file.h - reads parts of a file into memory, each at its place.
 *
 * A mapped file is unsafe: when another process truncates it, a read of the mapping ends the
 * program, and when it is overwritten, bytes may change after they were checked. So the parts that
 * are needed are read into memory. This memory is as large as the file, and a struct elf_image over
 * it is used as if all had been read; the other parts take no memory.
 *
 * One part is mapped: a packed table, as its user opens it in no more time for more records, and
 * each look-up checks the bytes that it reads.
 */
#ifndef STACKPACK_ELF_FILE_H
#define STACKPACK_ELF_FILE_H

#include "elf/elf_image.h"

#include <sys/stat.h>

struct elf_file {
  struct elf_image image; /* zeros in unread parts */
  void *memory;           /* image.size bytes, from mmap */
  int descriptor;
  struct stat status;
  uint64_t fetched; /* bytes */
};

/* Opens a file, and reads no part of it yet. All return 0 or an error number; here EISDIR or
 * ENOEXEC: another kind than a regular file; ENODATA: an empty one. */
int elf_file_begin(struct elf_file *file, const char *path);

/* Opens a file and reads its header and program headers. ENOEXEC: a file that elf_image_open
 * rejects. */
int elf_file_open(struct elf_file *file, const char *path);

/* Reads the part of the file from `offset` on, up to the file's end. A file whose parts overlap so
 * much that more than four times its size would be read is ENOEXEC. */
int elf_file_fetch(struct elf_file *file, uint64_t offset, uint64_t size);

/* Maps the same part in place of memory. */
int elf_file_map(struct elf_file *file, uint64_t offset, uint64_t size);

/* Reads the segments that are loaded; the section headers and their names; the symbol tables. */
int elf_file_fetch_loaded(struct elf_file *file);
int elf_file_fetch_sections(struct elf_file *file);
int elf_file_fetch_symbols(struct elf_file *file);

/* Whether a file is the same, and unchanged. */
static inline bool elf_file_is_unchanged(const struct stat *before, const struct stat *now) {
  return now->st_dev == before->st_dev && now->st_ino == before->st_ino &&
         now->st_size == before->st_size && now->st_mtim.tv_sec == before->st_mtim.tv_sec &&
         now->st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* Ends reading: ESTALE if the file has changed since it was opened. The memory stays. */
int elf_file_end(struct elf_file *file);

/* Gives back all that is left. */
void elf_file_close(struct elf_file *file);

#endif
