/* arguments.c - see arguments.h.
 *
 * Linkers have hundreds of options, each has some of its own, and new ones come every year. So
 * nearly all are passed on unread. Only the name of the output counts here, which all of them take
 * in the same four forms (the last one wins), and stackpack-ld's own options, which no linker
 * knows. Both can be in response files. One without own options is passed on as it is. What stood
 * in one that has them goes on in another: in the command line it may have no room.
 */
#include "tool/ld/arguments.h"

#include "tool/ld/response.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool no_memory(struct problem *problem) {
  errno = ENOMEM;
  return problem_set_errno(problem, "arguments");
}

/* What stands behind a prefix, or NULL if the word doesn't begin with it. */
static const char *behind(const char *word, const char *prefix) {
  const size_t length = strlen(prefix);
  return strncmp(word, prefix, length) == 0 ? word + length : NULL;
}

static bool set(char **text, const char *value, struct problem *problem) {
  free(*text);
  *text = strdup(value);
  return *text != NULL || no_memory(problem);
}

static bool is_own(const char *word) { return behind(word, "--stackpack-") != NULL; }

static bool take_own(struct arguments *arguments, const char *word, struct problem *problem) {
  const char *value = behind(word, "--stackpack-ld=");
  if (value != NULL)
    return set(&arguments->linker_name, value, problem);
  value = behind(word, "--stackpack-option=");
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
  const char *name = *follows ? word : behind(word, "--output=");
  if (name == NULL && !output_follows(word))
    name = behind(word, "-o");
  *follows = !*follows && output_follows(word);
  return name == NULL || set(&arguments->output, name, problem);
}

/* Takes words[0..count), of which the linker's own are added to `rest`. */
static bool take_words(struct arguments *arguments, char **words, size_t count, bool *follows,
                       struct words *rest, struct problem *problem) {
  for (size_t i = 0; i < count; i++) {
    if (is_own(words[i])) {
      if (!take_own(arguments, words[i], problem))
        return false;
      continue;
    }
    if (!look_for_output(arguments, words[i], follows, problem))
      return false;
    if (!words_add_text(rest, words[i]))
      return no_memory(problem);
  }
  return true;
}

/* Takes the words of a response file, and leaves in *remaining, if any is stackpack-ld's own, the
 * others. False, without a problem, if there's no such file. */
static bool take_response(struct arguments *arguments, const char *path, bool *follows,
                          struct words *remaining, bool *has_own, struct problem *problem) {
  struct words words = {0};
  bool ok = response_read(path, &words, problem);
  ok = ok && take_words(arguments, words.items, words.count, follows, remaining, problem);
  *has_own = remaining->count < words.count;
  words_close(&words);
  return ok;
}

/* Takes one argument. Response files with own options become one: *held has their words, and stands
 * in the place of the first. (Order counts for linkers, so what comes between two of them goes in,
 * too.) */
static bool take_argument(struct arguments *arguments, char *word, bool *follows,
                          struct words *held, struct problem *problem) {
  struct words *rest = held->count > 0 ? held : &arguments->linker;
  if (word[0] == '@' && !*follows) {
    struct words remaining = {0};
    bool has_own = false;
    bool ok = take_response(arguments, word + 1, follows, &remaining, &has_own, problem);
    if (ok && has_own && !words_add_all(held, &remaining))
      no_memory(problem);
    words_close(&remaining);
    if (problem->text[0] != 0)
      return false;
    if (ok)
      return has_own || words_add_text(rest, word) || no_memory(problem);
  }
  return take_words(arguments, &word, 1, follows, rest, problem);
}

/* Lets the linker read the words that were held back. */
static bool pass_on(struct arguments *arguments, const struct words *held,
                    struct problem *problem) {
  char name[64];
  if (held->count == 0)
    return true;
  arguments->response = response_write(held, problem);
  if (arguments->response < 0)
    return false;
  snprintf(name, sizeof name, "@/proc/self/fd/%d", arguments->response);
  return words_add_text(&arguments->linker, name) || no_memory(problem);
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
  struct words held = {0};
  bool follows = false;
  *arguments = (struct arguments){.response = -1};
  bool ok = set(&arguments->output, "a.out", problem) && take_environment(arguments, problem);
  for (int i = 0; ok && i < count; i++)
    ok = take_argument(arguments, words[i], &follows, &held, problem);
  ok = ok && pass_on(arguments, &held, problem);
  words_close(&held);
  return ok;
}

void arguments_close(struct arguments *arguments) {
  words_close(&arguments->linker);
  words_close(&arguments->options);
  free(arguments->output);
  free(arguments->linker_name);
  if (arguments->response >= 0)
    close(arguments->response);
}
