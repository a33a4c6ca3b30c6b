/* paths.c - see paths.h. */
#include "tool/source/paths.h"

#include "format/array.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void path_normalize(char *path) {
  char *const start = path + (*path == '/');
  char *out = start, *root = start; /* root: after each "..", which can't be taken out */
  for (const char *in = start; *in != 0;) {
    const size_t length = strcspn(in, "/");
    assert(start <= root && root <= out && out <= in);
    const bool is_up = length == 2 && in[0] == '.' && in[1] == '.';
    if (is_up && out > root) {
      do
        out--;
      while (out > root && *out != '/');
    } else if (length > 0 && !(length == 1 && *in == '.') && !(is_up && start > path)) {
      if (out > start)
        *out++ = '/';
      memmove(out, in, length);
      out += length;
      root = is_up ? out : root;
    }
    in += length;
    in += *in == '/';
  }
  *out = 0;
}

bool prefix_maps_add(void *maps, const char *value, struct problem *problem) {
  struct prefix_maps *to = maps;
  const char *equals = strchr(value, '=');
  if (equals == NULL)
    return problem_set(problem, "--source-prefix-map is OLD=NEW, not '%.100s'", value);
  return ARRAY_ADD(to->items, to->count, to->capacity,
                   (struct prefix_map){value, equals + 1, (size_t)(equals - value)});
}

/* ---- Relative paths ---- */

/* The length of a path's first parts that a folder begins with, too. */
static size_t common_parts(const char *folder, const char *path) {
  size_t common = 0;
  for (size_t i = 0;; i++) {
    const bool ends = folder[i] == 0 || folder[i] == '/';
    if (ends && path[i] == '/' && i > 0)
      common = i + 1;
    if (folder[i] == 0 || folder[i] != path[i])
      return common;
  }
}

/* The way from a folder to a path beside or below it, both normalized. */
static char *relative(const char *folder, const char *path) {
  const size_t common = common_parts(folder, path);
  size_t ups = 0;
  if (common == 0)
    return strdup(path);
  for (const char *c = folder + (common < strlen(folder) ? common : strlen(folder)); *c != 0; c++)
    ups += c[1] == '/' || c[1] == 0;
  char *result = malloc(3 * ups + strlen(path + common) + 1);
  for (size_t i = 0; i < ups; i++)
    memcpy(result + 3 * i, "../", 3);
  strcpy(result + 3 * ups, path + common);
  return result;
}

char *path_of_source(const struct prefix_maps *maps, const char *folder, const char *path) {
  char *from = strdup(folder == NULL ? "" : folder), *full = strdup(path), *result;
  path_normalize(from);
  path_normalize(full);
  const struct prefix_map *map = NULL;
  for (size_t i = 0; i < maps->count; i++)
    if (strncmp(full, maps->items[i].old, maps->items[i].length) == 0)
      map = &maps->items[i];
  if (map == NULL)
    result = relative(from, full);
  else if (asprintf(&result, "%s%s", map->new, full + map->length) < 0)
    result = NULL;
  free(from);
  free(full);
  return result;
}
