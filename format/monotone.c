/* monotone.c - see monotone.h for the idea.
 *
 * Reading must survive bytes that no encoder wrote: bits and samples may hold anything. So a place
 * that was read is clamped to the vector, and every loop ends at the vector's end. Wrong bytes may
 * thus give a wrong element, but always one inside the sequence. A cursor's index never exceeds its
 * place, and its place never exceeds high_bits.
 */
#include "format/monotone.h"

static unsigned monotone_low_width(uint64_t count, uint64_t maximum) {
  const uint64_t gap = count == 0 ? 0 : maximum / count;
  return gap == 0 ? 0 : 63 - (unsigned)__builtin_clzll(gap);
}

static unsigned monotone_shift(enum monotone_use use) {
  return use == MONOTONE_FIND ? MONOTONE_FIND_SHIFT : MONOTONE_GET_SHIFT;
}

bool monotone_shape(struct monotone_shape *shape, uint64_t count, uint64_t maximum,
                    enum monotone_use use) {
  if (count > UINT32_MAX)
    return false;
  const unsigned low_width = monotone_low_width(count, maximum);
  const uint64_t buckets = count == 0 ? 0 : (maximum >> low_width) + 1;
  const uint64_t high_bits = count + buckets;
  if (high_bits > UINT32_MAX)
    return false;
  const uint64_t sampled = use == MONOTONE_FIND ? buckets : count;
  const unsigned shift = monotone_shift(use);
  const uint64_t samples = (sampled + bits_low_mask(shift)) >> shift;
  const unsigned sample_width = bits_for_count(high_bits);
  *shape = (struct monotone_shape){
      .count = count,
      .buckets = buckets,
      .high_bits = high_bits,
      .samples = samples,
      .low_width = low_width,
      .sample_width = sample_width,
      .low_size = bits_to_bytes(count * low_width),
      .high_size = bits_to_bytes(high_bits),
      .sample_size = bits_to_bytes(samples * sample_width),
  };
  return true;
}

/* Writes the bucket vector, and keeps each sampled place for later. */
static void monotone_write_high(struct bit_writer *writer, struct bit_writer *samples,
                                const uint64_t *numbers, const struct monotone_shape *shape,
                                enum monotone_use use) {
  const uint64_t sample_mask = bits_low_mask(monotone_shift(use));
  const uint64_t start = writer->size;
  uint64_t i = 0;
  for (uint64_t bucket = 0; bucket < shape->buckets; bucket++) {
    if (use == MONOTONE_FIND && (bucket & sample_mask) == 0)
      bit_writer_put(samples, writer->size - start, shape->sample_width);
    for (; i < shape->count && numbers[i] >> shape->low_width == bucket; i++) {
      if (use == MONOTONE_GET && (i & sample_mask) == 0)
        bit_writer_put(samples, writer->size - start, shape->sample_width);
      bit_writer_put(writer, 1, 1);
    }
    bit_writer_put(writer, 0, 1);
  }
}

void monotone_write(struct bit_writer *writer, const uint64_t *numbers, uint64_t count,
                    uint64_t maximum, enum monotone_use use) {
  struct monotone_shape shape;
  if (!monotone_shape(&shape, count, maximum, use)) {
    writer->failed = true;
    return;
  }
  for (uint64_t i = 0; i < count; i++)
    bit_writer_put(writer, numbers[i] & bits_low_mask(shape.low_width), shape.low_width);
  bit_writer_align(writer);
  struct bit_writer samples = {0};
  monotone_write_high(writer, &samples, numbers, &shape, use);
  bit_writer_align(writer);
  bit_writer_copy(writer, samples.bytes, 0, samples.size);
  bit_writer_align(writer);
  writer->failed |= samples.failed;
  bit_writer_free(&samples);
}

struct monotone monotone_open(const uint8_t *bytes, const struct monotone_shape *shape) {
  return (struct monotone){
      .low = bytes,
      .high = bytes + shape->low_size,
      .samples = bytes + shape->low_size + shape->high_size,
      .count = shape->count,
      .buckets = shape->buckets,
      .high_bits = shape->high_bits,
      .near_words = shape->high_bits / 64,
      .low_width = (uint8_t)shape->low_width,
      .sample_width = (uint8_t)shape->sample_width,
      .quick = bits_processor_is_quick(),
  };
}

static inline uint64_t monotone_word(const struct monotone *sequence, uint64_t word) {
  return bits_load64(sequence->high + word * 8);
}

/* The place of the n-th (from 0) bit that is set in words ^ flip, counted from `place` on: a word
 * after the other. */
