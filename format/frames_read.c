/* frames_read.c - reads the part of a packed table with the facts of frames: see frames.h.
 *
 * Frames differ in little. Compilers save registers in one order, a word each from the CFA down, so
 * a program has perhaps a dozen *shapes*: the register that the CFA is relative to, and the
 * registers saved below it. A function has one shape; and a CFA relative to the stack pointer is at
 * the distance of LLVM's frame size, except at the few records where arguments are pushed.
 * FORMAT.md defines the bytes:
 *
 *   head         machine, widths, counts
 *   shapes       the most frequent one first, as many bytes each as it needs
 *   tags         for each function 0 to 2 bits: shape 0, 1, 2, or one of the others
 *   samples      before each TAGS_PER_SAMPLE functions the number with one of the others
 *   others       for each of these functions the shape's number
 *   starts       the number of exceptions before each RECORDS_PER_START records
 *   numbers      of the few records whose size or shape is another one than their function's, in
 *                order: the lowest byte of each record's number
 *   exceptions   of each of these its shape, and its excess over LLVM's size
 */
#include "format/frames_find.h"

#include <assert.h>

/* ---- Shapes ---- */

/* The bytes of the shape at a place. UINT64_MAX: not all of them are before the shapes' end. */
static uint64_t shape_size(const struct frames_part *part, uint64_t place) {
  assert(place <= part->shapes_size);
  const uint8_t *at = part->shapes + place;
  const uint64_t left = part->shapes_size - place;
  if (left < 2)
    return UINT64_MAX;
  const bool is_known = at[1] != FRAMES_UNKNOWN;
  const bool has_offset = is_known && (at[0] & FRAMES_REGISTER_MASK) != part->machine.stack_pointer;
  const bool has_lost = is_known && (at[0] & FRAMES_LOST) != 0;
  const uint64_t size = 2u + has_offset + 4u * has_lost + (is_known ? at[1] : 0u);
  return size <= left ? size : UINT64_MAX;
}

uint64_t frames_find_shape(const struct frames_part *part, uint64_t number) {
  uint64_t place = 0;
  for (;; number--) {
    const uint64_t size = shape_size(part, place);
    if (size == UINT64_MAX || number == 0)
      return size == UINT64_MAX ? UINT64_MAX : place;
    place += size;
  }
}

/* ---- Opening ---- */

static bool take(const uint8_t *bytes, uint64_t size, uint64_t *place, uint64_t bits,
                 const uint8_t **part) {
  const uint64_t wanted = bits_to_bytes(bits);
  if (wanted > size - *place)
    return false;
  *part = bytes + *place;
  *place += wanted;
  return true;
}

/* Notes the places of the first shapes, which are the frequent ones. */
static void note_shapes(struct frames_part *part) {
  for (uint64_t place = 0; part->noted_shapes < FRAMES_NOTED_SHAPES && place <= UINT8_MAX;) {
    const uint64_t size = shape_size(part, place);
    if (size == UINT64_MAX)
      return;
    part->shape_places[part->noted_shapes++] = (uint8_t)place;
    place += size;
  }
}

bool frames_open(struct frames_part *part, const uint8_t *bytes, uint64_t size,
                 uint32_t function_count, uint32_t record_count) {
  if (size < FRAMES_HEAD_SIZE)
    return false;
  *part = (struct frames_part){
      .machine = {bytes[0], bytes[1], bytes[2]},
      .tag_width = bytes[3],
      .other_width = bytes[4],
      .shape_width = bytes[5],
      .extra_width = bytes[6],
      .shapes_size = bits_load32(bytes + 8),
      .other_count = bits_load32(bytes + 12),
      .exception_count = bits_load32(bytes + 16),
      .function_count = function_count,
      .record_count = record_count,
  };
  if (part->machine.stack_pointer >= FRAME_REGISTERS ||
      part->machine.return_register >= FRAME_REGISTERS || part->tag_width > FRAMES_TAG_MAX ||
      part->other_width > FRAMES_NUMBER_MAX || part->shape_width > FRAMES_NUMBER_MAX ||
      part->extra_width > FRAMES_EXTRA_MAX)
    return false;
  const uint64_t samples = part->other_width == 0 ? 0 : function_count / TAGS_PER_SAMPLE + 1;
  const uint64_t starts = part->exception_count == 0 ? 0 : record_count / RECORDS_PER_START + 2;
  part->start_width = (uint8_t)bits_for_count((uint64_t)part->exception_count + 1);
  part->sample_width = (uint8_t)bits_for_count((uint64_t)part->other_count + 1);
  part->exception_width = part->shape_width + part->extra_width;
  part->tag_mask = (uint8_t)bits_low_mask(part->tag_width);
  part->other_mask = (uint16_t)bits_low_mask(part->other_width);
  part->sample_mask = (uint32_t)bits_low_mask(part->sample_width);
  uint64_t place = FRAMES_HEAD_SIZE;
  if (!take(bytes, size, &place, (uint64_t)part->shapes_size * 8, &part->shapes))
    return false;
  note_shapes(part);
  return take(bytes, size, &place, (uint64_t)function_count * part->tag_width, &part->tags) &&
         take(bytes, size, &place, samples * part->sample_width, &part->samples) &&
         take(bytes, size, &place, (uint64_t)part->other_count * part->other_width,
              &part->others) &&
         take(bytes, size, &place, starts * part->start_width, &part->starts) &&
         take(bytes, size, &place, (uint64_t)part->exception_count * 8, &part->numbers) &&
         take(bytes, size, &place, (uint64_t)part->exception_count * part->exception_width,
              &part->exceptions);
}

