/* unpack.c - stackpack unpack: gives back the program that was packed with --keep-raw. */
#include "tool/commands.h"

#include "tool/image/clean.h"
#include "tool/image/output.h"
#include "tool/rewrite/kept.h"

#include <stdio.h>
#include <stdlib.h>

static const char help[] = "Usage: stackpack unpack [OPTION]... --raw=RAW PACKED\n"
                           "Gives back the original of a packed program, byte for byte.\n\n"
                           "      --raw=RAW             the file that `pack --keep-raw=RAW` wrote\n"
                           "  -o, --output=OUT          write to OUT, and leave PACKED alone\n"
                           "  -q, --quiet               print no result\n"
                           "  -h, --help\n\n"
                           "A PACKED that has changed since `pack` wrote it is refused.\n";

struct unpack_options {
  const char *raw, *output;
  bool quiet;
};

static bool unpack_image(const struct unpack_options *options, const char *path,
                         const struct image *packed, const struct input *raw,
                         struct problem *problem) {
  struct kept_bytes original;
  if (!kept_read((struct kept_bytes){raw->bytes, raw->size},
                 (struct kept_bytes){packed->bytes, packed->size}, &original, problem)) {
    problem->file = options->raw;
    return false;
  }
  const struct new_file file = {.path = options->output != NULL ? options->output : path,
                                .like = path,
                                .bytes = original.bytes,
                                .size = original.size,
                                .was = &packed->file.status};
  struct message message = {0};
  bool ok = options->quiet || message_open(&message, problem);
  if (ok && !options->quiet) {
    clean_print_path(message.stream, path);
    fprintf(message.stream, "unpacked: file %zu -> %zu bytes\n", packed->size, original.size);
  }
  ok = ok && output_replace(&file, 1, &message, problem);
  message_close(&message);
  free((void *)original.bytes);
  return ok;
}

static bool unpack_file(const struct unpack_options *options, const char *path,
                        struct problem *problem) {
  const struct load_options load_options = {0};
  struct image image;
  struct loaded loaded;
  struct input raw;
  if (options->output != NULL && output_same(options->output, options->raw))
    return problem_set(problem,
                       "-o names the file of the raw stack maps, which it would overwrite");
  if (!image_open(&image, path, problem))
    return false;
  bool ok = load_find(&image, &load_options, &loaded, problem) == LOAD_PACKED ||
            problem_set(problem, "isn't packed");
  if (ok && !input_open(&raw, options->raw, problem)) {
    problem->file = options->raw;
    ok = false;
  } else if (ok) {
    ok = unpack_image(options, path, &image, &raw, problem);
    input_close(&raw);
  }
  image_close(&image);
  return ok;
}

static struct unpack_options given;

static int unpack(char **arguments, int count, struct problem *problem) {
  (void)count;
  if (given.raw == NULL)
    return usage_error("unpack", "no --raw=RAW given");
  return unpack_file(&given, arguments[0], problem) ? EXIT_DONE : EXIT_UNUSABLE;
}

static const struct command_option own[] = {
    {"raw", .text = &given.raw},
    {"output", 'o', .text = &given.output},
    {"quiet", 'q', .flag = &given.quiet},
    {0},
};
const struct command command_unpack = {"unpack",
                                       "give back the program that was packed with --keep-raw",
                                       help,
                                       own,
                                       1,
                                       1,
                                       "there must be one file",
                                       unpack};
