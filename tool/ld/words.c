/* words.c - see words.h. */
#include "tool/ld/words.h"

#include "format/array.h"

#include <string.h>

bool words_add(struct words *words, const char *text, size_t length) {
  char *copy = strndup(text, length);
  if (copy == NULL || !array_make_room((void **)&words->items, &words->capacity, words->count + 2,
                                       sizeof *words->items)) {
    free(copy);
    return false;
  }
  words->items[words->count++] = copy;
  words->items[words->count] = NULL;
  return true;
}

bool words_add_text(struct words *words, const char *text) {
  return words_add(words, text, strlen(text));
}

bool words_add_all(struct words *words, const struct words *others) {
  for (size_t i = 0; i < others->count; i++)
    if (!words_add_text(words, others->items[i]))
      return false;
  return true;
}

bool words_replace(struct words *words, size_t i, const char *text) {
  char *copy = strdup(text);
  if (copy == NULL)
    return false;
  free(words->items[i]);
  words->items[i] = copy;
  return true;
}

void words_close(struct words *words) {
  for (size_t i = 0; i < words->count; i++)
    free(words->items[i]);
  free(words->items);
  *words = (struct words){0};
}
