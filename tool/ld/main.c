/* main.c - stackpack-ld: a linker for compilers to run: it splits and packs the stack maps.
 *
 * Many builds end with the link: the compiler runs the linker, and an unchangeable tool runs the
 * compiler. But nearly all builds can pass a flag to the compiler, and compilers have a flag that
 * names another linker. stackpack-ld is such a linker. It splits the inputs with stack maps, runs
 * the real linker with the same arguments otherwise, finds the output's name among them, and runs
 * `stackpack pack` on that file. The compiler sees one program that has linked or has failed.
 *
 *     compiler -> stackpack-ld                                      1. a.o split, as a copy
 *                              -> ld.lld -o app COPY/a.o ...        2. otherwise the same words
 *                              -> stackpack pack --if-present app   3. if it wrote an ELF file
 *
 * The real linker's messages and exit status are passed on unchanged. Linkers are also run to print
 * their version, to make object files (-r), or files of other formats than ELF; all of these stay
 * unpacked, and so does an older file that the linker left alone. If packing fails, the output is
 * removed, as after a failed link: otherwise the next `make` would find it finished.
 */
#include "tool/ld/arguments.h"
#include "tool/ld/dependencies.h"
#include "tool/ld/inputs.h"
#include "tool/ld/programs.h"
#include "tool/ld/response.h"
#include "tool/ld/run.h"

#include "elf/elf_file.h"
#include "runtime/stackpack.h"
#include "tool/image/clean.h"
#include "tool/image/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_UNUSABLE = 2 }; /* as the command's */

/* Set for the linker: a script that runs stackpack-ld would run forever. */
static const char running[] = "STACKPACK_LD_RUNNING";

static const char help[] =
    "Usage: stackpack-ld [OPTION]... LINKER-ARGUMENT...\n"
    "Links with the real linker: splits the stack maps of the inputs before that, and\n"
    "packs the output's.\n\n"
    "  --stackpack-ld=LINKER      a path, or a name in PATH; otherwise that of the\n"
    "                             environment's STACKPACK_LD, or ld.lld, or ld\n"
    "  --stackpack-option=OPTION  an option of `stackpack pack`; may be repeated;\n"
    "                             after those of the environment's STACKPACK_OPTIONS\n"
    "  --stackpack-help\n\n"
    "All other arguments are the linker's. To let a compiler link by it:\n"
    "  clang --ld-path=/path/to/stackpack-ld ...\n"
    "  gcc -B/path/to/libexec/stackpack/ ...   (a folder in which it is called `ld`)\n"
    "and its own options by -Wl: -Wl,--stackpack-option=--gc-entry=heap_allocate\n"
    "stackpack-ld " STACKPACK_VERSION "\n";

/* Whether the linker wrote the output, and it is an executable or a shared library of a kind that
 * can have packed stack maps: if there are some, and this is another processor's, `pack` will say
 * so. *before is all zero for a new file. */
static bool wants_packing(const char *output, const struct stat *before) {
  struct elf_file file;
  if (elf_file_open(&file, output) != 0)
    return false;
  const Elf64_Half type = file.image.header.e_type;
  const bool is_new = !elf_file_is_unchanged(before, &file.status);
  elf_file_close(&file);
  return is_new && (type == ET_EXEC || type == ET_DYN);
}

/* Adds the linker's words. If they are too many for execve, or might be, they go in a response
 * file: its path, or an empty one. `lld -flavor gnu` reads these two on the command line alone. */
