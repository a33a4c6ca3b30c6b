/* libraries.c - see libraries.h. */
#include "tool/ld/libraries.h"

#include "tool/ld/arguments.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder that a word, or the next one, names for -l; NULL: none. */
static const char *search_folder(const struct words *words, size_t i) {
  const char *folder = arguments_value(words->items[i], "library-path");
  if (folder == NULL)
    folder = arguments_after(words->items[i], "-L");
  const bool follows =
      arguments_is(words->items[i], "library-path") || (folder != NULL && folder[0] == 0);
  return follows ? words->items[i + 1] : folder;
}

struct words libraries_folders(const struct words *words) {
  struct words folders = {0};
  const char *root = "";
  char path[2 * PATH_MAX];
  for (size_t i = 0; i < words->count; i++) {
    const char *value = arguments_value(words->items[i], "sysroot");
    if (value == NULL && arguments_is(words->items[i], "sysroot"))
      value = words->items[i + 1];
    root = value != NULL ? value : root;
  }
  for (size_t i = 0; i < words->count; i++) {
    const char *folder = search_folder(words, i);
    const char *in_root = folder == NULL ? NULL : arguments_after(folder, "=");
    if (folder == NULL)
      continue;
    snprintf(path, sizeof path, "%s%s", in_root != NULL ? root : "",
             in_root != NULL ? in_root : folder);
    words_add(&folders, path);
  }
  return folders;
}

char *libraries_in(const char *folder, const char *form, const char *name) {
  char file[PATH_MAX], path[3 * PATH_MAX];
  snprintf(file, sizeof file, form, name);
  snprintf(path, sizeof path, "%s/%s", folder, file);
  return access(path, F_OK) == 0 ? strdup(path) : NULL;
}

char *libraries_find(const struct words *folders, const char *name, bool is_static) {
  const char *exact = arguments_after(name, ":");
  for (size_t i = 0; i < folders->count; i++) {
    const char *folder = folders->items[i];
    char *shared = is_static || exact != NULL ? NULL : libraries_in(folder, "lib%s.so", name);
    if (shared != NULL)
      return shared;
    char *path =
        exact != NULL ? libraries_in(folder, "%s", exact) : libraries_in(folder, "lib%s.a", name);
    if (path != NULL)
      return path;
  }
  return NULL;
}
