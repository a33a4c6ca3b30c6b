/* bits_read.c - the rarer cases of the reading side of bits.h. */
#include "format/bits.h"

/* The number of the first `count` two-byte numbers that are less than `value`. They ascend, and all
 * are compared at once. */
static inline unsigned pairs_below(const uint8_t *numbers, unsigned count, uint16_t value) {
  assert(count <= BITS_HALVED_TO);
#if defined __SSE2__
  const __m128i all = _mm_loadu_si128((const __m128i *)numbers);
  const __m128i distances = _mm_subs_epu16(_mm_set1_epi16((short)value), all); /* 0: not less */
  const __m128i others = _mm_cmpeq_epi16(distances, _mm_setzero_si128());
  const unsigned bytes = (unsigned)_mm_movemask_epi8(others);
  return (unsigned)__builtin_ctz(bytes | 1u << 2 * count) / 2;
#elif defined __ARM_NEON
  const uint16x8_t all = vreinterpretq_u16_u8(vld1q_u8(numbers));
  const uint8x8_t others = vmovn_u16(vcgeq_u16(all, vdupq_n_u16(value)));
  const uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(others), 0);
  const unsigned below = mask == 0 ? BITS_HALVED_TO : (unsigned)__builtin_ctzll(mask) / 8;
  return below < count ? below : count;
#else
  unsigned below = 0;
  for (unsigned i = 0; i < count; i++)
    below += bits_load16(numbers + 2 * i) < value;
  return below;
#endif
}

/* Halves, until one comparison has all; branch-free, as a branch would be mispredicted often. */
uint64_t bits_large_numbers_below(const uint8_t *numbers, uint64_t count, unsigned size,
                                  uint64_t value) {
  const uint8_t *from = numbers;
  uint64_t below = 0;
  while (count > BITS_HALVED_TO) {
    const uint64_t half = count / 2;
    const bool is_above = bits_load(from + (half - 1) * size, size) < value;
    from += is_above ? half * size : 0;
    below += is_above ? half : 0;
    count -= half;
  }
  if (size == 2 && value <= UINT16_MAX)
    return below + pairs_below(from, (unsigned)count, (uint16_t)value);
  for (; count > 0; count--, from += size)
    below += bits_load(from, size) < value;
  return below;
}
