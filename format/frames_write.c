/* frames_write.c - makes the part of a packed table with the facts of frames: frames_read.c
 * explains it. */
#include "format/frames.h"
#include "format/frames_bytes.h"

#include "format/owned.h"

#include <assert.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/* The parts that follow the head, in their order. */
enum { SHAPES, TAGS, SAMPLES, OTHERS, STARTS, NUMBERS, EXCEPTIONS, PARTS };

struct used_shape {
  uint32_t shape; /* in the set; NONE: nothing has it */
  uint32_t functions;
};

struct frames_writer {
  const struct frames_input *input;
  bool *varies;
  struct intern shapes;    /* facts less the size's; the first one is "unknown" */
  uint32_t *record_shapes; /* by record */
  uint32_t *extras;        /* by record: words by which the frame exceeds LLVM's size */
  uint32_t *function_shapes;
  struct used_shape *used; /* the most frequent one first */
  uint32_t *numbers;       /* in `used`, by shape */
  uint32_t used_count, exception_count;
  uint32_t other_count; /* functions whose tag says "another" */
  uint32_t largest_extra;
  bool has_other_shapes; /* some exception is one by its shape */
  unsigned tag_width, other_width, shape_width, extra_width;
  struct bit_writer parts[PARTS];
};

static const struct frame_facts unknown = {.cfa_register = FRAME_NO_REGISTER};

/* ---- Shapes ---- */

/* Whether an offset has a place: a word that a byte can count, from the CFA down. */
static bool is_place(int32_t offset) {
  return offset < 0 && offset % FRAMES_WORD == 0 && offset >= -FRAMES_WORD * (FRAMES_UNKNOWN - 1);
}

/* Whether each saved register has a place of its own. */
static bool have_places(const struct frame_facts *facts) {
  for (uint32_t bits = facts->saved; bits != 0; bits &= bits - 1) {
    const int32_t offset = facts->offsets[__builtin_ctz(bits)];
    if (!is_place(offset))
      return false;
    for (uint32_t others = bits & (bits - 1); others != 0; others &= others - 1)
      if (facts->offsets[__builtin_ctz(others)] == offset)
        return false;
  }
  return true;
}

/* Takes the size's part out of the facts. False: the form has no room for these. */
static bool split(const struct frame_machine *machine, uint64_t size, struct frame_facts *facts,
                  uint32_t *extra) {
  *extra = 0;
  if (facts->cfa_register >= FRAME_REGISTERS ||
      facts->return_register != machine->return_register || !have_places(facts))
    return false;
  if (facts->cfa_register != machine->stack_pointer)
    return facts->cfa_offset >= 0 && facts->cfa_offset % FRAMES_WORD == 0 &&
           facts->cfa_offset <= FRAMES_WORD * UINT8_MAX;
  if (size != UINT64_MAX && size > INT32_MAX)
    return false;
  const int64_t base = machine->pushed_by_call + (int64_t)(size == UINT64_MAX ? 0 : size);
  const int64_t difference = facts->cfa_offset - base;
  *extra = (uint32_t)(difference / FRAMES_WORD);
  facts->cfa_offset = 0;
  return difference >= 0 && difference % FRAMES_WORD == 0 &&
         *extra <= bits_low_mask(FRAMES_EXTRA_MAX);
}

bool frames_has_room(const struct frame_machine *machine, uint64_t size,
                     const struct frame_facts *facts) {
  struct frame_facts copy = *facts;
  uint32_t extra;
  return split(machine, size, &copy, &extra);
}

static bool find_shape(struct frames_writer *writer, uint32_t record) {
  const struct frames_input *input = writer->input;
  const uint32_t number = input->numbers[record];
  if (record > 0 && number == input->numbers[record - 1] &&
      input->sizes[input->functions[record]] == input->sizes[input->functions[record - 1]]) {
    writer->extras[record] = writer->extras[record - 1];
    writer->record_shapes[record] = writer->record_shapes[record - 1];
    return true;
  }
  struct frame_facts facts = unknown;
  if (number != 0) {
    facts = frame_facts_get(input->set, number);
    if (!split(&input->machine, input->sizes[input->functions[record]], &facts,
               &writer->extras[record])) {
      facts = unknown;
      writer->extras[record] = 0;
    }
  }
  if (writer->extras[record] > writer->largest_extra)
    writer->largest_extra = writer->extras[record];
  writer->record_shapes[record] = frame_facts_add(&writer->shapes, &facts) - 1;
  return writer->record_shapes[record] != INTERN_FAILED;
}

