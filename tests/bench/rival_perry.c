/* rival_perry.c - the size of a map in variable-length numbers with a flag for repeats, in the
 * manner of the Perry compiler's.
 *
 * An index with 8 bytes for each function: its start, and where its records are. There, in LEB128:
 * the frame size, and for each record its distance from the one before, with one bit for "lives the
 * same as there". Otherwise the number of pairs follows, and for each pair the base's offset
 * in words with one bit for "derived is the same", else the derived one's, too.
 */
#include "rival.h"

static size_t leb128_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 128; value >>= 7)
    size++;
  return size;
}

static uint64_t words_of(slot place) {
  const int64_t words = (place >> 8) / 8;
  return words < 0 ? (uint64_t)-words * 2 + 1 : (uint64_t)words * 2; /* zigzag */
}

static size_t live_size(const struct subject *subject, const struct site *site) {
  size_t size = leb128_size(site->pairs);
  for (uint32_t i = 0; i < site->pairs; i++) {
    const struct pair *pair = &subject->pairs[site->first_pair + i];
    size += leb128_size(words_of(pair->base) << 1);
    if (pair->base != pair->derived)
      size += leb128_size(words_of(pair->derived));
  }
  return size;
}

static bool lives_the_same(const struct subject *subject, const struct site *a,
                           const struct site *b) {
  bool same = a->pairs == b->pairs;
  for (uint32_t i = 0; same && i < a->pairs; i++) {
    const struct pair *left = &subject->pairs[a->first_pair + i];
    const struct pair *right = &subject->pairs[b->first_pair + i];
    same = left->base == right->base && left->derived == right->derived;
  }
  return same;
}

static void prepare(struct contender *contender) {
  const struct subject *subject = contender->subject;
  size_t size = 0;
  for (size_t i = 0; i < subject->site_count; i++) {
    const struct site *site = &subject->sites[i], *before = i > 0 ? site - 1 : NULL;
    const bool first = before == NULL || before->function != site->function;
    if (first)
      size += 8 + leb128_size((uint64_t)site->frame_size + 1);
    const uint64_t distance = site->address - (first ? site->function : before->address);
    size += leb128_size(distance << 1);
    if (first || !lives_the_same(subject, site, before))
      size += live_size(subject, site);
  }
  region_reserve(&contender->file, size);
  region_take(&contender->file, size, 1);
}

const struct rival rival_perry = {
    .name = "varints, as Perry's (size)",
    .visits = VISITS_NOTHING,
    .prepare = prepare,
};
