/* libraries.c - see libraries.h. */
#include "tool/ld/libraries.h"

#include "tool/ld/arguments.h"
#include "tool/split/archive.h"

#include <assert.h>
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder that a word, or the next one, names for -l; NULL: none. */
static const char *search_folder(const struct words *words, size_t i) {
  assert(i < words->count); /* so that there is another one, or a NULL */
  const char *folder = arguments_value(words->items[i], "library-*path");
  if (folder == NULL)
    folder = arguments_after(words->items[i], "-L");
  const bool follows =
      arguments_is(words->items[i], "library-*path") || (folder != NULL && folder[0] == 0);
  return follows ? words->items[i + 1] : folder;
}

const char *libraries_root(const struct words *words) {
  const char *root = arguments_last(words, "sy*sroot");
  return root != NULL ? root : "";
}

const char *libraries_in_root(const char *path) {
  const char *rest = arguments_after(path, "=");
  return rest != NULL ? rest : arguments_after(path, "$SYSROOT");
}

void libraries_add(struct words *folders, const char *root, const char *folder) {
  const char *in_root = libraries_in_root(folder);
  char path[2 * PATH_MAX];
  snprintf(path, sizeof path, "%s%s", in_root != NULL ? root : "",
           in_root != NULL ? in_root : folder);
  words_add(folders, path);
}

struct words libraries_folders(const struct words *words) {
  struct words folders = {0};
  const char *root = libraries_root(words);
  for (size_t i = 0; i < words->count; i++) {
    const char *folder = search_folder(words, i);
    if (folder != NULL)
      libraries_add(&folders, root, folder);
  }
  return folders;
}

struct words libraries_own(const struct words *words) {
  static const char *const parents[] = {"/usr/local/", "/", "/usr/"};
  static const char *const names[] = {"lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
                                      "lib/riscv64-linux-gnu", "lib64", "lib"};
  struct words folders = {0};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (size_t n = 0; n < sizeof parents / sizeof *parents; n++) {
      char folder[64];
      snprintf(folder, sizeof folder, "=%s%s", parents[n], names[i]);
      libraries_add(&folders, libraries_root(words), folder);
    }
  return folders;
}

char *libraries_in(const char *folder, const char *form, const char *name) {
  char file[PATH_MAX], path[3 * PATH_MAX];
  snprintf(file, sizeof file, form, name);
  snprintf(path, sizeof path, "%s/%s", folder, file);
  return access(path, F_OK) == 0 ? strdup(path) : NULL;
}

/* Passes over an archive's index and its list of names. */
static void skip_special(FILE *file) {
  struct ar_hdr header;
  fseek(file, SARMAG, SEEK_SET);
  while (fread(&header, sizeof header, 1, file) == 1 && archive_is_special(&header)) {
    const long size = strtol(header.ar_size, NULL, 10);
    if (size < 0 || fseek(file, size + size % 2, SEEK_CUR) != 0)
      return;
  }
}

uint32_t libraries_machine(const char *path) {
  uint8_t bytes[EI_NIDENT + 4] = {0};
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return 0;
  size_t count = fread(bytes, 1, sizeof bytes, file);
  if (count >= SARMAG && memcmp(bytes, ARMAG, SARMAG) == 0) {
    skip_special(file);
    count = fread(bytes, 1, sizeof bytes, file);
  }
  fclose(file);
  if (count < sizeof bytes || memcmp(bytes, ELFMAG, SELFMAG) != 0)
    return 0;
  return (uint32_t)bytes[EI_CLASS] << 24 | (uint32_t)bytes[EI_DATA] << 16 |
         (uint32_t)bytes[EI_NIDENT + 2] << 8 | bytes[EI_NIDENT + 3];
}

/* The path of a library in a folder; NULL: it is missing, or for another machine. To be freed. */
static char *find_in(const char *folder, const char *form, const char *name, uint32_t machine) {
  char *path = libraries_in(folder, form, name);
  const uint32_t other = path == NULL || machine == 0 ? 0 : libraries_machine(path);
  if (other == 0 || other == machine)
    return path;
  free(path);
  return NULL;
}

char *libraries_find(const struct words *folders, const char *name, bool is_static,
                     uint32_t machine) {
  const char *exact = arguments_after(name, ":");
  for (size_t i = 0; i < folders->count; i++) {
    const char *folder = folders->items[i];
    char *path = is_static || exact != NULL ? NULL : find_in(folder, "lib%s.so", name, machine);
    if (path == NULL)
      path = exact != NULL ? find_in(folder, "%s", exact, machine)
                           : find_in(folder, "lib%s.a", name, machine);
    if (path != NULL)
      return path;
  }
  return NULL;
}