/* A function has the shape of its first record. */
static bool find_shapes(struct frames_writer *writer) {
  if (frame_facts_add(&writer->shapes, &unknown) == 0)
    return false;
  for (uint32_t i = 0; i < writer->input->function_count; i++)
    writer->function_shapes[i] = NONE;
  for (uint32_t i = 0; i < writer->input->record_count; i++) {
    const uint32_t function = writer->input->functions[i];
    if (!find_shape(writer, i))
      return false;
    writer->varies[function] |=
        writer->extras[i] > 0 && writer->input->sizes[function] != UINT64_MAX;
    const uint32_t shape = writer->record_shapes[i];
    if (writer->function_shapes[function] == NONE)
      writer->function_shapes[function] = shape;
    if (writer->extras[i] == 0 && shape == writer->function_shapes[function])
      continue;
    writer->has_other_shapes |= shape != writer->function_shapes[function];
    writer->exception_count++;
  }
  return true;
}

static int compare_used(const void *a, const void *b) {
  const struct used_shape *x = a, *y = b;
  ORDER_BY(y, x, functions)
  ORDER_BY(x, y, shape)
  return 0;
}

static bool is_exception(const struct frames_writer *writer, uint32_t record) {
  return writer->extras[record] != 0 ||
         writer->record_shapes[record] != writer->function_shapes[writer->input->functions[record]];
}

/* Numbers the shapes. Exceptions' shapes are used, too, if the exceptions are to have their own.
 * False: too many. */
static bool number_shapes(struct frames_writer *writer) {
  const uint32_t count = writer->shapes.count;
  for (uint32_t i = 0; i < count; i++)
    writer->used[i].shape = NONE;
  for (uint32_t i = 0; i < writer->input->function_count; i++)
    if (writer->function_shapes[i] != NONE) {
      writer->used[writer->function_shapes[i]].shape = writer->function_shapes[i];
      writer->used[writer->function_shapes[i]].functions++;
    }
  for (uint32_t i = 0; writer->has_other_shapes && i < writer->input->record_count; i++)
    if (is_exception(writer, i))
      writer->used[writer->record_shapes[i]].shape = writer->record_shapes[i];
  qsort(writer->used, count, sizeof *writer->used, compare_used);
  while (writer->used_count < count && writer->used[writer->used_count].shape != NONE) {
    const struct used_shape *used = &writer->used[writer->used_count];
    writer->other_count += writer->used_count >= FRAMES_TAG_OTHER ? used->functions : 0;
    writer->numbers[used->shape] = writer->used_count++;
  }
  return writer->used_count <= (uint32_t)1 << FRAMES_NUMBER_MAX;
}

/* ---- Bytes ---- */

static void write_shape(struct frames_writer *writer, const struct used_shape *used) {
  const struct frame_facts facts = frame_facts_get(&writer->shapes, used->shape + 1);
  struct bit_writer *out = &writer->parts[SHAPES];
  uint8_t places[FRAMES_UNKNOWN];
  uint8_t count = 0;
  memset(places, FRAME_NO_REGISTER, sizeof places);
  for (uint32_t bits = facts.saved; bits != 0; bits &= bits - 1) {
    const unsigned reg = (unsigned)__builtin_ctz(bits);
    assert(is_place(facts.offsets[reg]));
    const uint8_t place = (uint8_t)(-facts.offsets[reg] / FRAMES_WORD);
    assert(places[place - 1] == FRAME_NO_REGISTER);
    places[place - 1] = (uint8_t)reg;
    count = place > count ? place : count;
  }
  const bool is_known = facts.cfa_register != FRAME_NO_REGISTER;
  bit_writer_put(out,
                 (facts.cfa_register & FRAMES_REGISTER_MASK) |
                     (facts.is_signed ? FRAMES_SIGNED : 0) | (facts.lost != 0 ? FRAMES_LOST : 0),
                 8);
  bit_writer_put(out, is_known ? count : FRAMES_UNKNOWN, 8);
  if (!is_known)
    return;
  if (facts.cfa_register != writer->input->machine.stack_pointer)
    bit_writer_put(out, (uint64_t)facts.cfa_offset / FRAMES_WORD, 8);
  if (facts.lost != 0)
    bit_writer_put(out, facts.lost, 32);
  bit_writer_bytes(out, places, count);
}

