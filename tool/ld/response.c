/* response.c - see response.h. */
#include "tool/ld/response.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEEPEST = 100 }; /* response files in one another: more are a file that names itself */

/* Reads a whole file, of whatever kind: a pipe is one that a shell's <(...) makes. The text is the
 * caller's to free. */
static bool read_text(const char *path, char **text, size_t *size, struct problem *problem) {
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return false;
  FILE *memory = open_memstream(text, size);
  char block[4096];
  size_t count = 0;
  bool ok = memory != NULL;
  while (ok && (count = fread(block, 1, sizeof block, file)) > 0)
    ok = fwrite(block, 1, count, memory) == count;
  if (ferror(file) || !ok)
    problem_set_errno(problem, path);
  fclose(file);
  if (memory != NULL && fclose(memory) != 0)
    problem_set_errno(problem, path);
  return true;
}

static bool is_blank(char c) { return c != 0 && strchr(" \t\n\r\f\v", c) != NULL; }

/* Takes the word at *text out of its quotes, into `word`, which is as large as the text. Moves
 * *text behind it. */
static size_t unquote(const char **text, char *word) {
  size_t length = 0;
  char quote = 0;
  const char *at = *text;
  for (; *at != 0 && (quote != 0 || !is_blank(*at)); at++) {
    if (*at == '\\' && at[1] != 0)
      word[length++] = *++at;
    else if (*at == quote)
      quote = 0;
    else if (quote == 0 && (*at == '\'' || *at == '"'))
      quote = *at;
    else
      word[length++] = *at;
  }
  *text = at;
  word[length] = 0;
  return length;
}

static bool read_nested(const char *path, unsigned depth, struct words *words,
                        struct problem *problem);

static bool add_word(const char *word, unsigned depth, struct words *words,
                     struct problem *problem) {
  if (word[0] == '@' && read_nested(word + 1, depth + 1, words, problem))
    return true;
  if (problem->text[0] != 0)
    return false;
  return words_add_text(words, word) || problem_set_errno(problem, "a response file");
}

static bool read_nested(const char *path, unsigned depth, struct words *words,
                        struct problem *problem) {
  char *text = NULL;
  size_t size = 0;
  if (depth > DEEPEST)
    return problem_set(problem, "%s: response files name each other", path);
  if (!read_text(path, &text, &size, problem)) {
    free(text);
    return false;
  }
  char *word = malloc(size + 1);
  bool ok =
      problem->text[0] == 0 && (word != NULL || problem_set_errno(problem, "a response file"));
  for (const char *at = text; ok;) {
    while (is_blank(*at))
      at++;
    if (*at == 0)
      break;
    unquote(&at, word);
    ok = add_word(word, depth, words, problem);
  }
  free(word);
  free(text);
  return ok;
}

bool response_read(const char *path, struct words *words, struct problem *problem) {
  return read_nested(path, 1, words, problem);
}

static void write_quoted(FILE *file, const char *word) {
  if (*word == 0)
    fputs("''", file);
  for (; *word != 0; word++) {
    if (is_blank(*word) || strchr("'\"\\", *word) != NULL)
      fputc('\\', file);
    fputc(*word, file);
  }
  fputc('\n', file);
}

int response_write(const struct words *words, struct problem *problem) {
  const int descriptor = memfd_create("stackpack-ld", 0); /* the linker is to inherit it */
  const int copy = descriptor < 0 ? -1 : dup(descriptor);
  FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
  bool ok = file != NULL;
  for (size_t i = 0; ok && i < words->count; i++)
    write_quoted(file, words->items[i]);
  if (file != NULL)
    ok = !ferror(file) && fclose(file) == 0;
  else if (copy >= 0)
    close(copy);
  if (ok)
    return descriptor;
  problem_set_errno(problem, "a response file");
  if (descriptor >= 0)
    close(descriptor);
  return -1;
}
