/* debug_object.c - see debug_object.h.
 *
 * libdwarf's opening call lost a parameter, and its closing one another, when it began to carry a
 * version number (0.2 of 2021); both forms are in use by distributions.
 */
#include "tool/source/debug_object.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

/* A debug section of the file that is read. */
struct debug_section {
  Elf_Scn *section;
  GElf_Shdr header;
  const char *name; /* what is behind .debug_ or .zdebug_ */
  bool is_gnu;      /* .zdebug_: compressed, in the older form */
};

static bool has_prefix(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Moves on to the next debug section that has bytes; false behind the last one. */
static bool next_section(Elf *elf, struct debug_section *next) {
  size_t names;
  if (elf_getshdrstrndx(elf, &names) != 0)
    return false;
  while ((next->section = elf_nextscn(elf, next->section)) != NULL) {
    if (gelf_getshdr(next->section, &next->header) == NULL || next->header.sh_type == SHT_NOBITS)
      continue;
    const char *name = elf_strptr(elf, names, next->header.sh_name);
    next->is_gnu = name != NULL && has_prefix(name, ".zdebug_");
    if (name == NULL || (!next->is_gnu && !has_prefix(name, ".debug_")))
      continue;
    next->name = strchr(name, '_') + 1;
    return true;
  }
  return false;
}

static bool is_compressed(const struct debug_section *section) {
  return (section->header.sh_flags & SHF_COMPRESSED) != 0;
}

static bool any_compressed(Elf *elf) {
  for (struct debug_section section = {0}; next_section(elf, &section);)
    if (is_compressed(&section) || section.is_gnu)
      return true;
  return false;
}

/* Older versions of libelf don't know Zstandard. Returns the bytes, to be freed. */
static void *decompress_zstd(Elf_Scn *section, size_t *size) {
  Elf64_Chdr header;
  const Elf_Data *raw = elf_rawdata(section, NULL);
  if (raw == NULL || raw->d_size < sizeof header)
    return NULL;
  memcpy(&header, raw->d_buf, sizeof header);
  const uint8_t *bytes = (const uint8_t *)raw->d_buf + sizeof header;
  const size_t compressed = raw->d_size - sizeof header;
  if (ZSTD_getFrameContentSize(bytes, compressed) != header.ch_size)
    return NULL;
  void *result = malloc(header.ch_size + 1);
  *size = header.ch_size;
  if (result != NULL && ZSTD_decompress(result, *size, bytes, compressed) == *size)
    return result;
  free(result);
  return NULL;
}

/* A section's bytes, decompressed, to be freed; NULL if they can't be. */
static void *section_bytes(const struct debug_section *section, size_t *size) {
  GElf_Chdr compression;
  if (is_compressed(section)) {
    if (gelf_getchdr(section->section, &compression) == NULL)
      return NULL;
    if (compression.ch_type == ELFCOMPRESS_ZSTD)
      return decompress_zstd(section->section, size);
    if (elf_compress(section->section, 0, 0) < 0)
      return NULL;
  } else if (section->is_gnu && elf_compress_gnu(section->section, 0, 0) < 0) {
    return NULL;
  }
  const Elf_Data *plain = elf_rawdata(section->section, NULL);
  void *result = plain == NULL ? NULL : malloc(plain->d_size + 1);
  if (result == NULL)
    return NULL;
  *size = plain->d_size;
  if (*size > 0)
    memcpy(result, plain->d_buf, *size);
  return result;
}

/* ---- The file in memory ---- */

enum { SECTIONS_MOST = 64, NAMES_MOST = 2048 };

struct copy {
  Elf *elf;
  void *contents[SECTIONS_MOST]; /* owned */
  size_t count;
  char names[NAMES_MOST]; /* the table of names */
  size_t names_size;
};

/* Adds a section to the file that is written. */
static bool add_section(struct copy *copy, const char *name, uint32_t type, void *bytes,
                        size_t size) {
  GElf_Shdr header;
  Elf_Scn *section = elf_newscn(copy->elf);
  Elf_Data *data = section == NULL ? NULL : elf_newdata(section);
  const size_t room = sizeof copy->names - copy->names_size;
  const int length = snprintf(copy->names + copy->names_size, room, "%s", name);
  if (data == NULL || length < 0 || (size_t)length >= room ||
      gelf_getshdr(section, &header) == NULL)
    return false;
  header.sh_name = (uint32_t)copy->names_size;
  header.sh_type = type;
  copy->names_size += (size_t)length + 1;
  data->d_type = ELF_T_BYTE;
  data->d_version = EV_CURRENT;
  data->d_align = 1;
  data->d_buf = bytes;
  data->d_size = size;
  return gelf_update_shdr(section, &header) != 0;
}

static bool copy_section(struct copy *copy, const struct debug_section *section,
                         struct problem *problem) {
  char name[64];
  size_t size = 0;
  if (copy->count == SECTIONS_MOST)
    return problem_set(problem, "too many debug sections");
  void *bytes = section_bytes(section, &size);
  if (bytes == NULL)
    return problem_set(problem, "section .debug_%.40s can't be decompressed", section->name);
  copy->contents[copy->count++] = bytes;
  snprintf(name, sizeof name, ".debug_%s", section->name);
  return add_section(copy, name, SHT_PROGBITS, bytes, size) ||
         problem_set(problem, "section .debug_%.40s can't be copied", section->name);
}

static bool write_copy(struct copy *copy, Elf *elf, struct problem *problem) {
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) == NULL || gelf_newehdr(copy->elf, ELFCLASS64) == NULL)
    return problem_set(problem, "debug sections can't be copied: %s", elf_errmsg(-1));
  copy->names_size = 1; /* the empty name */
  for (struct debug_section section = {0}; next_section(elf, &section);)
    if (!copy_section(copy, &section, problem))
      return false;
  header.e_phoff = header.e_shoff = header.e_entry = 0;
  header.e_phnum = header.e_shnum = 0;
  header.e_type = ET_EXEC; /* nothing is to be relocated */
  header.e_shstrndx = (uint16_t)(copy->count + 1);
  if (!add_section(copy, ".shstrtab", SHT_STRTAB, copy->names, sizeof copy->names) ||
      gelf_update_ehdr(copy->elf, &header) == 0 || elf_update(copy->elf, ELF_C_WRITE) < 0)
    return problem_set(problem, "debug sections can't be copied: %s", elf_errmsg(-1));
  return true;
}

