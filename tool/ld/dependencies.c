/* dependencies.c - see dependencies.h.
 *
 * The list is a rule of a makefile: "app: main.o COPIES/0/a.o", where the copies are removed after
 * the link. The name after COPIES/0/ is right already, and quoted by that linker's rules. So only
 * COPIES/0/ is replaced, by the input's folder.
 */
#include "tool/ld/dependencies.h"

#include "tool/image/input.h"
#include "tool/ld/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder of a path, up to its last slash, as a makefile has it. To be freed. */
static char *quote_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  char *quoted = calloc(2, strlen(path) + 1), *to = quoted;
  for (const char *at = path; slash != NULL && at <= slash; at++) {
    if (*at == ' ' || *at == '#' || *at == '$')
      *to++ = *at == '$' ? '$' : '\\';
    *to++ = *at;
  }
  return quoted;
}

/* The copies' folder with a slash, as a list has it: lld quotes it, other linkers don't. To be
 * freed. */
static char *folder_in(const char *list, const char *folder) {
  char *plain = malloc(strlen(folder) + 2);
  stpcpy(stpcpy(plain, folder), "/");
  char *quoted = quote_folder(plain);
  const bool is_quoted = strstr(list, quoted) != NULL;
  free(is_quoted ? plain : quoted);
  return is_quoted ? quoted : plain;
}

/* Prints a list with the folders of inputs in the place of their copies', in `folder`. */
static void print_list(FILE *stream, const char *list, const char *folder,
                       const struct inputs *inputs) {
  const size_t length = strlen(folder);
  for (const char *at = list, *copy; *at != 0; at = copy) {
    copy = strstr(at, folder);
    fwrite(at, 1, copy != NULL ? (size_t)(copy - at) : strlen(at), stream);
    if (copy == NULL)
      return;
    char *after;
    const size_t number = strtoul(copy + length, &after, 10);
    if (number < inputs->copies.count && *after == '/') {
      char *input = quote_folder(sources_name(&inputs->names, (uint32_t)number + 1));
      fputs(input, stream);
      free(input);
      copy = after + 1;
    } else {
      putc(*copy++, stream);
    }
  }
}

bool dependencies_correct(const struct words *words, const struct inputs *inputs,
                          struct problem *problem) {
  const char *name = arguments_last(words, "depe*ndency-file");
  struct problem ignored = {0};
  struct input list;
  if (name == NULL || inputs->folder == NULL || !input_open(&list, name, &ignored))
    return true;
  char *text = strndup((const char *)list.bytes, list.size);
  char *folder = folder_in(text, inputs->folder);
  input_close(&list);
  FILE *file = fopen(name, "we");
  if (file != NULL)
    print_list(file, text, folder, inputs);
  const bool ok = file != NULL && ferror(file) == 0;
  free(text);
  free(folder);
  return (file == NULL || fclose(file) == 0) && ok
             ? true
             : problem_set(problem, "%s: the list of inputs can't be written", name);
}
