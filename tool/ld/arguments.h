/* arguments.h - a linker's command line: the output's name, and stackpack-ld's own options. */
#ifndef STACKPACK_LD_ARGUMENTS_H
#define STACKPACK_LD_ARGUMENTS_H

#include "tool/image/problem.h"
#include "tool/ld/words.h"

struct arguments {
  struct words all;        /* with response files' words in the place of the files' names */
  struct words linker;     /* the linker's words: all but stackpack-ld's own options */
  struct words options;    /* of `stackpack pack` */
  const char *output;      /* the file that the linker writes */
  const char *linker_name; /* NULL: unspecified */
  bool help;
  bool had_response; /* some were in response files: perhaps too many for execve */
};

/* Reads the arguments after the program's name, and the environment for defaults. */
bool arguments_read(struct arguments *arguments, int count, char **words, struct problem *problem);
void arguments_close(struct arguments *arguments);

/* The rest of a word after a prefix; NULL if the word begins otherwise. */
const char *arguments_after(const char *word, const char *prefix);

/* Whether a word is the option `name`, with one dash or two: linkers take long ones so. GNU ld lets
 * users leave out letters at the end; those after a * in a name, as in "gc-s*ections". */
bool arguments_is(const char *word, const char *name);

/* The same of one of several names, up to NULL. */
bool arguments_is_any(const char *word, const char *const *names);
/* The value in a word --NAME=VALUE or -NAME=VALUE; NULL: it is another word. */
const char *arguments_value(const char *word, const char *name);
/* The value of the last such option among words, in its word or the next one; NULL: there is
 * none. */
const char *arguments_last(const struct words *words, const char *name);
/* Whether a word is an option whose value may be the next word. */
bool arguments_takes_next(const char *word);

#endif