static uint64_t monotone_select_far(const struct monotone *sequence, uint64_t place, uint64_t n,
                                    uint64_t flip) {
  uint64_t word = place / 64;
  const uint64_t last = sequence->high_bits / 64;
  uint64_t bits = (monotone_word(sequence, word) ^ flip) & ~bits_low_mask(place % 64);
  for (;;) {
    const unsigned ones = bits_quick_count(bits, sequence->quick);
    if (n < ones)
      return word * 64 + bits_quick_select(bits, (unsigned)n, sequence->quick);
    if (word >= last)
      return sequence->high_bits;
    n -= ones;
    bits = monotone_word(sequence, ++word) ^ flip;
  }
}

/* The same. The bit is nearly always in one of the next four words, but in which of them no
 * processor can foresee: so all four are counted, and no branch depends on them. */
static inline uint64_t monotone_select_near(const struct monotone *sequence, uint64_t place,
                                            uint64_t n, uint64_t flip, bool quick) {
  const uint64_t word = place / 64;
  if (word + 4 > sequence->near_words)
    return monotone_select_far(sequence, place, n, flip);
  const uint64_t w0 = (monotone_word(sequence, word) ^ flip) & ~bits_short_mask(place % 64);
  const uint64_t w1 = monotone_word(sequence, word + 1) ^ flip;
  const uint64_t w2 = monotone_word(sequence, word + 2) ^ flip;
  const uint64_t w3 = monotone_word(sequence, word + 3) ^ flip;
  const uint64_t up_to_1 = bits_quick_count(w0, quick);
  const uint64_t up_to_2 = up_to_1 + bits_quick_count(w1, quick);
  const uint64_t up_to_3 = up_to_2 + bits_quick_count(w2, quick);
  if (n >= up_to_3 + bits_quick_count(w3, quick))
    return monotone_select_far(sequence, place, n, flip);
  const uint64_t i = (uint64_t)(n >= up_to_1) + (n >= up_to_2) + (n >= up_to_3);
  uint64_t bits = n >= up_to_1 ? w1 : w0, before = n >= up_to_1 ? up_to_1 : 0;
  bits = n >= up_to_2 ? w2 : bits, before = n >= up_to_2 ? up_to_2 : before;
  bits = n >= up_to_3 ? w3 : bits, before = n >= up_to_3 ? up_to_3 : before;
  return (word + i) * 64 + bits_quick_select(bits, (unsigned)(n - before), quick);
}

static inline uint64_t monotone_select(const struct monotone *sequence, uint64_t place, uint64_t n,
                                       uint64_t flip) {
  return sequence->quick ? monotone_select_near(sequence, place, n, flip, true)
                         : monotone_select_near(sequence, place, n, flip, false);
}

/* The place of the first such bit. */
static inline uint64_t monotone_first(const struct monotone *sequence, uint64_t place,
                                      uint64_t flip) {
  uint64_t word = place / 64;
  const uint64_t last = sequence->high_bits / 64;
  uint64_t bits = (monotone_word(sequence, word) ^ flip) & ~bits_low_mask(place % 64);
  while (bits == 0 && word < last)
    bits = monotone_word(sequence, ++word) ^ flip;
  return bits == 0 ? sequence->high_bits : word * 64 + (uint64_t)__builtin_ctzll(bits);
}

static uint64_t monotone_sample(const struct monotone *sequence, uint64_t number) {
  const unsigned width = sequence->sample_width;
  const uint64_t place = bits_at(sequence->samples, sequence->sample_skip + number * width, width);
  return place <= sequence->high_bits ? place : sequence->high_bits;
}

/* A cursor at a place, with its index made to fit whatever the bits say. */
static struct monotone_cursor monotone_at(const struct monotone *sequence, uint64_t index,
                                          uint64_t place) {
  if (place > sequence->high_bits)
    place = sequence->high_bits;
  if (index > sequence->count)
    index = sequence->count;
  return (struct monotone_cursor){index <= place ? index : place, place};
}

/* Where bucket number `bucket` < buckets starts. */
static struct monotone_cursor monotone_bucket(const struct monotone *sequence, uint64_t bucket) {
  const uint64_t rest = bucket & bits_low_mask(MONOTONE_FIND_SHIFT);
  uint64_t place = monotone_sample(sequence, bucket >> MONOTONE_FIND_SHIFT);
  if (rest > 0)
    place = monotone_select(sequence, place, rest - 1, UINT64_MAX) + 1;
  return monotone_at(sequence, place < bucket ? 0 : place - bucket, place);
}

/* How many elements stand in the bucket that starts at `start`: the 1s up to the next 0. */
static uint64_t monotone_run(const struct monotone *sequence, struct monotone_cursor start) {
  const uint64_t run = monotone_first(sequence, start.place, UINT64_MAX) - start.place;
  const uint64_t left = sequence->count - start.index;
  return run < left ? run : left;
}

