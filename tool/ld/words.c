/* words.c - see words.h. */
#include "tool/ld/words.h"

#include "format/array.h"

#include <assert.h>
#include <string.h>

void words_add(struct words *words, const char *text) {
  assert(words->items == NULL || words->items[words->count] == NULL);
  array_make_room((void **)&words->items, &words->capacity, words->count + 2, sizeof *words->items);
  words->items[words->count++] = strdup(text);
  words->items[words->count] = NULL;
}

void words_add_all(struct words *words, const struct words *others) {
  for (size_t i = 0; i < others->count; i++)
    words_add(words, others->items[i]);
}

void words_close(struct words *words) {
  for (size_t i = 0; i < words->count; i++)
    free(words->items[i]);
  free(words->items);
  *words = (struct words){0};
}
