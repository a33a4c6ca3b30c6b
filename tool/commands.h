/* commands.h - the subcommands. Each takes its own arguments, and returns the exit status. */
#ifndef STACKPACK_COMMANDS_H
#define STACKPACK_COMMANDS_H

#include "load.h"

enum {
  EXIT_DONE = 0,
  EXIT_DIFFERENCE = 1, /* verify found something */
  EXIT_UNUSABLE = 2,   /* usage, or input or output that can't be used */
};

int command_pack(int argc, char **argv);
int command_dump(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_stats(int argc, char **argv);

/* Prints a usage error, and how to get help; returns EXIT_UNUSABLE. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads the value of --statepoints. */
bool parse_statepoints(const char *text, enum statepoint_rule *rule);

#endif
