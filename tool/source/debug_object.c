/* debug_object.c - see debug_object.h.
 *
 * libdwarf's opening call lost a parameter, and its closing one another, when it began to carry a
 * version number (0.2 of 2021); both forms are in use by distributions.
 */
#include "tool/source/debug_object.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
enum { ELFCOMPRESS_ZSTD = 2 }; /* gABI, "Section Compression" */
#endif

/* ---- libdwarf ---- */

/* Without a handler, libdwarf ends the program where a call doesn't ask for the error. */
static void ignore_error(Dwarf_Error error, Dwarf_Ptr context) {
  (void)error;
  (void)context;
}

static int open_dwarf(int file, unsigned group, Dwarf_Debug *dwarf) {
#ifdef DW_LIBDWARF_VERSION
  return dwarf_init_b(file, group, ignore_error, NULL, dwarf, NULL);
#else
  return dwarf_init_b(file, DW_DLC_READ, group, ignore_error, NULL, dwarf, NULL);
#endif
}

static void close_dwarf(Dwarf_Debug dwarf) {
#ifdef DW_LIBDWARF_VERSION
  dwarf_finish(dwarf);
#else
  dwarf_finish(dwarf, NULL);
#endif
}

/* ---- Compressed sections ---- */

/* Debug sections shrink to a third; a small one of zeros to a hundredth, perhaps. */
enum { RATIO_MOST = 64, SMALL = 1 << 20 };

/* A section of debug information. */
struct debug_section {
  Elf_Scn *section;
  GElf_Shdr header;
  const char *name;
  unsigned compression; /* ELFCOMPRESS_...; 0: none */
  uint64_t size;        /* decompressed, as it says */
};

/* Moves on to the next debug section that has bytes; false after the last one. */
static bool next_section(Elf *elf, struct debug_section *next) {
  size_t names;
  GElf_Chdr compression;
  if (elf_getshdrstrndx(elf, &names) != 0)
    return false;
  while ((next->section = elf_nextscn(elf, next->section)) != NULL) {
    GElf_Shdr *header = gelf_getshdr(next->section, &next->header);
    next->name = header == NULL ? NULL : elf_strptr(elf, names, header->sh_name);
    if (next->name == NULL || header->sh_type == SHT_NOBITS ||
        (strncmp(next->name, ".debug_", 7) != 0 && strncmp(next->name, ".zdebug_", 8) != 0))
      continue;
    next->compression = 0;
    next->size = header->sh_size;
    if ((header->sh_flags & SHF_COMPRESSED) != 0) {
      const bool ok = gelf_getchdr(next->section, &compression) != NULL;
      next->compression = ok ? compression.ch_type : UINT32_MAX;
      next->size = ok ? compression.ch_size : UINT64_MAX;
    } else if (next->name[1] == 'z') { /* "ZLIB", and the size, its high byte first */
      const Elf_Data *raw = elf_rawdata(next->section, NULL);
      if (raw != NULL && raw->d_size >= 12)
        memcpy(&next->size, (const char *)raw->d_buf + 4, sizeof next->size);
      next->size = __builtin_bswap64(next->size);
    }
    return true;
  }
  return false;
}

/* Refuses sizes that can't be. *any: some section must be decompressed here (libdwarf itself
 * decompresses .zdebug_*). */
static bool check_sections(Elf *elf, bool *any, struct problem *problem) {
  *any = false;
  for (struct debug_section section = {0}; next_section(elf, &section);) {
    *any |= section.compression != 0;
    if (section.size > SMALL && section.size / RATIO_MOST > section.header.sh_size)
      return problem_set(problem, "section %.40s can't be decompressed: it says it is too large",
                         section.name);
  }
  return true;
}

/* Older versions of libelf don't know Zstandard. Returns the bytes, to be freed. */
static void *decompress_zstd(Elf_Scn *section, uint64_t size) {
  const Elf_Data *raw = elf_rawdata(section, NULL);
  const size_t skipped = sizeof(Elf64_Chdr);
  void *bytes = raw == NULL || raw->d_size < skipped ? NULL : malloc(size + 1);
  if (bytes != NULL && ZSTD_decompress(bytes, size, (const char *)raw->d_buf + skipped,
                                       raw->d_size - skipped) == size)
    return bytes;
  free(bytes);
  return NULL;
}

