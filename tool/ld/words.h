/* words.h - a list of words, as execve takes it. */
#ifndef STACKPACK_LD_WORDS_H
#define STACKPACK_LD_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct words {
  char **items; /* owned, each and all; a NULL behind the last, if there is any */
  size_t count, capacity;
};

/* Adds a copy of text[0..length). False without memory. */
bool words_add(struct words *words, const char *text, size_t length);
/* The same of a whole text. */
bool words_add_text(struct words *words, const char *text);
/* Adds copies of all words of another list. */
bool words_add_all(struct words *words, const struct words *others);
/* Makes word i another one. */
bool words_replace(struct words *words, size_t i, const char *text);
void words_close(struct words *words);

#endif
