/* response.c - see response.h. */
#include "tool/ld/response.h"

#include <fcntl.h>
#include <libiberty/libiberty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  DEEPEST = 100, /* response files in one another: more are a file that names itself */
  MOST = 1000,   /* of one word: files that name others twice each are more */
};

/* Reads a whole file of any kind: a shell's <(...) makes a pipe. The text, NULL if it is empty, is
 * the caller's to free. False, without a problem, for a missing file. */
static bool read_text(const char *path, char **text, struct problem *problem) {
  size_t capacity = 0;
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return false;
  const ssize_t size = getdelim(text, &capacity, 0, file);
  const bool ok = size > 0 || feof(file) || problem_set_errno(problem, path);
  fclose(file);
  if (size <= 0) {
    free(*text);
    *text = NULL;
  }
  return ok;
}

static bool read_nested(const char *path, unsigned depth, unsigned *count, struct words *words,
                        struct problem *problem) {
  char *text = NULL;
  if (depth > DEEPEST)
    return problem_set(problem, "%s: response files name each other", path);
  bool ok = read_text(path, &text, problem);
  if (ok && ++*count > MOST)
    ok = problem_set(problem, "%s: more than %d response files", path, MOST);
  const bool is_empty = text == NULL || text[strspn(text, " \t\n\r\f\v")] == 0;
  char **found = ok && !is_empty ? buildargv(text) : NULL;
  for (char **word = found; ok && word != NULL && *word != NULL; word++)
    if ((*word)[0] != '@' || !read_nested(*word + 1, depth + 1, count, words, problem)) {
      ok = problem->text[0] == 0;
      words_add(words, *word);
    }
  freeargv(found);
  free(text);
  return ok;
}

bool response_read(const char *path, struct words *words, struct problem *problem) {
  unsigned count = 0;
  return read_nested(path, 1, &count, words, problem);
}

bool response_write(const struct words *words, char path[PATH_MAX], struct problem *problem) {
  const char *folder = getenv("TMPDIR");
  if (folder == NULL || folder[0] == 0 || strlen(folder) > PATH_MAX / 2)
    folder = "/tmp";
  snprintf(path, PATH_MAX, "%s/stackpack-ld-XXXXXX", folder);
  const int descriptor = mkostemp(path, O_CLOEXEC);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  const bool is_written = file != NULL && (words->count == 0 || writeargv(words->items, file) == 0);
  if (file != NULL && fclose(file) == 0 && is_written)
    return true;
  problem_set_errno(problem, "a response file");
  if (descriptor >= 0)
    unlink(path);
  return false;
}
