/* frames_find.h - finds the facts of most frames, as frames_read.c draws them, in line: a walk asks
 * for them at each frame.
 */
#ifndef STACKPACK_FRAMES_FIND_H
#define STACKPACK_FRAMES_FIND_H

#include "format/bits.h"
#include "format/frames.h"
#include "format/frames_bytes.h"
#include "format/packed.h"

/* ---- Shapes ---- */

/* frames_read.c: the place of a shape; UINT64_MAX: there is none. */
uint64_t frames_find_shape(const struct frames_part *part, uint64_t number);

/* The view of shape `number`, for frames of a size; an unknown one if there is none. */
static inline struct frame_view sized_view(const struct frames_part *part, uint64_t number,
                                           uint64_t size) {
  const uint64_t place =
      number < part->noted_shapes ? part->shape_places[number] : frames_find_shape(part, number);
  if (place == UINT64_MAX)
    return (struct frame_view){0};
  const uint8_t *at = part->shapes + place;
  const uint8_t first = *at++, count = *at++;
  if (count == FRAMES_UNKNOWN)
    return (struct frame_view){0};
  struct frame_view view = {.is_known = true,
                            .is_signed = (first & FRAMES_SIGNED) != 0,
                            .cfa_register = first & FRAMES_REGISTER_MASK,
                            .place_count = count,
                            .cfa_offset = (int64_t)(size + part->machine.pushed_by_call)};
  if (view.cfa_register != part->machine.stack_pointer)
    view.cfa_offset = (int64_t)*at++ * FRAMES_WORD;
  if ((first & FRAMES_LOST) != 0) {
    view.lost = bits_load32(at);
    at += sizeof view.lost;
  }
  view.places = at;
  return view;
}

/* ---- Functions ---- */

/* Of each nibble, how many of its two tags are "another". */
static inline uint64_t count_others(uint64_t tags) {
  const uint64_t others = tags & tags >> 1 & 0x5555555555555555u, low = 0x3333333333333333u;
  return (others & low) + (others >> 2 & low);
}

/* The number of functions before this one with the tag "another". (The counts of four words stay
 * below 16 in a nibble, and their sum is at most TAGS_PER_SAMPLE.) */
static inline uint64_t others_before(const struct frames_part *part, uint32_t function) {
  enum { WORD = sizeof(uint64_t) };
  const uint32_t sample = function / TAGS_PER_SAMPLE;
  const uint8_t *tags = part->tags + (uint64_t)sample * (TAGS_PER_SAMPLE / TAGS_PER_WORD * WORD);
  unsigned left = function % TAGS_PER_SAMPLE;
  uint64_t counts = 0;
  for (; left >= TAGS_PER_WORD; left -= TAGS_PER_WORD, tags += WORD)
    counts += count_others(bits_load64(tags));
  counts += count_others(bits_load64(tags) & bits_low_mask(left * FRAMES_TAG_MAX));
  const uint64_t low = 0x0f0f0f0f0f0f0f0fu, sums = (counts & low) + (counts >> 4 & low);
  const uint64_t before = bits_from(part->samples, (uint64_t)sample * part->sample_width);
  return (before & part->sample_mask) + (sums * 0x0101010101010101u >> 56);
}

/* The number of a function's shape. A tag's bits are in one byte. */
static inline uint64_t shape_of(const struct frames_part *part, uint32_t function) {
  assert(function < part->function_count);
  const uint64_t tag = bits_from(part->tags, (uint64_t)function * part->tag_width) & part->tag_mask;
  if (tag != FRAMES_TAG_OTHER || part->other_width == 0)
    return tag;
  const uint64_t other = others_before(part, function);
  if (other >= part->other_count)
    return UINT64_MAX;
  return FRAMES_TAG_OTHER + (bits_from(part->others, other * part->other_width) & part->other_mask);
}

/* ---- Frames ---- */

/* frames_read.c: of a record whose shape or size may be an exception's. */
struct frame_view frames_find_exceptional(const struct frames_part *part, uint32_t function,
                                          uint32_t record, uint64_t size);

/* Of record `record` < record_count of function `function` < function_count, whose frame has `size`
 * bytes: LLVM's size (UINT64_MAX: unknown) and, with a known one, frames_extra. For any bytes of
 * the part, the view is inside. */
static inline struct frame_view frames_find(const struct frames_part *part, uint32_t function,
                                            uint32_t record, uint64_t size) {
  if (part->shape_width > 0 || size == UINT64_MAX)
    return frames_find_exceptional(part, function, record, size);
  return sized_view(part, shape_of(part, function), size);
}

/* Of a table's record, by the size of its frame. */
static inline struct frame_view packed_frame(const struct packed_record *record, uint64_t size) {
  const struct packed_table *table = record->table;
  return table->frames_size > 0 ? frames_find(&table->frames, record->stretch, record->index, size)
                                : (struct frame_view){0};
}

#endif
