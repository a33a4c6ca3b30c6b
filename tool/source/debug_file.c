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

/* A stripped file may have empty sections of debug information. */
static bool has_debug(const struct image *image) {
  static const char *const names[] = {".debug_line", ".zdebug_line", ".debug_info", ".zdebug_info"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const struct image_section *section = image_section(image, names[i]);
    if (section != NULL && section->header.sh_type != SHT_NOBITS && section->header.sh_size > 0)
      return true;
  }
  return false;
}

/* ---- Candidates ---- */

/* The links from a program to its debug file. */
struct tie {
  char id[BUILD_ID_SIZE]; /* empty: none */
  const char *link;       /* a name without a folder; NULL: none */
  uint32_t checksum;      /* of the bytes of the file that is linked to */
};

static bool has_build_id(const char *path, const struct tie *tie) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool has_id = file >= 0 && debug_names_has_id(file, tie->id);
  if (file >= 0)
    close(file);
  return has_id;
}

static bool has_checksum(const char *path, const struct tie *tie) {
  struct problem problem = {0};
  struct input input;
  if (!input_open(&input, path, &problem))
    return false;
  const uint32_t actual = (uint32_t)dwarf_basic_crc32(input.bytes, input.size, 0);
  input_close(&input);
  return actual == tie->checksum;
}

/* Takes the path of a candidate: returns it if the file is there and the program's, else frees
 * it. */
static char *try(char *path, bool by_link, const struct tie *tie, struct problem *problem) {
  const bool is_there = access(path, R_OK) == 0;
  if (is_there && (by_link ? has_checksum : has_build_id)(path, tie))
    return path;
  if (is_there)
    problem_set(problem,
                by_link ? "no debug information: %s isn't what .gnu_debuglink is for (checksum)"
                        : "no debug information: %s has another build ID",
                path);
  free(path);
  return NULL;
}

/* FOLDER/.build-id/ab/cdef0123.debug */
static char *try_id(const char *folder, const struct tie *tie, struct problem *problem) {
  char *path;
  return asprintf(&path, "%s/.build-id/%.2s/%s.debug", folder, tie->id, tie->id + 2) < 0
             ? NULL
             : try(path, false, tie, problem);
}

static char *try_link(const char *folder, const char *subfolder, const struct tie *tie,
                      struct problem *problem) {
  char *path;
  return asprintf(&path, "%s%s/%s", folder, subfolder, tie->link) < 0
             ? NULL
             : try(path, true, tie, problem);
}

char *debug_file_find(const struct image *image, const char *path,
                      const struct debug_folders *folders, struct problem *problem) {
  struct tie tie;
  char *found = NULL;
  const char *folder;
  if (has_debug(image))
    return strdup(image->debug_path != NULL ? image->debug_path : path);
  debug_names_build_id(image->elf, tie.id);
  tie.link = debug_names_link(image->elf, &tie.checksum);
  for (size_t i = 0; strlen(tie.id) > 2 && !found && (folder = folder_of(folders, i)); i++)
    found = try_id(folder, &tie, problem);
  char *program = found != NULL || tie.link == NULL ? NULL : realpath(path, NULL);
  if (program != NULL) {
    *strrchr(program, '/') = 0;
    found = try_link(program, "", &tie, problem);
    if (found == NULL)
      found = try_link(program, "/.debug", &tie, problem);
    for (size_t i = 0; !found && (folder = folder_of(folders, i)); i++)
      found = try_link(folder, program, &tie, problem);
    free(program);
  }
  if (found == NULL)
    problem_set(problem, "no debug information");
  return found;
}