static bool add_for_linker(struct words *words, const struct arguments *arguments,
                           char response[PATH_MAX], struct problem *problem) {
  enum { PLAIN_MAX = 65536 };
  char word[PATH_MAX + 1];
  struct words rest = arguments->linker;
  size_t size = 0;
  for (size_t i = 0; i < rest.count; i++)
    size += strlen(rest.items[i]) + 1;
  if (!arguments->had_response && size < PLAIN_MAX) {
    words_add_all(words, &arguments->linker);
    return true;
  }
  if (rest.count >= 2 && strcmp(rest.items[0], "-flavor") == 0)
    for (unsigned i = 0; i < 2; i++, rest.items++, rest.count--)
      words_add(words, rest.items[0]);
  if (!response_write(&rest, response, problem)) {
    response[0] = 0;
    return false;
  }
  word[0] = '@';
  strcpy(word + 1, response);
  words_add(words, word);
  return true;
}

static bool run_linker(const struct arguments *arguments, const char *path, const sigset_t *signals,
                       int *status, struct problem *problem) {
  struct words words = {0};
  char response[PATH_MAX] = "";
  words_add(&words, path);
  bool ok = add_for_linker(&words, arguments, response, problem);
  setenv(running, path, 1);
  ok = ok && run(path, words.items, signals, status, problem);
  unsetenv(running);
  if (response[0] != 0)
    unlink(response);
  words_close(&words);
  return ok;
}

/* Links with stack maps that follow their functions. */
static bool link_output(struct arguments *arguments, const char *path, const sigset_t *signals,
                        int *status, struct problem *problem) {
  struct inputs inputs = {0};
  if (getenv(running) != NULL)
    return problem_set(problem, "the linker that it runs, %s, runs stackpack-ld", getenv(running));
  const bool ok = inputs_split(&inputs, &arguments->linker, problem) &&
                  run_linker(arguments, path, signals, status, problem) &&
                  dependencies_correct(&arguments->linker, &inputs, problem);
  inputs_remove(&inputs);
  return ok;
}

static bool pack_output(const struct arguments *arguments, const char *path,
                        const sigset_t *signals, int *status, struct problem *problem) {
  const char *const before[] = {path, "pack", "--quiet", "--if-present"};
  struct words words = {0};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++)
    words_add(&words, before[i]);
  words_add_all(&words, &arguments->options);
  words_add(&words, "--");
  words_add(&words, arguments->output);
  const bool ok = run(path, words.items, signals, status, problem);
  words_close(&words);
  return ok;
}

/* Does all. False: something is wrong here; else *status is the linker's or `pack`'s. */
static bool link_and_pack(struct arguments *arguments, const char *called, const sigset_t *signals,
                          int *status, struct problem *problem) {
  char linker[PATH_MAX], stackpack[PATH_MAX];
  struct stat before;
  if (!programs_find_linker(called, arguments->linker_name, linker, problem) ||
      !programs_find_stackpack(stackpack, problem))
    return false;
  if (stat(arguments->output, &before) != 0)
    before = (struct stat){0};
  const bool linked = link_output(arguments, linker, signals, status, problem);
  if (!linked || *status != 0 || !wants_packing(arguments->output, &before))
    return linked;
  const bool packed = pack_output(arguments, stackpack, signals, status, problem);
  if (!packed || *status != 0)
    unlink(arguments->output);
  return packed;
}

int main(int argc, char **argv) {
  struct arguments arguments;
  struct problem problem = {0};
  sigset_t signals;
  int status = 0;
  start_safely();
  bool ok = arguments_read(&arguments, argc - 1, argv + 1, &problem);
  run_hold_signals(&signals); /* not before: a response file may be a pipe */
  const bool wants_help = ok && arguments.help;
  ok = ok && (wants_help || link_and_pack(&arguments, argv[0], &signals, &status, &problem));
  arguments_close(&arguments);
  sigprocmask(SIG_SETMASK, &signals, NULL);
  if (!ok) {
    clean_print_path(stderr, "stackpack-ld");
    clean_print(stderr, problem.text);
    putc('\n', stderr);
  } else if (!wants_help)
    run_end_as(status);
  else if (fputs(help, stdout) >= 0 && fflush(stdout) == 0)
    return 0;
  return EXIT_UNUSABLE;
}
