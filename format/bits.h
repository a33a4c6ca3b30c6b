/* bits.h - fields of any width in a string of bytes.
 *
 * The packed table is a handful of bit arrays. Bit n of an array is bit n % 8 of its byte n / 8,
 * and a field of w bits that starts at bit n has its lowest bit there: the order in which a
 * little-endian machine sees its own words. A read is thus one unaligned load, a shift and a mask,
 * wherever the field lies; the price is that a load may reach up to 8 bytes past the field, so
 * every table ends in 8 bytes of padding (BITS_PADDING).
 *
 * A bit_reader knows where its array ends. A read that would cross the end returns 0 and makes the
 * reader `bad`, once and for all: code that decodes hostile bytes runs on with harmless zeros and
 * looks at `bad` once, at the end.
 */
#ifndef STACKPACK_BITS_H
#define STACKPACK_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "LLVM's stack maps and this table are read in place, in the little-endian order they have"
#endif

enum { BITS_PADDING = 8 };

struct bit_array {
  const uint8_t *bytes;
  uint64_t size; /* in bits; at least BITS_PADDING readable bytes lie behind the last one */
};

struct bit_reader {
  const uint8_t *bytes;
  uint64_t position;
  uint64_t end;
  bool bad;
};

static inline uint64_t bits_low_mask(unsigned width) {
  return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

/* The same for widths below 64, which needs no comparison. */
static inline uint64_t bits_short_mask(unsigned width) { return ((uint64_t)1 << width) - 1; }

/* How many bits are 1. Without an instruction for it, as in plain x86-64, gcc calls a function;
 * this is the well-known sum of ever wider fields, in a dozen instructions. */
static inline unsigned bits_count(uint64_t word) {
#if defined __POPCNT__ || defined __aarch64__
  return (unsigned)__builtin_popcountll(word);
#else
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (unsigned)(word * 0x0101010101010101u >> 56);
#endif
}

/* The place of the n-th 1 (from 0) of a word that has more than n. The multiplication leaves in
 * each byte the number of 1s up to its end; then all bytes are compared with n at once, which gives
 * the byte. The same is done with its bits, each spread to a byte of its own. (Vigna, "Broadword
 * Implementation of Rank/Select Queries", 2008) */
static inline unsigned bits_select(uint64_t word, unsigned n) {
  const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
  uint64_t sums = word - (word >> 1 & 0x5555555555555555u);
  sums = (sums & 0x3333333333333333u) + (sums >> 2 & 0x3333333333333333u);
  sums = ((sums + (sums >> 4)) & 0x0f0f0f0f0f0f0f0fu) * ones;
  const uint64_t bytes_passed = ((n * ones | highs) - sums) & highs;
  const unsigned byte = (unsigned)((bytes_passed >> 7) * ones >> 56) * 8;
  const uint64_t left = n - (sums << 8 >> byte & 0xff);
  const uint64_t spread = (word >> byte & 0xff) * ones & 0x8040201008040201u;
  const uint64_t counts = ((spread | ((spread | highs) - ones)) & highs) >> 7;
  const uint64_t bits_passed = ((left * ones | highs) - counts * ones) & highs;
  return byte + (unsigned)((bits_passed >> 7) * ones >> 56);
}

/* Whether the processor at hand has quick instructions for these. (On AMD's Zen 1 and 2, pdep and
 * pext take longer than what they replace.) */
static inline bool bits_processor_is_quick(void) {
#ifdef __x86_64__
  __builtin_cpu_init();
  return __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") &&
         !__builtin_cpu_is("znver2");
#else
  return false;
#endif
}

/* Moves the low bits of a word to the places of the 1s in `map`, in order. */
static inline uint64_t bits_deposit(uint64_t bits, uint64_t map) {
  uint64_t result = 0;
  for (; bits != 0 && map != 0; bits >>= 1, map &= map - 1)
    result |= bits & 1 ? map & -map : 0;
  return result;
}

/* The contrary: moves the bits of a word that stand at the 1s in `map` to the lowest places. */
static inline uint64_t bits_extract(uint64_t bits, uint64_t map) {
  uint64_t result = 0;
  for (unsigned n = 0; map != 0; map &= map - 1, n++)
    result |= (bits & map & -map) != 0 ? (uint64_t)1 << n : 0;
  return result;
}

/* The same four, with these instructions where `quick` says that they are there. They are written
 * in assembly, so that they can be compiled into code for any processor. */
static inline unsigned bits_quick_count(uint64_t word, bool quick) {
#ifdef __x86_64__
  if (quick) {
    uint64_t count;
    __asm__("popcnt %1, %0" : "=r"(count) : "r"(word) : "cc");
    return (unsigned)count;
  }
#else
  (void)quick;
#endif
  return bits_count(word);
}

static inline uint64_t bits_quick_deposit(uint64_t bits, uint64_t map, bool quick) {
#ifdef __x86_64__
  if (quick) {
    uint64_t result;
    __asm__("pdep %2, %1, %0" : "=r"(result) : "r"(bits), "r"(map));
    return result;
  }
#else
  (void)quick;
#endif
  return bits_deposit(bits, map);
}

static inline uint64_t bits_quick_extract(uint64_t bits, uint64_t map, bool quick) {
#ifdef __x86_64__
  if (quick) {
    uint64_t result;
    __asm__("pext %2, %1, %0" : "=r"(result) : "r"(bits), "r"(map));
    return result;
  }
#else
  (void)quick;
#endif
  return bits_extract(bits, map);
}

static inline unsigned bits_quick_select(uint64_t word, unsigned n, bool quick) {
  if (quick)
    return (unsigned)__builtin_ctzll(bits_quick_deposit((uint64_t)1 << n, word, true));
  return bits_select(word, n);
}

/* The number of bits that hold every number below `count`: 0 for counts of 0 and 1. */
static inline unsigned bits_for_count(uint64_t count) {
  return count <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(count - 1);
}

/* The bytes that `bits` bits take. */
static inline uint64_t bits_to_bytes(uint64_t bits) { return bits / 8 + (bits % 8 != 0); }

/* For qsort: the order of two 64-bit words. */
static inline int bits_compare_words(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* How many of words[0..count), which ascend, are below one. */
static inline uint64_t bits_words_below(const uint64_t *words, uint64_t count, uint64_t word) {
  uint64_t from = 0, to = count;
  while (from < to) {
    const uint64_t middle = from + (to - from) / 2;
    if (words[middle] < word)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

static inline uint64_t bits_load64(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

static inline uint32_t bits_load32(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

static inline uint16_t bits_load16(const uint8_t *bytes) {
  return (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* The field of `width` (0 to 57) bits at bit `position`, which the caller knows to be inside. */
static inline uint64_t bits_at(const uint8_t *bytes, uint64_t position, unsigned width) {
  return bits_load64(bytes + position / 8) >> position % 8 & bits_short_mask(width);
}

/* The same for widths up to 64. */
static inline uint64_t bits_at_wide(const uint8_t *bytes, uint64_t position, unsigned width) {
  if (width <= 57)
    return bits_at(bytes, position, width);
  return bits_at(bytes, position, 32) | bits_at(bytes, position + 32, width - 32) << 32;
}

/* The 64 bits from any bit on that is inside; what is behind the end is padding. */
static inline uint64_t bits_word(const uint8_t *bytes, uint64_t position) {
  const uint8_t *at = bytes + position / 8;
  const unsigned shift = position % 8;
  return bits_load64(at) >> shift | (uint64_t)at[8] << 1 << (63 - shift);
}

/* How many of `count` bits from any bit on are 1. */
static inline uint64_t bits_quick_ones(const uint8_t *bytes, uint64_t position, uint64_t count,
                                       bool quick) {
  uint64_t sum = 0;
  for (; count > 0; position += 64) {
    const unsigned width = count < 64 ? (unsigned)count : 64;
    sum += bits_quick_count(bits_word(bytes, position) & bits_low_mask(width), quick);
    count -= width;
  }
  return sum;
}

/* Which of `count` bits from any bit on is the last 1; `count` if there is none. */
static inline uint64_t bits_last_one(const uint8_t *bytes, uint64_t position, uint64_t count) {
  enum { WIDTH = 56 };
  for (uint64_t left = count; left > 0;) {
    const unsigned width = left < WIDTH ? (unsigned)left : WIDTH;
    left -= width;
    const uint64_t word = bits_at(bytes, position + left, width);
    if (word != 0)
      return left + 63 - (unsigned)__builtin_clzll(word);
  }
  return count;
}

static inline struct bit_reader bit_reader_at(struct bit_array array, uint64_t position) {
  const bool inside = position <= array.size;
  return (struct bit_reader){array.bytes, inside ? position : array.size, array.size, !inside};
}

/* Whether `width` more bits can be read; if not, the reader is bad from now on. */
static inline bool bit_reader_has(struct bit_reader *reader, uint64_t width) {
  if (width <= reader->end - reader->position)
    return true;
  reader->position = reader->end;
  reader->bad = true;
  return false;
}

/* The next `width` (0 to 64) bits. */
static inline uint64_t bit_reader_take(struct bit_reader *reader, unsigned width) {
  if (!bit_reader_has(reader, width))
    return 0;
  const uint64_t value = bits_at_wide(reader->bytes, reader->position, width);
  reader->position += width;
  return value;
}

/* Passes over `count` fields of `width` (at most 64) bits. */
static inline void bit_reader_skip(struct bit_reader *reader, uint64_t count, unsigned width) {
  if (width == 0)
    return;
  if (count > (reader->end - reader->position) / width) {
    reader->position = reader->end;
    reader->bad = true;
    return;
  }
  reader->position += count * width;
}

/* Elias's gamma code of a number n >= 0, coded as n + 1: one 0 bit for each bit of n + 1 after the
 * first, a 1, then these bits, the lowest first. 0 is "1", 1 and 2 are 3 bits, 3 to 6 are 5 bits.
 * Numbers are below 2^28, so that one load sees a whole code. */
enum { BITS_GAMMA_MAX = (1 << 28) - 2 };

static inline uint64_t bit_reader_gamma(struct bit_reader *reader) {
  if (reader->position >= reader->end) {
    reader->bad = true;
    return 0;
  }
  const uint64_t word = bits_at(reader->bytes, reader->position, 57);
  const unsigned zeros = word == 0 ? 57 : (unsigned)__builtin_ctzll(word);
  if (zeros > 27 || !bit_reader_has(reader, 2 * zeros + 1)) {
    reader->bad = true;
    reader->position = reader->end;
    return 0;
  }
  reader->position += 2 * zeros + 1;
  return ((uint64_t)1 << zeros) + (word >> (zeros + 1) & bits_low_mask(zeros)) - 1;
}

/* Rice's code of a number with a parameter below 32: the number >> parameter in 1s, a 0, then the
 * lowest `parameter` bits. But 32 ones, without a 0, are followed by the number in 64 bits. */
enum { BITS_RICE_UNARY_MAX = 32 };

static inline uint64_t bit_reader_rice(struct bit_reader *reader, unsigned parameter) {
  const uint64_t zeros = ~bits_at(reader->bytes, reader->position, BITS_RICE_UNARY_MAX);
  const unsigned unary = (unsigned)__builtin_ctzll(zeros);
  if (unary == BITS_RICE_UNARY_MAX) {
    bit_reader_take(reader, BITS_RICE_UNARY_MAX);
    return bit_reader_take(reader, 64);
  }
  bit_reader_take(reader, unary + 1);
  return (uint64_t)unary << parameter | bit_reader_take(reader, parameter);
}

static inline unsigned bits_gamma_width(uint64_t value) {
  return 2 * (63 - (unsigned)__builtin_clzll(value + 1)) + 1;
}

static inline uint64_t bits_rice_width(uint64_t number, unsigned parameter) {
  const uint64_t unary = number >> parameter;
  return unary < BITS_RICE_UNARY_MAX ? unary + 1 + parameter : BITS_RICE_UNARY_MAX + 64;
}

/* The same for small numbers, of which a few may be large: 16 ones are followed by what is above
 * 16 << parameter, shifted and in gamma code, and then by the lowest bits. */
enum { BITS_SMALL_UNARY_MAX = 16 };

static inline uint64_t bit_reader_small(struct bit_reader *reader, unsigned parameter) {
  const uint64_t zeros = ~bits_at(reader->bytes, reader->position, BITS_SMALL_UNARY_MAX);
  uint64_t high = (unsigned)__builtin_ctzll(zeros);
  bit_reader_take(reader, (unsigned)high + (high < BITS_SMALL_UNARY_MAX));
  if (high == BITS_SMALL_UNARY_MAX)
    high += bit_reader_gamma(reader);
  return high << parameter | bit_reader_take(reader, parameter);
}

static inline uint64_t bits_small_width(uint64_t number, unsigned parameter) {
  const uint64_t high = number >> parameter;
  return high < BITS_SMALL_UNARY_MAX
             ? high + 1 + parameter
             : BITS_SMALL_UNARY_MAX + bits_gamma_width(high - BITS_SMALL_UNARY_MAX) + parameter;
}

/* How many bits numbers take, all together, with each parameter that may be chosen. */
enum { BITS_PARAMETERS = 24 };
struct bits_widths {
  uint64_t sums[BITS_PARAMETERS];
};

static inline void bits_add_rice(struct bits_widths *widths, uint64_t number) {
  for (unsigned parameter = 0; parameter < BITS_PARAMETERS; parameter++)
    widths->sums[parameter] += bits_rice_width(number, parameter);
}

static inline void bits_add_small(struct bits_widths *widths, uint64_t number) {
  for (unsigned parameter = 0; parameter < BITS_PARAMETERS; parameter++)
    widths->sums[parameter] += bits_small_width(number, parameter);
}

/* The parameter that makes them shortest; of equally short ones, the least. */
unsigned bits_best_parameter(const struct bits_widths *widths);

/* A string of bits that grows. When memory runs out, `failed` is set and it stops growing. */
struct bit_writer {
  uint8_t *bytes; /* owned: free() */
  uint64_t size;  /* in bits */
  uint64_t capacity;
  bool failed;
};

void bit_writer_free(struct bit_writer *writer);
/* Appends the `width` (0 to 64) lowest bits of a value, however little room there is. */
void bit_writer_append(struct bit_writer *writer, uint64_t value, unsigned width);

/* The same: nearly always, there is room. A word is written behind the last bit. */
static inline void bit_writer_put(struct bit_writer *writer, uint64_t value, unsigned width) {
  const uint64_t byte = writer->size / 8;
  if (width > 56 || byte + 2 * sizeof value > writer->capacity) {
    bit_writer_append(writer, value, width);
    return;
  }
  const uint64_t word = bits_load64(writer->bytes + byte) | (value & bits_short_mask(width))
                                                                << writer->size % 8;
  memcpy(writer->bytes + byte, &word, sizeof word);
  writer->size += width;
}

void bit_writer_gamma(struct bit_writer *writer, uint64_t value);
void bit_writer_rice(struct bit_writer *writer, uint64_t number, unsigned parameter);
/* number >> parameter is at most BITS_GAMMA_MAX. */
void bit_writer_small(struct bit_writer *writer, uint64_t number, unsigned parameter);
/* Appends zeros up to a whole byte. */
void bit_writer_align(struct bit_writer *writer);
/* Appends bits [from, from + count) of another array, which is padded. */
void bit_writer_copy(struct bit_writer *writer, const uint8_t *bytes, uint64_t from,
                     uint64_t count);

#endif
