/* options.c - takes the options out of a command line, and names a word that it can't understand.
 *
 * A command's table has the place of each option's value; getopt_long reads the words.
 *
 * The answer to an unknown word is the nearest one: that with the fewest letters to be added, taken
 * away or replaced.
 */
#include "tool/commands.h"

#include "tool/image/clean.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int usage_error(const char *command, const char *format, ...) {
  char *text;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&text, format, arguments) >= 0) {
    fputs("stackpack: ", stderr);
    clean_print(stderr, text);
    fprintf(stderr, "; see 'stackpack %s%s--help'\n", command, *command == 0 ? "" : " ");
    free(text);
  }
  va_end(arguments);
  return EXIT_UNUSABLE;
}

/* ---- The nearest word ---- */

enum { LETTERS_MOST = 32 };

/* How many letters must change to make one word of the other (Levenshtein's distance). */
static unsigned distance(const char *a, const char *b) {
  unsigned row[LETTERS_MOST + 1];
  assert(strlen(b) <= LETTERS_MOST);
  for (unsigned k = 0; k <= strlen(b); k++)
    row[k] = k;
  for (; *a != 0; a++) {
    unsigned corner = row[0]++;
    for (size_t k = 0; b[k] != 0; k++) {
      const unsigned replaced = corner + (*a != b[k]);
      const unsigned changed = (row[k] < row[k + 1] ? row[k] : row[k + 1]) + 1;
      corner = row[k + 1];
      row[k + 1] = replaced < changed ? replaced : changed;
    }
  }
  return row[strlen(b)];
}

void nearest_try(struct nearest *nearest, const char *word) {
  if (strlen(nearest->wanted) > LETTERS_MOST || strlen(word) > LETTERS_MOST)
    return;
  const unsigned far = distance(nearest->wanted, word);
  if (far <= 1 + strlen(word) / 4 && (nearest->word == NULL || far < nearest->distance))
    *nearest = (struct nearest){nearest->wanted, word, far};
}

/* `found` is getopt_long's result: ':' for a missing value, '?' for all else. It leaves in optopt
 * the number of a long option that got a superfluous value. */
static void usage_unknown(const struct command *command, const struct option *options, int found,
                          const char *word) {
  const int length = (int)strcspn(word, "=");
  char wanted[LETTERS_MOST + 2];
  struct nearest nearest = {.wanted = wanted};
  if (found == ':') {
    usage_error(command->name, "%s needs a value", word);
  } else if (strncmp(word, "--", 2) != 0) {
    usage_error(command->name, "unknown option: -%c", optopt);
  } else if (optopt != 0) {
    usage_error(command->name, "%.*s takes no value", length, word);
  } else {
    snprintf(wanted, sizeof wanted, "%.*s", length - 2, word + 2);
    for (; options->name != NULL; options++)
      nearest_try(&nearest, options->name);
    usage_error(command->name, "unknown option: %s%s%s%s", word,
                nearest.word == NULL ? "" : "; did you mean --",
                nearest.word == NULL ? "" : nearest.word, nearest.word == NULL ? "" : "?");
  }
}

/* ---- Options ---- */

enum { OPTIONS_MOST = 31 };

/* Finds a value among the words between bars. */
static bool take_word(const struct command_option *option, const char *value,
                      struct problem *problem) {
  char listed[80] = "";
  const char *word = option->words;
  for (unsigned number = 0;; number++) {
    const size_t length = strcspn(word, "|");
    assert(strlen(listed) + length + sizeof " or " <= sizeof listed);
    if (strlen(value) == length && memcmp(value, word, length) == 0) {
      *option->word = number;
      return true;
    }
    strncat(listed, word, length);
    if (word[length] == 0)
      return problem_set(problem, "--%s is %s, not '%s'", option->name, listed, value);
    word += length + 1;
    strcat(listed, strchr(word, '|') != NULL ? ", " : " or ");
  }
}

static bool take_number(const struct command_option *option, const char *value,
                        struct problem *problem) {
  const char *at = value;
  uint64_t number;
  const bool ok = load_take_number(&at, &number) && *at == 0 && number <= option->most;
  *option->number = (int64_t)number;
  return ok || problem_set(problem, "--%s is a number up to %" PRIu32 ", not '%s'", option->name,
                           option->most, value);
}

static bool take(const struct command_option *option, const char *value, struct problem *problem) {
  assert((option->flag != NULL) + (option->text != NULL) + (option->words != NULL) +
             (option->take != NULL) + (option->number != NULL) ==
         1);
  if (value != NULL && *value == 0)
    return problem_set(problem, "--%s has an empty value", option->name);
  if (option->words != NULL)
    return take_word(option, value, problem);
  if (option->number != NULL)
    return take_number(option, value, problem);
  if (option->take != NULL)
    return option->take(option->context, value, problem);
  if (option->flag != NULL)
    *option->flag = true;
  else
    *option->text = value;
  return true;
}

/* The tables that getopt_long wants. It returns an option's letter, or a number beyond all
 * letters. */
struct getopt_tables {
  struct option options[OPTIONS_MOST + 2];
  char letters[2 * OPTIONS_MOST + 3];
};
enum { FIRST_NUMBER = 256 };

static struct getopt_tables tables_of(const struct command_option *options) {
  struct getopt_tables tables = {.letters = ":h"};
  char *letter = tables.letters + 2;
  size_t count = 0;
  for (; count < OPTIONS_MOST && options[count].name != NULL; count++) {
    const struct command_option *option = &options[count];
    const int value = option->flag == NULL ? required_argument : no_argument;
    tables.options[count] = (struct option){option->name, value, NULL, FIRST_NUMBER + (int)count};
    if (option->letter == 0)
      continue;
    *letter++ = option->letter;
    if (value == required_argument)
      *letter++ = ':';
  }
  assert(options[count].name == NULL); /* all have room */
  tables.options[count] = (struct option){"help", no_argument, NULL, 'h'};
  return tables;
}

/* The option that getopt_long has found; NULL for all others. */
static const struct command_option *option_of(const struct command_option *options, int found) {
  if (found >= FIRST_NUMBER)
    return &options[found - FIRST_NUMBER];
  for (; options->name != NULL; options++)
    if (options->letter != 0 && options->letter == found)
      return options;
  return NULL;
}

/* Whether getopt_long took the next option, or the end of options, for the value of the one that it
 * has found: a value that begins so is written after the option's =. */
static bool takes_option(char **argv) {
  return optarg == argv[optind - 1] && strncmp(optarg, "--", 2) == 0;
}

bool command_options(const struct command *command, int argc, char **argv, int *status) {
  const struct getopt_tables tables = tables_of(command->options);
  struct problem problem = {0};
  opterr = 0;
  *status = EXIT_UNUSABLE;
  for (int found; (found = getopt_long(argc, argv, tables.letters, tables.options, NULL)) != -1;) {
    if (takes_option(argv))
      found = ':';
    const struct command_option *option = option_of(command->options, found);
    if (option != NULL && take(option, optarg, &problem))
      continue;
    if (found == 'h') {
      fputs(command->help, stdout);
      *status = EXIT_DONE;
    } else if (option == NULL) {
      usage_unknown(command, tables.options, found, argv[optind - 1 - takes_option(argv)]);
    } else if (problem.file != NULL) {
      problem_print(&problem, problem.file);
    } else {
      usage_error(command->name, "%s", problem.text);
    }
    return false;
  }
  const int arguments = argc - optind;
  if (arguments >= command->least && (command->most == 0 || arguments <= command->most))
    return true;
  usage_error(command->name, "%s", command->complaint);
  return false;
}
