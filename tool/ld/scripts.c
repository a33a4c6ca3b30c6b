/* scripts.c - see scripts.h.
 *
 * Many a libNAME.so or libNAME.a is a text: GROUP ( libNAME.so.1 AS_NEEDED ( -lother ) ). The names
 * are the words in the parentheses of such commands, between blanks or commas, perhaps in quotation
 * marks; and the word after INCLUDE. (ld(1), "Commands Dealing with Files".) GNU ld also reads a
 * file whose name is before the parenthesis of its sections: main.o (.text). ("Input Section
 * Basics"; so any word there counts, as most name no file.)
 */
#include "tool/ld/scripts.h"

#include "tool/image/input.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\n\f\v,;";

/* The text of a file; NULL: it is none, or longer than scripts are. To be freed. */
static char *read_text(const char *path) {
  enum { SIZE_MOST = 1 << 20 };
  struct problem ignored = {0};
  struct stat status;
  struct input input;
  if (stat(path, &status) != 0 || status.st_size > SIZE_MOST || !input_open(&input, path, &ignored))
    return NULL;
  char *text = strndup((const char *)input.bytes, input.size);
  if (strlen(text) != input.size) {
    free(text);
    text = NULL;
  }
  input_close(&input);
  return text;
}

/* Passes over blanks and comments. */
static const char *skip(const char *at) {
  for (;;) {
    at += strspn(at, blanks);
    const bool is_line = *at == '#';
    if (!is_line && strncmp(at, "/*", 2) != 0)
      return at;
    const char *end = is_line ? strchr(at, '\n') : strstr(at + 2, "*/");
    at = end == NULL ? at + strlen(at) : end + (is_line ? 1 : 2);
  }
}

/* Takes the next word: a parenthesis, or another one up to a blank or a parenthesis. */
static bool take_word(const char **at, const char **word, size_t *length) {
  *word = skip(*at);
  if (**word == '"') {
    ++*word;
    *length = strcspn(*word, "\"");
    *at = *word + *length + ((*word)[*length] != 0);
    return true;
  }
  *length = strcspn(*word, " \t\r\n\f\v,;()\"");
  *length += *length == 0 && **word != 0;
  *at = *word + *length;
  return *length > 0;
}

static bool is_command(const char *word, size_t length, const char *name) {
  return length == strlen(name) && memcmp(word, name, length) == 0;
}

/* The list that gets the words in a command's parentheses; NULL: none. */
static struct words *list_of(struct script *script, const char *word, size_t length) {
  if (is_command(word, length, "SEARCH_DIR"))
    return &script->folders;
  return is_command(word, length, "INPUT") || is_command(word, length, "GROUP") ||
                 is_command(word, length, "STARTUP")
             ? &script->inputs
             : NULL;
}

static void add_word(struct words *words, const char *word, size_t length) {
  char *name = strndup(word, length);
  words_add(words, name);
  free(name);
}

struct script script_read(const char *path) {
  struct script script = {0};
  struct words *list = NULL, *next = NULL; /* in a command's parentheses; and before them */
  char *text = read_text(path);
  const char *at = text, *word, *before = "";
  size_t length, before_length = 0;
  unsigned depth = 0; /* of parentheses, in such a command */
  bool includes = false;
  while (at != NULL && take_word(&at, &word, &length)) {
    const bool opens = length == 1 && *word == '(', closes = length == 1 && *word == ')';
    if (opens) {
      if (depth == 0 && next == NULL)
        add_word(&script.inputs, before, before_length);
      list = depth == 0 ? next : list;
      depth += list != NULL;
    } else if (closes) {
      depth -= depth > 0;
      list = depth == 0 ? NULL : list;
    } else if (includes)
      add_word(&script.inputs, word, length);
    else if (depth > 0 && !is_command(word, length, "AS_NEEDED"))
      add_word(list, word, length);
    next = list_of(&script, word, length);
    before = word, before_length = length;
    includes = depth == 0 && is_command(word, length, "INCLUDE");
  }
  free(text);
  return script;
}

void script_close(struct script *script) {
  words_close(&script->inputs);
  words_close(&script->folders);
}