static bool write_at(int file, const void *bytes, uint64_t size, uint64_t place) {
  return pwrite(file, bytes, size, (off_t)place) == (ssize_t)size;
}

/* Writes the bytes of a section at the end of the copy, and where they are in its header. */
static bool decompress(int copy, uint64_t *end, const GElf_Ehdr *file,
                       struct debug_section *section) {
  const size_t index = elf_ndxscn(section->section);
  void *own = NULL;
  const void *bytes = NULL;
  if (section->compression == ELFCOMPRESS_ZSTD) {
    bytes = own = decompress_zstd(section->section, section->size);
  } else if (elf_compress(section->section, 0, 0) > 0) {
    const Elf_Data *plain = elf_rawdata(section->section, NULL);
    bytes = plain == NULL || plain->d_size != section->size ? NULL : plain->d_buf;
  }
  section->header.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
  section->header.sh_offset = *end;
  section->header.sh_size = section->size;
  const bool ok = bytes != NULL && write_at(copy, bytes, section->size, *end) &&
                  write_at(copy, &section->header, sizeof section->header,
                           file->e_shoff + index * sizeof section->header);
  *end += section->size;
  free(own);
  return ok;
}

static bool fill_copy(int copy, Elf *elf, struct problem *problem) {
  GElf_Ehdr header;
  size_t size;
  const char *bytes = elf_rawfile(elf, &size);
  uint64_t end = size;
  if (bytes == NULL || gelf_getehdr(elf, &header) == NULL || gelf_getclass(elf) != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr) || !write_at(copy, bytes, size, 0))
    return problem_set(problem, "debug sections can't be copied");
  for (struct debug_section section = {0}; next_section(elf, &section);)
    if (section.compression != 0 && !decompress(copy, &end, &header, &section))
      return problem_set(problem, "section %.40s can't be decompressed", section.name);
  return true;
}

/* ---- Opening ---- */

/* The file that libdwarf is to read: the one that was opened, or a copy. */
static int readable(int file, struct problem *problem) {
  bool is_compressed = false;
  elf_version(EV_CURRENT);
  Elf *elf = elf_begin(file, ELF_C_READ, NULL);
  bool ok = (elf != NULL && elf_kind(elf) == ELF_K_ELF) ||
            problem_set(problem, "debug information: not a usable ELF file");
  ok = ok && check_sections(elf, &is_compressed, problem);
  const int copy = ok && is_compressed ? memfd_create("debug sections", MFD_CLOEXEC) : file;
  if (copy != file)
    ok = copy >= 0 ? fill_copy(copy, elf, problem)
                   : problem_set_errno(problem, "debug sections can't be copied");
  elf_end(elf);
  if (copy != file)
    close(file);
  if (ok || copy < 0)
    return copy;
  close(copy);
  return -1;
}

bool debug_object_open(struct debug_object *object, const char *path, bool is_split,
                       struct problem *problem) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  *object = (struct debug_object){.file = -1};
  if (file < 0)
    return problem_set_errno(problem, "can't be opened");
  object->file = readable(file, problem);
  if (object->file < 0)
    return false;
  dwarf_set_reloc_application(0); /* a linker has done that */
  if (open_dwarf(object->file, is_split ? DW_GROUPNUMBER_DWO : DW_GROUPNUMBER_ANY,
                 &object->dwarf) == DW_DLV_OK)
    return true;
  object->dwarf = NULL;
  debug_object_close(object);
  return problem_set(problem, "debug information that can't be read");
}

void debug_object_close(struct debug_object *object) {
  if (object->dwarf != NULL)
    close_dwarf(object->dwarf);
  if (object->file >= 0)
    close(object->file);
  *object = (struct debug_object){.file = -1};
}
