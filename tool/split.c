/* split.c - stackpack split: one section of stack maps for each section of code, before linking. */
#include "tool/commands.h"

#include "tool/image/clean.h"
#include "tool/image/input.h"
#include "tool/image/output.h"
#include "tool/split/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: stackpack split [OPTION]... FILE...\n"
    "Gives each section of code in objects, or in archives of them, stack maps of its\n"
    "own: so linkers keep and discard maps with their functions.\n\n"
    "  -o, --output=OUT          write to OUT, and leave the one FILE alone\n"
    "      --output-directory=DIR  write all to DIR, under the same names\n"
    "  -q, --quiet               print no result\n"
    "  -h, --help\n\n"
    "Other files, and those without stack maps, stay unchanged.\n";

struct split_options {
  const char *output, *directory;
  bool quiet;
};

/* The path of the file that is written for another. To be freed. */
static char *output_path(const struct split_options *options, const char *path) {
  if (options->directory == NULL)
    return strdup(options->output != NULL ? options->output : path);
  const size_t size = strlen(options->directory) + strlen(basename(path)) + 2;
  char *output = malloc(size);
  snprintf(output, size, "%s/%s", options->directory, basename(path));
  return output;
}

static int compare_paths(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether two files would be written to the same place: then its path; else NULL. */
static const char *find_collision(char *const *outputs, size_t count) {
  char **order = malloc(count * sizeof *order);
  const char *found = NULL;
  memcpy(order, outputs, count * sizeof *order);
  qsort(order, count, sizeof *order, compare_paths);
  for (size_t i = 1; found == NULL && i < count; i++)
    if (strcmp(order[i - 1], order[i]) == 0)
      found = order[i];
  free(order);
  return found;
}

static void print_result(FILE *out, const char *path, size_t size, const struct split *split) {
  clean_print_path(out, path);
  if (split->file.bytes == NULL)
    fputs("nothing to split\n", out);
  else
    fprintf(out,
            "the stack maps of %zu function%s split into %zu section%s: file %zu -> %zu bytes\n",
            split->functions, plural(split->functions), split->sections, plural(split->sections),
            size, split->file.size);
}

/* Splits the file `path`, and writes `output`: the same path only if something changes. */
static bool split_path(const struct split_options *options, const char *path, const char *output,
                       struct problem *problem) {
  struct input input;
  struct split split;
  struct message message = {0};
  if (!input_open(&input, path, problem))
    return false;
  bool ok =
      split_file(&split, path, input.bytes, input.size, problem) && message_open(&message, problem);
  const struct new_file file = {.path = output,
                                .like = path,
                                .is_data = !output_same(path, output),
                                .bytes = split.file.bytes != NULL ? split.file.bytes : input.bytes,
                                .size = split.file.bytes != NULL ? split.file.size : input.size};
  const bool is_written =
      split.file.bytes != NULL || options->output != NULL || options->directory != NULL;
  if (ok && !options->quiet)
    print_result(message.stream, path, input.size, &split);
  ok = ok && (is_written ? output_replace(&file, 1, &message, problem)
                         : message_say(&message, false, problem));
  message_close(&message);
  free(split.file.bytes);
  input_close(&input);
  return ok;
}

static int split_all(const struct split_options *options, char *const *paths, char *const *outputs,
                     size_t count) {
  const char *collision = find_collision(outputs, count);
  int status = EXIT_DONE;
  if (collision != NULL)
    return usage_error("split", "two files for %s", collision);
  for (size_t i = 0; i < count; i++) {
    struct problem problem = {0};
    if (!split_path(options, paths[i], outputs[i], &problem)) {
      problem_print(&problem, paths[i]);
      status = EXIT_UNUSABLE;
    }
  }
  return status;
}

static struct split_options given;

static int split(char **files, int file_count, struct problem *problem) {
  const size_t count = (size_t)file_count;
  (void)problem; /* each file's is printed at once */
  if (given.output != NULL && (count > 1 || given.directory != NULL))
    return usage_error("split", "--output is for one file, without --output-directory");
  char **outputs = calloc(count, sizeof *outputs);
  for (size_t i = 0; i < count; i++)
    outputs[i] = output_path(&given, files[i]);
  const int status = split_all(&given, files, outputs, count);
  for (size_t i = 0; i < count; i++)
    free(outputs[i]);
  free(outputs);
  return status;
}

static const struct command_option own[] = {
    {"output", 'o', .text = &given.output},
    {"output-directory", .text = &given.directory},
    {"quiet", 'q', .flag = &given.quiet},
    {0},
};
const struct command command_split = {"split",
                                      "before linking: make maps follow their functions",
                                      help,
                                      own,
                                      1,
                                      0,
                                      "there must be a file",
                                      split};
