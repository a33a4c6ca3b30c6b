/* arguments.c - see arguments.h.
 *
 * Linkers have hundreds of options, each has some of its own, and new ones come every year. So
 * nearly all are passed on unread. Only two things count here: the name of the output, in four
 * forms that all linkers share (the last one wins), and stackpack-ld's own options. All can be in
 * response files, read as if their words were in the line. The value of an option may look like
 * another option, or be an input's name: -mllvm -opt-bisect-limit=9, --exclude-libs libgc.a.
 */
#include "tool/ld/arguments.h"

#include "tool/ld/response.h"

#include <stdlib.h>
#include <string.h>

const char *arguments_after(const char *word, const char *prefix) {
  const size_t length = strlen(prefix);
  return strncmp(word, prefix, length) == 0 ? word + length : NULL;
}

/* The rest of an option's word after its name, and its one dash or two; NULL: it is another. */
static const char *after_name(const char *word, const char *name) {
  bool may_end = false;
  if (word[0] != '-')
    return NULL;
  for (word += word[1] == '-' ? 2 : 1; *name != 0; name++) {
    if (may_end && (*word == 0 || *word == '='))
      return word;
    if (*name == '*')
      may_end = true;
    else if (*word++ != *name)
      return NULL;
  }
  return word;
}

bool arguments_is(const char *word, const char *name) {
  const char *rest = after_name(word, name);
  return rest != NULL && *rest == 0;
}

bool arguments_is_any(const char *word, const char *const *names) {
  while (*names != NULL && !arguments_is(word, *names))
    names++;
  return *names != NULL;
}

const char *arguments_value(const char *word, const char *name) {
  const char *rest = after_name(word, name);
  return rest != NULL && *rest == '=' ? rest + 1 : NULL;
}

const char *arguments_last(const struct words *words, const char *name) {
  const char *last = NULL;
  for (size_t i = 0; i < words->count; i++) {
    const char *value = arguments_value(words->items[i], name);
    if (value == NULL && arguments_is(words->items[i], name))
      value = words->items[i + 1];
    last = value != NULL ? value : last;
  }
  return last;
}

/* Whether the next word is the output's name. (-output means -o utput.) */
static bool output_follows(const char *word) {
  return strcmp(word, "-o") == 0 || (word[0] == '-' && arguments_is(word + 1, "outp*ut"));
}

bool arguments_takes_next(const char *word) {
  static const char letters[] = "FILRTefhlmouyz";
  static const char *const names[] = {"Map",
                                      "auxiliary",
                                      "dT",
                                      "default-sc*ript",
                                      "defsym",
                                      "dynamic-linker",
                                      "dynamic-list",
                                      "entry",
                                      "exclude-libs",
                                      "filter",
                                      "fini",
                                      "init",
                                      "just-symbols",
                                      "library",
                                      "library-*path",
                                      "mllvm",
                                      "plugin",
                                      "plugin-opt",
                                      "require-defined",
                                      "retain-symbols-file",
                                      "rpath",
                                      "rpath-link",
                                      "sc*ript",
                                      "section-start",
                                      "soname",
                                      "sy*sroot",
                                      "trace-symbol",
                                      "undefined",
                                      "version-script",
                                      "wrap",
                                      NULL};
  if (word[0] == '-' && word[1] != 0 && word[2] == 0)
    return strchr(letters, word[1]) != NULL;
  return arguments_is_any(word, names) || output_follows(word);
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
    return problem_set(problem, "unknown option, or one without =VALUE: %s; see --stackpack-help",
                       word);
  return true;
}

/* Takes a word for the linker. *option: the one whose value this is; NULL: it is none. */
static void take_word(struct arguments *arguments, const char *word, const char **option) {
  const bool takes_next = *option == NULL && arguments_takes_next(word);
  const char *name = NULL;
  if (*option != NULL)
    name = output_follows(*option) ? word : NULL;
  else if (!takes_next && (word[0] != '-' || (name = arguments_value(word + 1, "outp*ut")) == NULL))
    name = arguments_after(word, "-o");
  if (name != NULL)
    arguments->output = name;
  *option = takes_next ? word : NULL;
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
  const char *option = NULL;
  *arguments = (struct arguments){.output = "a.out"};
  take_environment(arguments);
  bool ok = expand(arguments, count, words, problem);
  for (size_t i = 0; ok && i < arguments->all.count; i++) {
    const char *word = arguments->all.items[i];
    if (arguments_after(word, "--stackpack-") == NULL)
      take_word(arguments, word, &option);
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
