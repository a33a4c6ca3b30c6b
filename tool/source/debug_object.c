/* debug_object.c - see debug_object.h.
 *
 * libdwarf's opening call lost a parameter, and its closing one another, when it began to carry a
 * version number (0.2 of 2021); both forms are in use by distributions.
 */
#include "tool/source/debug_object.h"

#include "tool/image/budget.h"
#include "tool/image/debug_names.h"
#include "tool/image/decompress.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- libdwarf ---- */

/* Without a handler, libdwarf ends the program if a call ignores the error. */
static void ignore_error(Dwarf_Error error, Dwarf_Ptr context) {
  (void)error;
  (void)context;
}

static uint64_t size_of(int file) {
  struct stat status;
  return fstat(file, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static int open_dwarf(int file, unsigned group, Dwarf_Debug *dwarf) {
  budget_memory(size_of(file));
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

/* *any: some section was compressed. */
static bool decompress_all(Elf *elf, struct owned *owned, bool *any, struct problem *problem) {
  GElf_Shdr header;
  const char *name;
  for (Elf_Scn *section = NULL;
       (section = debug_names_section(elf, section, ".debug_", &header, &name)) != NULL;)
    if ((header.sh_flags & SHF_COMPRESSED) != 0) {
      *any = true;
      if (!decompress_section(section, name, header.sh_size, owned, problem))
        return false;
    }
  return true;
}

static bool write_at(int file, const void *bytes, uint64_t size, uint64_t place) {
  return pwrite(file, bytes, size, (off_t)place) == (ssize_t)size;
}

/* Writes the file's bytes, then its debug sections as libelf has them, with headers that refer
 * there. */
static bool fill_copy(int copy, Elf *elf, struct problem *problem) {
  GElf_Ehdr file;
  GElf_Shdr header;
  const char *name;
  size_t end;
  const char *bytes = elf_rawfile(elf, &end);
  bool ok = bytes != NULL && gelf_getehdr(elf, &file) != NULL && gelf_getclass(elf) == ELFCLASS64 &&
            file.e_shentsize == sizeof(Elf64_Shdr) && write_at(copy, bytes, end, 0);
  for (Elf_Scn *section = NULL;
       ok && (section = debug_names_section(elf, section, ".debug_", &header, &name)) != NULL;) {
    const Elf_Data *data = elf_getdata(section, NULL);
    header.sh_offset = end;
    ok = data != NULL && write_at(copy, data->d_buf, data->d_size, end) &&
         write_at(copy, &header, sizeof header, file.e_shoff + elf_ndxscn(section) * sizeof header);
    end += ok ? data->d_size : 0;
  }
  return ok || problem_set(problem, "debug sections can't be copied");
}

/* ---- The file of shared entries ---- */

/* The path, to be freed, of the file that dwz moved entries to, and its build ID; NULL if there is
 * none. A relative path starts in the folder of the file with the link. */
static char *shared_path(Elf *elf, const char *path, char id[BUILD_ID_SIZE]) {
  char *real = realpath(path, NULL), *result = NULL;
  const char *name = debug_names_shared(elf, id);
  if (name == NULL || real == NULL ||
      asprintf(&result, "%.*s%s", *name == '/' ? 0 : (int)(strrchr(real, '/') + 1 - real), real,
               name) < 0)
    result = NULL;
  free(real);
  return result;
}

static int readable(int file, struct problem *problem);

/* libdwarf reads texts there itself, once the two are tied. */
static bool open_shared(struct debug_object *object, const char *path, const char *id,
                        struct problem *problem) {
  struct problem ignored = {0};
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file >= 0 && debug_names_has_id(file, id))
    object->shared_file = readable(file, &ignored);
  else if (file >= 0)
    close(file);
  return (object->shared_file >= 0 &&
          open_dwarf(object->shared_file, DW_GROUPNUMBER_ANY, &object->shared) == DW_DLV_OK &&
          dwarf_set_tied_dbg(object->dwarf, object->shared, NULL) == DW_DLV_OK) ||
         problem_set(problem, "a part of the debug information can't be read: %s", path);
}

/* Opens the file of shared entries, if there is one. */
static bool find_shared(struct debug_object *object, const char *path, struct problem *problem) {
  char id[BUILD_ID_SIZE];
  char *shared = shared_path(object->elf, path, id);
  const bool ok = shared == NULL || open_shared(object, shared, id, problem);
  free(shared);
  return ok;
}

/* ---- Opening ---- */

/* The file that libdwarf is to read: the one that was opened, or a copy. */
static int readable(int file, struct problem *problem) {
  bool is_compressed = false;
  struct owned owned = {0};
  elf_version(EV_CURRENT);
  Elf *elf = elf_begin(file, ELF_C_READ, NULL);
  bool ok = elf != NULL && elf_kind(elf) == ELF_K_ELF
                ? decompress_all(elf, &owned, &is_compressed, problem)
                : problem_set(problem, "debug information: not a usable ELF file");
  const int copy = ok && is_compressed ? memfd_create("debug sections", MFD_CLOEXEC) : file;
  if (copy != file)
    ok = copy >= 0 ? fill_copy(copy, elf, problem)
                   : problem_set_errno(problem, "debug sections can't be copied");
  elf_end(elf);
  owned_free(&owned);
  if (copy != file)
    close(file);
  if (ok || copy < 0)
    return copy;
  close(copy);
  return -1;
}

/* Looked for once, as a file may have many sections and many units. */
static void find_lines(struct debug_object *object) {
  GElf_Shdr header;
  const char *name;
  for (Elf_Scn *section = NULL; (section = debug_names_section(object->elf, section, ".debug_line",
                                                               &header, &name)) != NULL;)
    if (strcmp(name, ".debug_line") == 0) {
      const Elf_Data *data = elf_rawdata(section, NULL);
      object->lines_size = data == NULL || data->d_buf == NULL ? 0 : data->d_size;
      object->lines = object->lines_size == 0 ? NULL : data->d_buf;
      return;
    }
}

bool debug_object_open(struct debug_object *object, const char *path, bool is_split,
                       struct problem *problem) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  *object = (struct debug_object){.file = -1, .shared_file = -1};
  if (file < 0)
    return problem_set_errno(problem, "debug information can't be opened");
  object->file = readable(file, problem);
  if (object->file < 0)
    return false;
  object->size = size_of(object->file);
  object->elf = elf_begin(object->file, ELF_C_READ, NULL);
  find_lines(object);
  dwarf_set_reloc_application(0); /* a linker has done that */
  if (open_dwarf(object->file, is_split ? DW_GROUPNUMBER_DWO : DW_GROUPNUMBER_ANY,
                 &object->dwarf) != DW_DLV_OK) {
    object->dwarf = NULL;
    debug_object_close(object);
    return problem_set(problem, "debug information that can't be read");
  }
  object->lists = range_tables_read(object->dwarf);
  if (is_split || find_shared(object, path, problem))
    return true;
  debug_object_close(object);
  return false;
}

void debug_object_close(struct debug_object *object) {
  range_tables_free(&object->lists);
  if (object->dwarf != NULL)
    close_dwarf(object->dwarf);
  if (object->shared != NULL)
    close_dwarf(object->shared);
  elf_end(object->elf);
  if (object->file >= 0)
    close(object->file);
  if (object->shared_file >= 0)
    close(object->shared_file);
  *object = (struct debug_object){.file = -1, .shared_file = -1};
}
