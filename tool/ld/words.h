/* words.h - a list of words, as execve takes it. */
#ifndef STACKPACK_LD_WORDS_H
#define STACKPACK_LD_WORDS_H

#include <stddef.h>

struct words {
  char **items; /* owned, each and all; a NULL after the last, if there is any */
  size_t count, capacity;
};

/* Adds a copy of a word; of all words of another list. */
void words_add(struct words *words, const char *text);
void words_add_all(struct words *words, const struct words *others);
void words_close(struct words *words);

#endif
