/* sources_pairs.c - finds pairs. Their counts follow each replacement, so that a pair takes one
 * pass over the text. */
#include "format/sources_pairs.h"

#include <assert.h>
#include <stdlib.h>

enum { PAIR_WORTH = 5 }; /* a pair that is found less often takes more than it saves */

/* Numbers the bytes that occur; 0 is code 0. */
static void code_bytes(struct sources_pairs *pairs, uint8_t *text, size_t size) {
  uint8_t codes[SOURCES_CODES] = {0};
  bool occurs[SOURCES_CODES] = {true};
  for (size_t i = 0; i < size; i++)
    occurs[text[i]] = true;
  for (unsigned i = 0; i < SOURCES_CODES; i++)
    if (occurs[i]) {
      codes[i] = (uint8_t)pairs->literal_count;
      pairs->literals[pairs->literal_count++] = (uint8_t)i;
    }
  for (size_t i = 0; i < size; i++)
    text[i] = codes[text[i]];
}

/* The most frequent pair, the lowest one of several. False: none is worth a code. */
static bool find_pair(const uint32_t *counts, const uint8_t *lengths, unsigned codes, uint8_t *left,
                      uint8_t *right) {
  uint32_t most = PAIR_WORTH - 1;
  for (unsigned l = 1; l < codes; l++)
    for (unsigned r = 1; r < codes; r++)
      if (counts[l * SOURCES_CODES + r] > most && lengths[l] + lengths[r] <= SOURCES_CODE_MAX) {
        most = counts[l * SOURCES_CODES + r];
        *left = (uint8_t)l;
        *right = (uint8_t)r;
      }
  return most >= PAIR_WORTH;
}

static size_t replace(uint8_t *text, size_t size, uint32_t *counts, uint8_t left, uint8_t right,
                      uint8_t code) {
  size_t to = 0;
  for (size_t from = 0; from < size;) {
    if (from + 1 == size || text[from] != left || text[from + 1] != right) {
      text[to++] = text[from++];
      continue;
    }
    assert(counts[left * SOURCES_CODES + right] > 0);
    counts[left * SOURCES_CODES + right]--;
    if (to > 0) {
      counts[text[to - 1] * SOURCES_CODES + left]--;
      counts[text[to - 1] * SOURCES_CODES + code]++;
    }
    from += 2;
    if (from < size) {
      counts[right * SOURCES_CODES + text[from]]--;
      counts[code * SOURCES_CODES + text[from]]++;
    }
    text[to++] = code;
  }
  return to;
}

bool sources_pairs_make(struct sources_pairs *pairs, uint8_t *text, size_t *size) {
  uint32_t *counts = calloc((size_t)SOURCES_CODES * SOURCES_CODES, sizeof *counts);
  uint8_t lengths[SOURCES_CODES];
  uint8_t left, right;
  if (counts == NULL)
    return false;
  *pairs = (struct sources_pairs){0};
  memset(lengths, 1, sizeof lengths);
  code_bytes(pairs, text, *size);
  for (size_t i = 1; i < *size; i++)
    counts[text[i - 1] * SOURCES_CODES + text[i]]++;
  for (unsigned code = pairs->literal_count;
       code < SOURCES_CODES && find_pair(counts, lengths, code, &left, &right); code++) {
    lengths[code] = lengths[left] + lengths[right];
    pairs->codes[2 * pairs->pair_count] = left;
    pairs->codes[2 * pairs->pair_count++ + 1] = right;
    *size = replace(text, *size, counts, left, right, (uint8_t)code);
  }
  free(counts);
  return true;
}
