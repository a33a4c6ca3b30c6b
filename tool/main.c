/* main.c - the command line: hands over to a subcommand. */
#include "tool/commands.h"

#include "runtime/stackpack.h"
#include "tool/image/budget.h"
#include "tool/image/start.h"

#include <assert.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command *const commands[] = {
    &command_pack,  &command_unpack, &command_dump,      &command_lookup, &command_verify,
    &command_stats, &command_report, &command_callgraph, &command_why,    &command_split,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out) {
  fprintf(out, "Usage: stackpack COMMAND [OPTION]... FILE...\n"
               "Packs the stack maps that LLVM leaves in linked programs.\n\n");
  for (int i = 0; i < COMMANDS; i++)
    fprintf(out, "  %-9s %s\n", commands[i]->name, commands[i]->purpose);
  fprintf(out, "\n  --help, --version\n"
               "\n`stackpack COMMAND --help`, or `stackpack help COMMAND`, describes one.\n"
               "Exit status: 0 done, 1 a difference or no record found, 2 usage or bad input.\n");
}

/* The output must have arrived: a full disk is an error, too. */
static int finish(int status) {
  if (fflush(stdout) == 0 && !ferror(stdout))
    return status;
  perror("stackpack: standard output");
  return EXIT_UNUSABLE;
}

/* Runs a subcommand: argv[0] is its name. */
static int run_command(const struct command *command, int argc, char **argv) {
  struct problem problem = {0};
  int status;
  if (!command_options(command, argc, argv, &status))
    return status;
  status = command->run(argv + optind, argc - optind, &problem);
  assert(problem.text[0] == 0 || status == EXIT_UNUSABLE);
  if (problem.text[0] != 0)
    problem_print(&problem, argv[optind]);
  return status;
}

static int run(int argc, char **argv) {
  struct nearest nearest = {.wanted = argv[0]};
  for (int i = 0; i < COMMANDS; i++) {
    if (strcmp(argv[0], commands[i]->name) == 0)
      return finish(run_command(commands[i], argc, argv));
    nearest_try(&nearest, commands[i]->name);
  }
  return nearest.word == NULL
             ? usage_error("", "no command '%s'", argv[0])
             : usage_error("", "no command '%s'; did you mean %s?", argv[0], nearest.word);
}

int main(int argc, char **argv) {
  json_set_alloc_funcs(malloc, free); /* see memory.c */
  start_safely();
  budget_limit_memory();
  if (argc < 2)
    return usage_error("", "no command given");
  const bool is_version = strcmp(argv[1], "--version") == 0;
  const bool may_name_command = strcmp(argv[1], "help") == 0;
  const bool is_help =
      may_name_command || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
  if (!is_help && !is_version)
    return run(argc - 1, argv + 1);
  const int most = may_name_command ? 3 : 2;
  if (argc > most)
    return usage_error("", "an argument too many: '%s'", argv[most]);
  if (argc == 3)
    return run(2, (char *[]){argv[2], "--help", NULL});
  if (is_help)
    print_help(stdout);
  else
    puts("stackpack " STACKPACK_VERSION);
  return finish(EXIT_DONE);
}
