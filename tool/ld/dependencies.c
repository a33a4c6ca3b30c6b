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

/* Prints the folder of a path, up to its last slash, as a makefile has it. */
static void print_folder(FILE *stream, const char *path) {
  const char *slash = strrchr(path, '/');
  for (const char *at = path; slash != NULL && at <= slash; at++) {
    if (*at == ' ' || *at == '#' || *at == '$')
      putc(*at == '$' ? '$' : '\\', stream);
    putc(*at, stream);
  }
}

/* Prints a list with the folders of inputs in the place of their copies'. */
static void print_list(FILE *stream, const char *list, size_t size, const struct inputs *inputs) {
  const char *const end = list + size;
  const size_t length = strlen(inputs->folder);
  for (const char *at = list, *copy; at < end; at = copy) {
    copy = memmem(at, (size_t)(end - at), inputs->folder, length);
    fwrite(at, 1, (size_t)((copy != NULL ? copy : end) - at), stream);
    if (copy == NULL)
      return;
    char *after = NULL;
    const size_t number = copy[length] == '/' ? strtoul(copy + length + 1, &after, 10) : 0;
    if (after != NULL && number < inputs->copies.count && *after == '/') {
      print_folder(stream, sources_name(&inputs->names, (uint32_t)number + 1));
      copy = after + 1;
    } else {
      putc(*copy++, stream);
    }
  }
}

bool dependencies_correct(const struct words *words, const struct inputs *inputs,
                          struct problem *problem) {
  const char *name = arguments_last(words, "dependency-file");
  struct problem ignored = {0};
  struct input list;
  if (name == NULL || inputs->folder == NULL || !input_open(&list, name, &ignored))
    return true;
  char *text = strndup((const char *)list.bytes, list.size);
  const size_t size = strlen(text);
  input_close(&list);
  FILE *file = fopen(name, "we");
  if (file != NULL)
    print_list(file, text, size, inputs);
  const bool ok = file != NULL && ferror(file) == 0;
  free(text);
  return (file == NULL || fclose(file) == 0) && ok
             ? true
             : problem_set(problem, "%s: the list of inputs can't be written", name);
}