/* How many of a bucket's first `run` elements have low bits below `low`, by bisection. */
static uint64_t monotone_below_far(const struct monotone *sequence, uint64_t start, uint64_t run,
                                   uint64_t low) {
  const unsigned width = sequence->low_width;
  uint64_t from = 0, to = run;
  while (from < to) {
    const uint64_t middle = from + (to - from) / 2;
    if (bits_at_wide(sequence->low, sequence->low_skip + (start + middle) * width, width) < low)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* The same. Nearly all buckets have at most four elements: these are compared without branches. */
static inline uint64_t monotone_below(const struct monotone *sequence, uint64_t start, uint64_t run,
                                      uint64_t low) {
  const unsigned width = sequence->low_width;
  if (run > 4 || width > 14)
    return monotone_below_far(sequence, start, run, low);
  const uint64_t mask = bits_short_mask(width);
  const uint64_t f0 = bits_at(sequence->low, sequence->low_skip + start * width, 4 * width);
  const uint64_t f1 = f0 >> width;
  const uint64_t f2 = f1 >> width, f3 = f2 >> width;
  return (uint64_t)((0 < run) & ((f0 & mask) < low)) + ((1 < run) & ((f1 & mask) < low)) +
         ((2 < run) & ((f2 & mask) < low)) + ((3 < run) & ((f3 & mask) < low));
}

struct monotone_cursor monotone_find(const struct monotone *sequence, uint64_t x) {
  const uint64_t bucket = x >> sequence->low_width;
  if (bucket >= sequence->buckets)
    return (struct monotone_cursor){sequence->count, sequence->high_bits};
  const struct monotone_cursor start = monotone_bucket(sequence, bucket);
  const uint64_t run = monotone_run(sequence, start);
  const uint64_t below =
      monotone_below(sequence, start.index, run, x & bits_low_mask(sequence->low_width));
  const struct monotone_cursor cursor =
      monotone_at(sequence, start.index + below, start.place + below);
  return below < run
             ? cursor
             : monotone_at(sequence, cursor.index, monotone_first(sequence, cursor.place, 0));
}

/* The last sampled bucket that starts at or before element `index`. */
static struct monotone_cursor monotone_bisect(const struct monotone *sequence, uint64_t index) {
  uint64_t from = 0, to = (sequence->buckets - 1) >> MONOTONE_FIND_SHIFT;
  while (from < to) {
    const uint64_t middle = from + (to - from + 1) / 2;
    const uint64_t bucket = middle << MONOTONE_FIND_SHIFT;
    const uint64_t place = monotone_sample(sequence, middle);
    if (place < bucket || place - bucket > index)
      to = middle - 1;
    else
      from = middle;
  }
  const uint64_t place = monotone_sample(sequence, from);
  const uint64_t bucket = from << MONOTONE_FIND_SHIFT;
  if (place < bucket || place - bucket > index)
    return (struct monotone_cursor){0, 0};
  return (struct monotone_cursor){place - bucket, place};
}

struct monotone_cursor monotone_get(const struct monotone *sequence, uint64_t index,
                                    enum monotone_use use) {
  struct monotone_cursor start;
  if (use == MONOTONE_FIND) {
    start = monotone_bisect(sequence, index);
  } else {
    const uint64_t sampled = index >> MONOTONE_GET_SHIFT;
    start.index = sampled << MONOTONE_GET_SHIFT;
    start.place = monotone_sample(sequence, sampled);
  }
  return monotone_at(sequence, index,
                     monotone_select(sequence, start.place, index - start.index, 0));
}

struct monotone_cursor monotone_next(const struct monotone *sequence,
                                     struct monotone_cursor cursor) {
  if (cursor.place >= sequence->high_bits)
    return (struct monotone_cursor){sequence->count, sequence->high_bits};
  return monotone_at(sequence, cursor.index + 1, monotone_first(sequence, cursor.place + 1, 0));
}

bool monotone_check(const struct monotone *sequence, enum monotone_use use) {
  const uint64_t sampled_bit = use == MONOTONE_GET;
  const uint64_t mask = bits_low_mask(monotone_shift(use));
  uint64_t counts[2] = {0, 0};
  for (uint64_t place = 0; place < sequence->high_bits; place++) {
    /* A bucket's sample is where it starts: behind the 0 before. An element's is its own place. */
    const uint64_t bit = monotone_word(sequence, place / 64) >> place % 64 & 1;
    const bool starts =
        use == MONOTONE_GET
            ? bit == 1
            : place == 0 ||
                  (monotone_word(sequence, (place - 1) / 64) >> (place - 1) % 64 & 1) == 0;
    const uint64_t number = counts[sampled_bit];
    if (starts && (number & mask) == 0 &&
        monotone_sample(sequence, number >> monotone_shift(use)) != place)
      return false;
    counts[bit]++;
  }
  return counts[1] == sequence->count && counts[0] == sequence->buckets;
}