/* Those of functions. */
static void write_numbers(struct frames_writer *writer) {
  const uint32_t count = writer->input->function_count;
  const bool has_others = writer->other_width > 0;
  uint32_t others = 0;
  for (uint32_t i = 0; i <= count; i++) {
    if (has_others && i % TAGS_PER_SAMPLE == 0)
      bit_writer_put(&writer->parts[SAMPLES], others,
                     bits_for_count((uint64_t)writer->other_count + 1));
    if (i == count)
      break;
    const uint32_t shape = writer->function_shapes[i];
    const uint32_t number = shape == NONE ? 0 : writer->numbers[shape];
    const bool is_other = has_others && number >= FRAMES_TAG_OTHER;
    assert(number < writer->used_count || shape == NONE);
    bit_writer_put(&writer->parts[TAGS], is_other ? FRAMES_TAG_OTHER : number, writer->tag_width);
    if (is_other)
      bit_writer_put(&writer->parts[OTHERS], number - FRAMES_TAG_OTHER, writer->other_width);
    others += is_other;
  }
  assert(!has_others || others == writer->other_count);
}

static void write_exceptions(struct frames_writer *writer) {
  const unsigned start_width = bits_for_count((uint64_t)writer->exception_count + 1);
  const uint32_t count = writer->input->record_count;
  uint32_t before = 0;
  for (uint32_t i = 0; i < count && writer->exception_count > 0; i++) {
    if (i % RECORDS_PER_START == 0)
      bit_writer_put(&writer->parts[STARTS], before, start_width);
    if (!is_exception(writer, i))
      continue;
    bit_writer_put(&writer->parts[NUMBERS], i % RECORDS_PER_START, 8);
    bit_writer_put(&writer->parts[EXCEPTIONS], writer->numbers[writer->record_shapes[i]],
                   writer->shape_width);
    bit_writer_put(&writer->parts[EXCEPTIONS], writer->extras[i], writer->extra_width);
    before++;
  }
  assert(before == writer->exception_count);
  /* One for the end of the last ones; and where these are as many as may be, an unused one. */
  for (uint32_t i = (count + RECORDS_PER_START - 1) / RECORDS_PER_START;
       i < count / RECORDS_PER_START + 2 && writer->exception_count > 0; i++)
    bit_writer_put(&writer->parts[STARTS], before, start_width);
}

static void write_all(struct frames_writer *writer, struct bit_writer *out) {
  const struct frame_machine machine = writer->input->machine;
  const uint32_t used = writer->used_count;
  const bool has_others = used > FRAMES_TAG_OTHER + 1;
  writer->tag_width = has_others ? FRAMES_TAG_MAX : bits_for_count(used);
  writer->other_width = has_others ? bits_for_count(used - FRAMES_TAG_OTHER) : 0;
  writer->other_count = has_others ? writer->other_count : 0;
  writer->shape_width = writer->has_other_shapes ? bits_for_count(used) : 0;
  writer->extra_width = bits_for_count((uint64_t)writer->largest_extra + 1);
  for (uint32_t i = 0; i < used; i++)
    write_shape(writer, &writer->used[i]);
  write_numbers(writer);
  write_exceptions(writer);
  const uint8_t head[] = {machine.stack_pointer,        machine.return_register,
                          machine.pushed_by_call,       (uint8_t)writer->tag_width,
                          (uint8_t)writer->other_width, (uint8_t)writer->shape_width,
                          (uint8_t)writer->extra_width, 0};
  bit_writer_bytes(out, head, sizeof head);
  bit_writer_put(out, writer->parts[SHAPES].size / 8, 32);
  bit_writer_put(out, writer->other_count, 32);
  bit_writer_put(out, writer->exception_count, 32);
  for (unsigned i = 0; i < PARTS; i++)
    bit_writer_append(out, &writer->parts[i]);
}

bool frames_write(const struct frames_input *input, bool *varies, struct bit_writer *out) {
  struct owned owned = {0};
  assert(out->size == 0);
  struct frames_writer writer = {
      .input = input,
      .varies = varies,
      .record_shapes = owned_array(&owned, input->record_count, sizeof *writer.record_shapes),
      .extras = owned_array(&owned, input->record_count, sizeof *writer.extras),
      .function_shapes = owned_array(&owned, input->function_count, sizeof *writer.function_shapes),
  };
  bool ok = !owned.failed && find_shapes(&writer);
  writer.used = owned_array(&owned, writer.shapes.count, sizeof *writer.used);
  writer.numbers = owned_array(&owned, writer.shapes.count, sizeof *writer.numbers);
  const bool is_anything_known = writer.shapes.count > 1;
  if (ok && !owned.failed && is_anything_known && number_shapes(&writer))
    write_all(&writer, out);
  ok = ok && !owned.failed && !out->failed;
  intern_free(&writer.shapes);
  owned_free(&owned);
  for (unsigned i = 0; i < PARTS; i++)
    bit_writer_free(&writer.parts[i]);
  return ok;
}
