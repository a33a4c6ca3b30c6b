/* debug_file.c - see debug_file.h. */
#include "tool/source/debug_file.h"

#include "format/array.h"

#include <fcntl.h>
#include <libdwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool debug_folders_add(struct debug_folders *folders, const char *path) {
  if (!array_make_room((void **)&folders->paths, &folders->capacity, folders->count + 1,
                       sizeof *folders->paths))
    return false;
  folders->paths[folders->count++] = path;
  return true;
}

void debug_folders_close(struct debug_folders *folders) {
  free(folders->paths);
  *folders = (struct debug_folders){0};
}

/* The folder of a number; NULL behind the last one. */
static const char *folder_of(const struct debug_folders *folders, size_t number) {
  if (number < folders->count)
    return folders->paths[number];
  return number == folders->count ? DEBUG_FOLDER : NULL;
}

/* A file that strip left without debug information may have its sections without bytes. */
static bool has_debug(const struct image *image) {
  static const char *const names[] = {".debug_line", ".zdebug_line", ".debug_info", ".zdebug_info"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const struct image_section *section = image_section(image, names[i]);
    if (section != NULL && section->header.sh_type != SHT_NOBITS && section->header.sh_size > 0)
      return true;
  }
  return false;
}

/* ---- By the build ID ---- */

struct build_id {
  uint8_t bytes[64];
  size_t size; /* 0: none */
};

static void find_note(Elf_Data *data, struct build_id *id) {
  GElf_Nhdr note;
  size_t name, content, next = 0;
  while (data != NULL && (next = gelf_getnote(data, next, &note, &name, &content)) > 0)
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        memcmp((const char *)data->d_buf + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 &&
        note.n_descsz >= 2 && note.n_descsz <= sizeof id->bytes) {
      id->size = note.n_descsz;
      memcpy(id->bytes, (const char *)data->d_buf + content, id->size);
      return;
    }
}

static struct build_id build_id_of(Elf *elf) {
  struct build_id id = {0};
  GElf_Shdr header;
  GElf_Phdr segment;
  size_t segments = 0;
  for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL && id.size == 0;)
    if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_NOTE)
      find_note(elf_getdata(section, NULL), &id);
  elf_getphdrnum(elf, &segments);
  for (size_t i = 0; i < segments && id.size == 0; i++)
    if (gelf_getphdr(elf, (int)i, &segment) != NULL && segment.p_type == PT_NOTE)
      find_note(elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz,
                                     segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
                &id);
  return id;
}

static bool has_build_id(const char *path, const struct build_id *expected) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return false;
  Elf *elf = elf_begin(file, ELF_C_READ, NULL);
  const struct build_id id = build_id_of(elf);
  elf_end(elf);
  close(file);
  return id.size == expected->size && memcmp(id.bytes, expected->bytes, id.size) == 0;
}

/* FOLDER/.build-id/ab/cdef0123.debug. NULL, and no problem, without memory, too. */
static char *file_of_id(const struct build_id *id, const char *folder, struct problem *problem) {
  char text[2 * sizeof id->bytes + 1], *path;
  for (size_t i = 1; i < id->size; i++)
    snprintf(text + 2 * (i - 1), 3, "%02x", id->bytes[i]);
  if (asprintf(&path, "%s/.build-id/%02x/%s.debug", folder, id->bytes[0], text) < 0)
    return NULL;
  if (access(path, R_OK) == 0) {
    if (has_build_id(path, id))
      return path;
    problem_set(problem, "no debug information: %s has another build ID", path);
  }
  free(path);
  return NULL;
}

/* ---- By .gnu_debuglink ---- */

struct link {
  const char *name; /* without a folder; NULL: none */
  uint32_t checksum;
};

/* The section is a name, and, at the next multiple of four, a checksum of the file's bytes. */
static struct link link_of(const struct image *image) {
  const struct image_section *section = image_section(image, ".gnu_debuglink");
  struct link link = {0};
  if (section == NULL || section->header.sh_type == SHT_NOBITS)
    return link;
  const char *bytes = (const char *)image->bytes + section->header.sh_offset;
  const size_t length = strnlen(bytes, section->header.sh_size);
  const size_t at = (length + 4) & ~(size_t)3;
  if (length == 0 || at + sizeof link.checksum > section->header.sh_size ||
      memchr(bytes, '/', length) != NULL)
    return link;
  memcpy(&link.checksum, bytes + at, sizeof link.checksum);
  link.name = bytes;
  return link;
}

static bool has_checksum(const char *path, uint32_t checksum) {
  struct problem problem = {0};
  struct input input;
  if (!input_open(&input, path, &problem))
    return false;
  const uint32_t actual = (uint32_t)dwarf_basic_crc32(input.bytes, input.size, 0);
  input_close(&input);
  return actual == checksum;
}

static char *file_of_link(const struct link *link, const char *folder, const char *subfolder,
                          struct problem *problem) {
  char *path;
  if (asprintf(&path, "%s%s/%s", folder, subfolder, link->name) < 0)
    return NULL;
  if (access(path, R_OK) == 0) {
    if (has_checksum(path, link->checksum))
      return path;
    problem_set(problem, "no debug information: %s isn't what .gnu_debuglink is for (checksum)",
                path);
  }
  free(path);
  return NULL;
}

/* Beside the program, in .debug there, and in a tree of debug files. */
static char *find_link(const struct image *image, const char *path,
                       const struct debug_folders *folders, struct problem *problem) {
  const struct link link = link_of(image);
  char *program = link.name == NULL ? NULL : realpath(path, NULL);
  if (program == NULL)
    return NULL;
  *strrchr(program, '/') = 0;
  char *found = file_of_link(&link, program, "", problem);
  if (found == NULL)
    found = file_of_link(&link, program, "/.debug", problem);
  const char *folder;
  for (size_t i = 0; found == NULL && (folder = folder_of(folders, i)) != NULL; i++)
    found = file_of_link(&link, folder, program, problem);
  free(program);
  return found;
}

char *debug_file_find(const struct image *image, const char *path,
                      const struct debug_folders *folders, struct problem *problem) {
  if (has_debug(image))
    return strdup(path);
  const struct build_id id = build_id_of(image->elf);
  const char *folder;
  char *found = NULL;
  for (size_t i = 0; id.size > 0 && found == NULL && (folder = folder_of(folders, i)) != NULL; i++)
    found = file_of_id(&id, folder, problem);
  if (found == NULL)
    found = find_link(image, path, folders, problem);
  if (found == NULL)
    problem_set(problem, "no debug information");
  return found;
}
