/* commands.h - the subcommands. Each takes its own arguments, and returns the exit status. */
#ifndef STACKPACK_COMMANDS_H
#define STACKPACK_COMMANDS_H

#include "tool/calls/policy.h"
#include "tool/image/load.h"

enum {
  EXIT_DONE = 0,
  EXIT_DIFFERENCE = 1, /* verify found something, or lookup didn't */
  EXIT_UNUSABLE = 2,   /* usage, or input or output that can't be used */
};

int command_pack(int argc, char **argv);
int command_dump(int argc, char **argv);
int command_lookup(int argc, char **argv);
int command_unpack(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_stats(int argc, char **argv);
int command_report(int argc, char **argv);
int command_callgraph(int argc, char **argv);
int command_why(int argc, char **argv);
int command_split(int argc, char **argv);

/* Prints a usage error, and how to get help; returns EXIT_UNUSABLE. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A command's help fits a screen of 24 lines by 80 columns, and shells complete by it
 * (tool/completions): each option begins a line, the values it takes are written between bars where
 * they are few, and two blanks go before what it means.
 *
 * The options of every command that reads stack maps: in its table of options, its help, and its
 * switch. */
enum {
  OPTION_HELP = 'h',
  OPTION_SECTION = 256,
  OPTION_STATEPOINTS,
  OPTION_GLOBAL_ROOTS,
  OPTION_OWN /* a command's first */
};
/* clang-format off */ /* it would take the last braces for a block */
#define COMMON_OPTIONS                                                                             \
  {"section", required_argument, NULL, OPTION_SECTION},                                            \
  {"statepoints", required_argument, NULL, OPTION_STATEPOINTS},                                    \
  {"global-roots", required_argument, NULL, OPTION_GLOBAL_ROOTS},                                  \
  {"help", no_argument, NULL, OPTION_HELP}
/* clang-format on */
#define COMMON_HELP                                                                                \
  "      --section=NAME        the raw stack maps are in NAME, not " RAW_SECTION "\n"              \
  "      --statepoints=auto|all|none  which raw records are; auto: by form\n"                      \
  "      --global-roots=NAME   the section that lists variables with references\n"                 \
  "  -h, --help\n"

struct command {
  const char *name, *help;
};

/* Of an option that a command doesn't know, as getopt_long returns it with ':' first in its list: prints
 * the help, or what is wrong with `word`. Returns the command's exit status. */
int usage_other(const struct command *command, int option, const char *word);

/* The word that is nearest to one that isn't known. */
struct nearest {
  const char *wanted;
  const char *word; /* NULL: none is near */
  size_t length;
  unsigned distance;
};
void nearest_try(struct nearest *nearest, const char *word, size_t length);

/* Takes an option that isn't the command's own: one of these, or one that isn't known. False if
 * there's nothing more to do: *status is the command's exit status. */
bool common_option(const struct command *command, int option, const char *word,
                   struct load_options *options, int *status);

/* The same for a command that has the options of a policy, too. */
bool policy_or_common_option(const struct command *command, int option, const char *word,
                             struct policy *policy, struct load_options *options, int *status);

#endif
