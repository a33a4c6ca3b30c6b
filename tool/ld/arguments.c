/* arguments.c - see arguments.h.
 *
 * Linkers have hundreds of options, each has some of its own, and new ones come every year. So
 * nearly all are passed on unread. Only two things count here: the name of the output, in four
 * forms that all linkers share (the last one wins), and stackpack-ld's own options. All can be in
 * response files, read as if their words were in the line.
 */
#include "tool/ld/arguments.h"

#include "tool/ld/response.h"

#include <stdlib.h>
#include <string.h>

const char *arguments_after(const char *word, const char *prefix) {
  const size_t length = strlen(prefix);
  return strncmp(word, prefix, length) == 0 ? word + length : NULL;
}

/* Takes one of stackpack-ld's own options. */
static bool take_own(struct arguments *arguments, const char *word, struct problem *problem) {
  const char *linker = arguments_after(word, "--stackpack-ld=");
  const char *option = arguments_after(word, "--stackpack-option=");
  if (linker != NULL)
    arguments->linker_name = linker;
  else if (option != NULL)
    words_add(&arguments->options, option);
  else if (strcmp(word, "--stackpack-help") == 0)
    arguments->help = true;
  else
    return problem_set(problem, "unknown option: %s; see --stackpack-help", word);
  return true;
}

/* Whether the next word is the output's name. */
static bool output_follows(const char *word) {
  return strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0;
}

/* Takes a word for the linker. *follows: the last one said that this is the output's name. */
static void take_word(struct arguments *arguments, const char *word, bool *follows) {
  const char *name = *follows ? word : arguments_after(word, "--output=");
  const bool says_next = !*follows && output_follows(word);
  if (name == NULL && !says_next)
    name = arguments_after(word, "-o");
  if (name != NULL)
    arguments->output = name;
  *follows = says_next;
  words_add(&arguments->linker, word);
}

/* Puts the words of response files in the place of their names. The word after -o is a file's
 * name. */
static bool expand(struct arguments *arguments, int count, char **words, struct problem *problem) {
  for (int i = 0; i < count; i++) {
    const bool is_name = i > 0 && output_follows(words[i - 1]);
    if (words[i][0] == '@' && !is_name && response_read(words[i] + 1, &arguments->all, problem))
      arguments->had_response = true;
    else if (problem->text[0] == 0)
      words_add(&arguments->all, words[i]);
    else
      return false;
  }
  return true;
}

/* STACKPACK_OPTIONS has options for `pack` between blanks, before the command line's. */
static void take_environment(struct arguments *arguments) {
  const char *options = getenv("STACKPACK_OPTIONS"), *linker = getenv("STACKPACK_LD");
  char *copy = strdup(options == NULL ? "" : options), *rest = NULL;
  for (char *word = strtok_r(copy, " \t\n", &rest); word != NULL;
       word = strtok_r(NULL, " \t\n", &rest))
    words_add(&arguments->options, word);
  free(copy);
  arguments->linker_name = linker != NULL && *linker != 0 ? linker : NULL;
}

bool arguments_read(struct arguments *arguments, int count, char **words, struct problem *problem) {
  bool follows = false;
  *arguments = (struct arguments){.output = "a.out"};
  take_environment(arguments);
  bool ok = expand(arguments, count, words, problem);
  for (size_t i = 0; ok && i < arguments->all.count; i++) {
    const char *word = arguments->all.items[i];
    if (arguments_after(word, "--stackpack-") == NULL)
      take_word(arguments, word, &follows);
    else
      ok = take_own(arguments, word, problem);
  }
  return ok;
}

void arguments_close(struct arguments *arguments) {
  words_close(&arguments->all);
  words_close(&arguments->linker);
  words_close(&arguments->options);
}
