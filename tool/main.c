/* main.c - the command line: hands over to a subcommand. */
#include "tool/commands.h"

#include "runtime/stackpack.h"
#include "tool/choice.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *purpose;
} commands[] = {
    {"pack", command_pack, "replace a program's stack maps by a compact, ready-to-use table"},
    {"unpack", command_unpack, "give back the program that was packed with --keep-raw"},
    {"dump", command_dump, "print the stack maps of a program, packed or not"},
    {"lookup", command_lookup, "tell what a collector would be told of addresses"},
    {"verify", command_verify, "compare a packed program with the original"},
    {"stats", command_stats, "tell what takes the space, and what grew"},
    {"report", command_report, "make a page about them, for a browser"},
    {"callgraph", command_callgraph, "print who calls whom in a program"},
    {"why", command_why, "tell why `pack` keeps or drops a record"},
    {"split", command_split, "before linking: make maps follow their functions"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out) {
  fprintf(out, "Usage: stackpack COMMAND [OPTION]... FILE...\n"
               "Packs the stack maps that LLVM leaves in linked programs.\n\n");
  for (int i = 0; i < COMMANDS; i++)
    fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].purpose);
  fprintf(out, "\n  --help, --version\n"
               "\n`stackpack COMMAND --help` tells more of one.\n"
               "Exit status: 0 done, 1 a difference or no record found, 2 usage or bad input.\n");
}

int usage_error(const char *command, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "stackpack: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "; see 'stackpack %s%s--help'\n", command, *command == 0 ? "" : " ");
  va_end(arguments);
  return EXIT_UNUSABLE;
}

static bool parse_statepoints(const char *text, enum statepoint_rule *rule) {
  static const char *const names[] = {
      [STATEPOINTS_AUTO] = "auto", [STATEPOINTS_ALL] = "all", [STATEPOINTS_NONE] = "none"};
  unsigned choice;
  if (!choice_find(text, names, sizeof names / sizeof *names, &choice))
    return false;
  *rule = (enum statepoint_rule)choice;
  return true;
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
  case OPTION_HELP:
    fputs(command->help, stdout);
    *status = EXIT_DONE;
    return false;
  default:
    *status = usage_error(command->name, "unknown option or missing value: %s", word);
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

/* What was printed must have arrived: a full disk is an error, too. */
static int finish(int status) {
  if (fflush(stdout) == 0 && !ferror(stdout))
    return status;
  perror("stackpack: standard output");
  return EXIT_UNUSABLE;
}

int main(int argc, char **argv) {
  /* A file that grows too large for `ulimit -f` is a failed write, as a full disk is. */
  signal(SIGXFSZ, SIG_IGN);
  if (argc < 2)
    return usage_error("", "no command given");
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help(stdout);
    return finish(EXIT_DONE);
  }
  if (strcmp(argv[1], "--version") == 0) {
    puts("stackpack " STACKPACK_VERSION);
    return finish(EXIT_DONE);
  }
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(argv[1], commands[i].name) == 0)
      return finish(commands[i].run(argc - 1, argv + 1));
  return usage_error("", "no command '%s'", argv[1]);
}
