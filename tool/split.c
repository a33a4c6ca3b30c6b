/* split.c - stackpack split: one section of stack maps for each section of code, before linking. */
#include "tool/commands.h"

#include "tool/image/clean.h"
#include "tool/image/output.h"
#include "tool/split/at_once.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: stackpack split [OPTION]... FILE...\n"
    "Gives each section of code in objects, or in archives of them, stack maps of its\n"
    "own: so linkers keep and discard maps with their functions.\n\n"
    "  -o, --output=OUT          write to OUT, and leave the one FILE alone\n"
    "      --output-directory=DIR  write all to DIR, under the same names\n"
    "  -q, --quiet               don't say what was done\n"
    "  -h, --help\n\n"
    "Files without stack maps, or that aren't objects or archives, stay as they are.\n";

struct split_options {
  const char *output, *directory;
  bool quiet;
};

/* The file that a job writes. */
struct destination {
  char *path;    /* owned */
  bool is_other; /* not the one that was read: it is written even if nothing is split */
};

static bool write_output(struct split_job *job) {
  const struct destination *to = job->context;
  const bool changed = job->split.bytes != NULL;
  const struct new_file file = {.path = to->path,
                                .like = job->path,
                                .bytes = changed ? job->split.bytes : job->bytes,
                                .size = changed ? job->split.size : job->size};
  return (!changed && !to->is_other) || output_replace(&file, 1, NULL, &job->problem);
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

static bool set_destination(const struct split_options *options, const char *path,
                            struct destination *to) {
  to->is_other = options->output != NULL || options->directory != NULL;
  if (options->directory == NULL) {
    to->path = strdup(options->output != NULL ? options->output : path);
    return to->path != NULL;
  }
  return asprintf(&to->path, "%s/%s", options->directory, base_name(path)) >= 0;
}

static int compare_destinations(const void *a, const void *b) {
  return strcmp((*(const struct destination *const *)a)->path,
                (*(const struct destination *const *)b)->path);
}

/* Whether two files would be written to the same place: then the name of one; else NULL. */
static const char *find_collision(const struct destination *destinations, size_t count) {
  const struct destination **order = malloc(count * sizeof *order);
  const char *found = order == NULL ? "(not enough memory)" : NULL;
  for (size_t i = 0; order != NULL && i < count; i++)
    order[i] = &destinations[i];
  if (order != NULL)
    qsort(order, count, sizeof *order, compare_destinations);
  for (size_t i = 1; found == NULL && i < count; i++)
    if (strcmp(order[i - 1]->path, order[i]->path) == 0)
      found = order[i]->path;
  free(order);
  return found;
}

static void print_result(const struct split_job *job) {
  clean_print_path(stdout, job->path);
  if (job->split.bytes == NULL)
    puts("nothing to split");
  else
    printf("the stack maps of %zu function%s split into %zu section%s: file %zu -> %zu bytes\n",
           job->split.functions, plural(job->split.functions), job->split.sections,
           plural(job->split.sections), job->size, job->split.size);
}

static int split_all(const struct split_options *options, struct split_job *jobs,
                     struct destination *destinations, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!set_destination(options, jobs[i].path, &destinations[i]))
      return usage_error("split", "not enough memory");
    jobs[i].context = &destinations[i];
  }
  const char *collision = find_collision(destinations, count);
  if (collision != NULL)
    return usage_error("split", "two files for %s", collision);
  split_at_once(jobs, count, write_output);
  int status = EXIT_DONE;
  for (size_t i = 0; i < count; i++) {
    if (!jobs[i].ok) {
      problem_print(&jobs[i].problem, jobs[i].path);
      status = EXIT_UNUSABLE;
    } else if (!options->quiet)
      print_result(&jobs[i]);
  }
  return status;
}

int command_split(int argc, char **argv) {
  static const struct command command = {"split", help};
  struct split_options options = {0};
  const struct command_option own[] = {
      {"output", 'o', .text = &options.output},
      {"output-directory", .text = &options.directory},
      {"quiet", 'q', .flag = &options.quiet},
      {0},
  };
  int status;
  if (!command_options(&command, own, argc, argv, &status))
    return status;
  const size_t count = (size_t)(argc - optind);
  if (count == 0)
    return usage_error("split", "no file given");
  if (options.output != NULL && (count > 1 || options.directory != NULL))
    return usage_error("split", "--output is for one file");
  struct split_job *jobs = calloc(count, sizeof *jobs);
  struct destination *destinations = calloc(count, sizeof *destinations);
  status = EXIT_UNUSABLE;
  if (jobs != NULL && destinations != NULL) {
    for (size_t i = 0; i < count; i++)
      jobs[i].path = argv[optind + (int)i];
    status = split_all(&options, jobs, destinations, count);
  }
  for (size_t i = 0; destinations != NULL && i < count; i++)
    free(destinations[i].path);
  free(jobs);
  free(destinations);
  return status;
}
