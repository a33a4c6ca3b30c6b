/* arguments.c - see arguments.h.
 *
 * Linkers have hundreds of options, each has some of its own, and new ones come every year. So
 * nearly all are passed on unread. Only the name of the output counts here, which all of them take
 * in the same four forms (the last one wins), and stackpack-ld's own options, which no linker
 * knows. All can be in response files, whose words are taken as if they stood in the line.
 */
#include "tool/ld/arguments.h"

#include "tool/ld/response.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(struct problem *problem) {
  errno = ENOMEM;
  return problem_set_errno(problem, "arguments");
}

const char *arguments_behind(const char *word, const char *prefix) {
  const size_t length = strlen(prefix);
  return strncmp(word, prefix, length) == 0 ? word + length : NULL;
}

static bool set(char **text, const char *value, struct problem *problem) {
  free(*text);
  *text = strdup(value);
  return *text != NULL || no_memory(problem);
}

static bool is_own(const char *word) { return arguments_behind(word, "--stackpack-") != NULL; }

static bool take_own(struct arguments *arguments, const char *word, struct problem *problem) {
  const char *value = arguments_behind(word, "--stackpack-ld=");
  if (value != NULL)
    return set(&arguments->linker_name, value, problem);
  value = arguments_behind(word, "--stackpack-option=");
  if (value != NULL)
    return words_add_text(&arguments->options, value) || no_memory(problem);
  arguments->help = strcmp(word, "--stackpack-help") == 0;
  return arguments->help || problem_set(problem, "unknown option: %s; see --stackpack-help", word);
}

/* Whether a word says that the next one is the output's name. */
static bool output_follows(const char *word) {
  return strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0;
}

/* Looks at a word that a linker is to get. *follows: the last one was such a word. */
static bool look_for_output(struct arguments *arguments, const char *word, bool *follows,
                            struct problem *problem) {
  const char *name = *follows ? word : arguments_behind(word, "--output=");
  if (name == NULL && !output_follows(word))
    name = arguments_behind(word, "-o");
  *follows = !*follows && output_follows(word);
  return name == NULL || set(&arguments->output, name, problem);
}

/* Takes a word that is no response file. */
static bool take_word(struct arguments *arguments, const char *word, bool *follows,
                      struct problem *problem) {
  if (is_own(word))
    return take_own(arguments, word, problem);
  if (!look_for_output(arguments, word, follows, problem))
    return false;
  return words_add_text(&arguments->linker, word) || no_memory(problem);
}

/* Takes one argument: a word, or those of a response file if it is one. */
static bool take_argument(struct arguments *arguments, const char *word, bool *follows,
                          struct problem *problem) {
  struct words words = {0};
  if (word[0] != '@' || *follows || !response_read(word + 1, &words, problem)) {
    words_close(&words);
    return problem->text[0] == 0 && take_word(arguments, word, follows, problem);
  }
  bool ok = true;
  for (size_t i = 0; ok && i < words.count; i++)
    ok = take_word(arguments, words.items[i], follows, problem);
  arguments->had_response = true;
  words_close(&words);
  return ok;
}

/* STACKPACK_OPTIONS has options for `pack` between blanks: those of the command line come later. */
static bool take_environment(struct arguments *arguments, struct problem *problem) {
  static const char blanks[] = " \t\n";
  const char *options = getenv("STACKPACK_OPTIONS");
  const char *linker = getenv("STACKPACK_LD");
  if (linker != NULL && *linker != 0 && !set(&arguments->linker_name, linker, problem))
    return false;
  for (const char *at = options == NULL ? "" : options; *(at += strspn(at, blanks)) != 0;) {
    const size_t length = strcspn(at, blanks);
    if (!words_add(&arguments->options, at, length))
      return no_memory(problem);
    at += length;
  }
  return true;
}

bool arguments_read(struct arguments *arguments, int count, char **words, struct problem *problem) {
  bool follows = false;
  *arguments = (struct arguments){0};
  bool ok = set(&arguments->output, "a.out", problem) && take_environment(arguments, problem);
  for (int i = 0; ok && i < count; i++)
    ok = take_argument(arguments, words[i], &follows, problem);
  return ok;
}

void arguments_close(struct arguments *arguments) {
  words_close(&arguments->linker);
  words_close(&arguments->options);
  free(arguments->output);
  free(arguments->linker_name);
}
