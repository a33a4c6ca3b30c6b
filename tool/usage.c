/* usage.c - what is said of a command line that can't be understood, and the options of every command.
 *
 * A word that isn't known is answered with the nearest one that is: the one that takes the fewest
 * letters to be added, taken away or replaced. Options are found in the command's own help.
 */
#include "tool/commands.h"

#include "tool/image/choice.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int usage_error(const char *command, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "stackpack: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "; see 'stackpack %s%s--help'\n", command, *command == 0 ? "" : " ");
  va_end(arguments);
  return EXIT_UNUSABLE;
}

/* ---- The nearest word ---- */

enum { LETTERS_MOST = 32 };

/* How many letters must change to make one word of the other (Levenshtein's distance). */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  unsigned row[LETTERS_MOST + 1];
  for (size_t k = 0; k <= b_length; k++)
    row[k] = (unsigned)k;
  for (size_t i = 0; i < a_length; i++) {
    unsigned corner = row[0]++;
    for (size_t k = 0; k < b_length; k++) {
      const unsigned replaced = corner + (a[i] != b[k]);
      const unsigned changed = (row[k] < row[k + 1] ? row[k] : row[k + 1]) + 1;
      corner = row[k + 1];
      row[k + 1] = replaced < changed ? replaced : changed;
    }
  }
  return row[b_length];
}

void nearest_try(struct nearest *nearest, const char *word, size_t length) {
  const size_t wanted = strcspn(nearest->wanted, "=");
  if (wanted > LETTERS_MOST || length > LETTERS_MOST)
    return;
  const unsigned far = distance(nearest->wanted, wanted, word, length);
  if (far > 1 + length / 4 || (nearest->word != NULL && far >= nearest->distance))
    return;
  *nearest = (struct nearest){nearest->wanted, word, length, far};
}

/* The long option in a command's help that is nearest to a word. */
static struct nearest nearest_option(const char *help, const char *word) {
  struct nearest nearest = {.wanted = word};
  for (const char *at = help; (at = strstr(at, "--")) != NULL;) {
    const size_t length = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
    nearest_try(&nearest, at, length);
    at += length;
  }
  return nearest;
}

/* `option` is what getopt_long returns: ':' for a missing value, '?' for all else. */
static int usage_unknown(const struct command *command, int option, const char *word) {
  if (option == ':')
    return usage_error(command->name, "%s needs a value", word);
  if (strncmp(word, "--", 2) != 0)
    return usage_error(command->name, "unknown option: -%c", optopt);
  const struct nearest nearest = nearest_option(command->help, word);
  if (nearest.word == NULL)
    return usage_error(command->name, "unknown option: %s", word);
  if (nearest.distance == 0 && strchr(word, '=') != NULL)
    return usage_error(command->name, "%.*s takes no value", (int)nearest.length, nearest.word);
  return usage_error(command->name, "unknown option: %s; did you mean %.*s?", word,
                     (int)nearest.length, nearest.word);
}

/* ---- Options of every command ---- */

static bool parse_statepoints(const char *text, enum statepoint_rule *rule) {
  static const char *const names[] = {
      [STATEPOINTS_AUTO] = "auto", [STATEPOINTS_ALL] = "all", [STATEPOINTS_NONE] = "none"};
  unsigned choice;
  if (!choice_find(text, names, sizeof names / sizeof *names, &choice))
    return false;
  *rule = (enum statepoint_rule)choice;
  return true;
}

int usage_other(const struct command *command, int option, const char *word) {
  if (option != OPTION_HELP)
    return usage_unknown(command, option, word);
  fputs(command->help, stdout);
  return EXIT_DONE;
}

bool common_option(const struct command *command, int option, const char *word,
                   struct load_options *options, int *status) {
  switch (option) {
  case OPTION_SECTION:
    options->section = optarg;
    return true;
  case OPTION_STATEPOINTS:
    if (parse_statepoints(optarg, &options->statepoints))
      return true;
    *status = usage_error(command->name, "--statepoints is auto, all or none, not '%s'", optarg);
    return false;
  case OPTION_GLOBAL_ROOTS:
    options->global_roots = optarg;
    return true;
  default:
    *status = usage_other(command, option, word);
    return false;
  }
}

bool policy_or_common_option(const struct command *command, int option, const char *word,
                             struct policy *policy, struct load_options *options, int *status) {
  struct problem problem = {0};
  if (!policy_is_option(option))
    return common_option(command, option, word, options, status);
  if (policy_take_option(policy, option, optarg, &problem))
    return true;
  problem_print(&problem, "policy");
  *status = EXIT_UNUSABLE;
  return false;
}
