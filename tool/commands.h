/* commands.h - the subcommands: one file each. */
#ifndef STACKPACK_COMMANDS_H
#define STACKPACK_COMMANDS_H

#include "tool/calls/policy.h"
#include "tool/image/load.h"

enum {
  EXIT_DONE = 0,
  EXIT_DIFFERENCE = 1, /* a difference, a missing or dropped record, or too much growth */
  EXIT_UNUSABLE = 2,   /* usage, or unusable input or output */
};

/* Prints a usage error, and how to get help; returns EXIT_UNUSABLE. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The word that is nearest to an unknown one. */
struct nearest {
  const char *wanted;
  const char *word; /* NULL: all are far */
  unsigned distance;
};
void nearest_try(struct nearest *nearest, const char *word);

/* ---- Options ---- */

/* An option of a command, and the place of its value: one of these, the others are NULL. */
struct command_option {
  const char *name; /* without "--"; NULL ends a table */
  char letter;      /* 0: it has none */
  bool *flag;       /* to be set by an option without a value */
  const char **text;
  const char *words; /* the value is one of these: "text|json", */
  unsigned *word;    /* and this gets its number */
  int64_t *number;   /* the value is a number up to this: */
  uint32_t most;
  bool (*take)(void *context, const char *value, struct problem *problem);
  void *context;
};

/* A command runs once in a process: its options have static storage. The help fits a screen of 24
 * lines by 80 columns, and shells complete by it (tool/completions): each option begins a line, its
 * few values are between bars, and two blanks precede its meaning. */
struct command {
  const char *name, *purpose, *help;
  const struct command_option *options;
  int least, most;       /* arguments; 0 most: any number */
  const char *complaint; /* about another number */
  /* Returns the exit status. A problem is still to be printed, about the first argument. */
  int (*run)(char **arguments, int count, struct problem *problem);
};
extern const struct command command_pack, command_unpack, command_dump, command_lookup,
    command_verify, command_stats, command_report, command_callgraph, command_why, command_split;

/* Takes the options out of a command line, and counts the arguments; `optind` is then the first.
 * False after printing the help, or a line about a mistake: then *status is the command's exit
 * status. */
bool command_options(const struct command *command, int argc, char **argv, int *status);

/* The values of --format, by the number of their word; a command has at most one of the last
 * two. */
enum output_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_DOT = FORMAT_CSV };

/* The options of every command that reads stack maps. */
#define LOAD_OPTIONS(load)                                                                         \
  {"section", .text = &(load)->section},                                                           \
      {"statepoints", .take = load_take_statepoints, .context = (load)}, {                         \
    "global-roots", .text = &(load)->global_roots                                                  \
  }
#define COMMON_HELP                                                                                \
  "      --section=NAME        the raw maps' section; default: " RAW_SECTION "\n"                  \
  "      --statepoints=auto|all|none  raw records that are; or IDs: 7,100-199\n"                   \
  "      --global-roots=NAME   the section that lists variables with references\n"                 \
  "  -h, --help\n"

#endif
