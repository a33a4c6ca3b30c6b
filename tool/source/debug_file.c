/* debug_file.c - see debug_file.h. */
#include "tool/source/debug_file.h"

#include <fcntl.h>
#include <libdwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of a number; NULL after the last one. */
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

static bool has_build_id(const char *path, const char *expected) {
  char text[BUILD_ID_SIZE];
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  Elf *elf = file < 0 ? NULL : elf_begin(file, ELF_C_READ, NULL);
  debug_names_build_id(elf, text);
  elf_end(elf);
  if (file >= 0)
    close(file);
  return strcmp(text, expected) == 0;
}

/* FOLDER/.build-id/ab/cdef0123.debug, to be freed; NULL if it isn't there. */
static char *file_of_id(const char *id, const char *folder, struct problem *problem) {
  char *path;
  if (asprintf(&path, "%s/.build-id/%.2s/%s.debug", folder, id, id + 2) < 0)
    return NULL;
  const bool is_there = access(path, R_OK) == 0;
  if (is_there && has_build_id(path, id))
    return path;
  if (is_there)
    problem_set(problem, "no debug information: %s has another build ID", path);
  free(path);
  return NULL;
}

/* ---- By .gnu_debuglink ---- */

static bool has_checksum(const char *path, uint32_t checksum) {
  struct problem problem = {0};
  struct input input;
  if (!input_open(&input, path, &problem))
    return false;
  const uint32_t actual = (uint32_t)dwarf_basic_crc32(input.bytes, input.size, 0);
  input_close(&input);
  return actual == checksum;
}

/* The contents of .gnu_debuglink: a name without a folder, and a checksum of that file's bytes. */
struct link {
  const char *name;
  uint32_t checksum;
};

static char *file_of_link(const struct link *link, const char *folder, const char *subfolder,
                          struct problem *problem) {
  char *path;
  if (asprintf(&path, "%s%s/%s", folder, subfolder, link->name) < 0)
    return NULL;
  const bool is_there = access(path, R_OK) == 0;
  if (is_there && has_checksum(path, link->checksum))
    return path;
  if (is_there)
    problem_set(problem, "no debug information: %s isn't what .gnu_debuglink is for (checksum)",
                path);
  free(path);
  return NULL;
}

/* Beside the program, in .debug there, and in a tree of debug files. */
static char *find_link(const struct image *image, const char *path,
                       const struct debug_folders *folders, struct problem *problem) {
  struct link link;
  link.name = debug_names_link(image->elf, &link.checksum);
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
  char id[BUILD_ID_SIZE];
  const char *folder;
  char *found = NULL;
  debug_names_build_id(image->elf, id);
  for (size_t i = 0; strlen(id) > 2 && found == NULL && (folder = folder_of(folders, i)) != NULL;
       i++)
    found = file_of_id(id, folder, problem);
  if (found == NULL)
    found = find_link(image, path, folders, problem);
  if (found == NULL)
    problem_set(problem, "no debug information");
  return found;
}
