/* sources.c - names and places, each once. */
#include "format/sources.h"

#include <stdlib.h>
#include <string.h>

void sources_free(struct sources *sources) {
  intern_free(&sources->names);
  intern_free(&sources->places);
}

/* A name is kept with its final 0, in whole words. */
bool sources_add_name(struct sources *sources, const char *name, uint32_t *number) {
  *number = 0;
  if (name == NULL || *name == 0)
    return true;
  const size_t length = strlen(name), words = length / sizeof(uint64_t) + 1;
  uint64_t *copy = calloc(words, sizeof *copy);
  if (copy == NULL)
    return false;
  memcpy(copy, name, length);
  *number = intern_add(&sources->names, copy, words) + 1;
  free(copy);
  return *number != 0;
}

const char *sources_name(const struct sources *sources, uint32_t number) {
  return number == 0 ? "" : (const char *)intern_get(&sources->names, number - 1).words;
}

bool sources_add_place(struct sources *sources, struct source_place place, uint32_t *number) {
  uint64_t words[sizeof place / sizeof(uint64_t)];
  memcpy(words, &place, sizeof place);
  *number = intern_add(&sources->places, words, sizeof words / sizeof *words) + 1;
  return *number != 0;
}

struct source_place sources_place(const struct sources *sources, uint32_t number) {
  struct source_place place;
  memcpy(&place, intern_get(&sources->places, number - 1).words, sizeof place);
  return place;
}

uint32_t sources_outermost(const struct sources *sources, uint32_t number) {
  for (uint32_t caller = number; caller != 0; caller = sources_place(sources, number).caller)
    number = caller;
  return number;
}
