/* sources_pairs.h - a text in which frequent pairs of bytes are one: names, for a part of sources.
 */
#ifndef STACKPACK_SOURCES_PAIRS_H
#define STACKPACK_SOURCES_PAIRS_H

#include "format/sources.h"

/* Codes are the bytes of the text first, and then pairs of codes. */
struct sources_pairs {
  uint8_t literals[SOURCES_CODES];
  uint8_t codes[2 * SOURCES_CODES]; /* of each pair, left and right */
  unsigned literal_count, pair_count;
};

/* Finds pairs for text[0..*size), names with their final 0s, and replaces bytes by codes. The 0s
 * stay: they are code 0, and in no pair. False if memory runs out. */
bool sources_pairs_make(struct sources_pairs *pairs, uint8_t *text, size_t *size);

#endif
