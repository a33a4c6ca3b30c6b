/* choice.h - an option's value that is one of a few words. */
#ifndef STACKPACK_CHOICE_H
#define STACKPACK_CHOICE_H

#include <stdbool.h>
#include <string.h>

/* Finds which of names[0..count) a word is. False if it's another one. */
static inline bool choice_find(const char *word, const char *const *names, unsigned count,
                               unsigned *choice) {
  for (unsigned i = 0; i < count; i++)
    if (strcmp(word, names[i]) == 0) {
      *choice = i;
      return true;
    }
  return false;
}

#endif