/* ---- Exceptions ---- */

/* Where the exception of a record is, in bits; UINT64_MAX if it has none. Hardly any record has
 * one, but one of the records near it may well have: so all their numbers are compared, without a
 * branch to mispredict. */
static uint64_t exception_of(const struct frames_part *part, uint32_t record) {
  assert(record < part->record_count);
  if (part->exception_count == 0)
    return UINT64_MAX;
  const unsigned width = part->start_width;
  const uint64_t start = (uint64_t)(record / RECORDS_PER_START) * width;
  const uint64_t from_told = bits_at(part->starts, start, width);
  const uint64_t to_told = bits_at(part->starts, start + width, width);
  const uint64_t to = to_told < part->exception_count ? to_told : part->exception_count;
  const uint64_t from = from_told < to ? from_told : to;
  const uint8_t *numbers = part->numbers + from;
  const uint64_t nth = bits_numbers_below(numbers, to - from, 1, record % RECORDS_PER_START);
  const bool is_one = (nth < to - from) & (numbers[nth] == record % RECORDS_PER_START);
  return is_one ? (from + nth) * part->exception_width : UINT64_MAX;
}

bool frames_are_in_order(const struct frames_part *part) {
  const unsigned width = part->start_width;
  const uint64_t blocks =
      part->exception_count == 0 ? 0 : part->record_count / RECORDS_PER_START + 1;
  uint64_t from = 0;
  for (uint64_t block = 0; block < blocks; block++) {
    const uint64_t to = bits_at(part->starts, (block + 1) * width, width);
    if (bits_at(part->starts, block * width, width) != from || to < from ||
        to > part->exception_count)
      return false;
    for (uint64_t i = from; i + 1 < to; i++)
      if (part->numbers[i] >= part->numbers[i + 1])
        return false;
    from = to;
  }
  return from == part->exception_count;
}

static uint64_t extra_at(const struct frames_part *part, uint64_t exception) {
  return exception == UINT64_MAX
             ? 0
             : FRAMES_WORD *
                   bits_at(part->exceptions, exception + part->shape_width, part->extra_width);
}

uint64_t frames_extra(const struct frames_part *part, uint32_t record) {
  return extra_at(part, exception_of(part, record));
}

struct frame_view frames_find_exceptional(const struct frames_part *part, uint32_t function,
                                          uint32_t record, uint64_t size) {
  const uint64_t exception = exception_of(part, record);
  const uint64_t shape = exception != UINT64_MAX && part->shape_width > 0
                             ? bits_at(part->exceptions, exception, part->shape_width)
                             : shape_of(part, function);
  return sized_view(part, shape, size != UINT64_MAX ? size : extra_at(part, exception));
}

struct frame_facts frames_facts(const struct frames_part *part, const struct frame_view *view) {
  struct frame_facts facts = {.cfa_register = view->cfa_register,
                              .return_register = part->machine.return_register,
                              .is_signed = view->is_signed,
                              .cfa_offset = (int32_t)view->cfa_offset,
                              .lost = view->lost};
  for (int32_t i = 0; i < view->place_count; i++) {
    const uint8_t reg = view->places[i];
    if (reg >= FRAME_REGISTERS)
      continue;
    facts.saved |= (uint32_t)1 << reg;
    facts.offsets[reg] = -FRAMES_WORD * (i + 1);
  }
  return facts;
}