/* Returns a file in memory; -1, and a problem, if there's none. */
static int decompressed_copy(Elf *elf, struct problem *problem) {
  struct copy copy = {0};
  const int file = memfd_create("debug sections", MFD_CLOEXEC);
  copy.elf = file < 0 ? NULL : elf_begin(file, ELF_C_WRITE, NULL);
  bool ok = copy.elf != NULL || problem_set_errno(problem, "debug sections can't be copied");
  ok = ok && write_copy(&copy, elf, problem);
  elf_end(copy.elf);
  for (size_t i = 0; i < copy.count; i++)
    free(copy.contents[i]);
  if (ok || file < 0)
    return file;
  close(file);
  return -1;
}

/* ---- Opening ---- */

/* The file that libdwarf is to read: the one that was opened, or a copy. */
static int readable(int file, struct problem *problem) {
  elf_version(EV_CURRENT);
  Elf *elf = elf_begin(file, ELF_C_READ, NULL);
  if (elf == NULL || elf_kind(elf) != ELF_K_ELF) {
    elf_end(elf);
    close(file);
    problem_set(problem, "debug information: not a usable ELF file");
    return -1;
  }
  const bool copied = any_compressed(elf);
  const int result = copied ? decompressed_copy(elf, problem) : file;
  elf_end(elf);
  if (copied)
    close(file);
  return result;
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

void debug_object_be_quiet(void) {
  const struct rlimit none = {0, 0};
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  setrlimit(RLIMIT_CORE, &none);
}
