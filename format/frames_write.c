/* frames_write.c - makes the part of a packed table that tells of frames: frames_read.c explains
 * it. */
#include "format/frames.h"
#include "format/frames_bytes.h"

#include "format/bits.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX, SHAPE_BYTES_MAX = 7 + FRAMES_UNKNOWN };

struct used_shape {
  uint32_t shape; /* in the set; NONE: nothing has it */
  uint32_t functions;
};

struct frames_writer {
  const struct frames_input *input;
  struct intern shapes;    /* facts without what the size says; the first one is "unknown" */
  uint32_t *record_shapes; /* by record */
  uint32_t *extras;        /* by record: words by which the frame is larger than LLVM says */
  uint32_t *function_shapes;
  struct used_shape *used; /* the most frequent one first */
  uint32_t *numbers;       /* in `used`, by shape */
  uint32_t used_count, exception_count;
  bool has_other_shapes; /* some exception is one by its shape */
};

static const struct frame_facts unknown = {.cfa_register = FRAME_NO_REGISTER};

/* ---- Which shapes there are ---- */

/* Whether an offset is that of a place: a word that a byte can count, from the CFA down. */
static bool is_place(int32_t offset) {
  return offset < 0 && offset % FRAMES_WORD == 0 && offset >= -FRAMES_WORD * (FRAMES_UNKNOWN - 1);
}

/* Whether each register that is saved has a place, and no other one has the same. */
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

/* Takes what the size says out of the facts. False: there is no room in the form for these. */
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

bool frames_is_larger(const struct frame_machine *machine, uint64_t size,
                      const struct frame_facts *facts) {
  struct frame_facts copy = *facts;
  uint32_t extra;
  return split(machine, size, &copy, &extra) && extra > 0;
}

static bool find_shape(struct frames_writer *writer, uint32_t record) {
  const struct frames_input *input = writer->input;
  const uint32_t number = input->numbers[record];
  struct frame_facts facts = unknown;
  uint64_t words[FRAME_WORDS_MAX];
  if (number != 0) {
    facts = frame_from_words(intern_get(input->set, number - 1));
    if (!split(&input->machine, input->sizes[input->functions[record]], &facts,
               &writer->extras[record])) {
      facts = unknown;
      writer->extras[record] = 0;
    }
  }
  writer->record_shapes[record] = intern_add(&writer->shapes, words, frame_words(&facts, words));
  return writer->record_shapes[record] != INTERN_FAILED;
}

/* A function has the shape of its first record. */
static bool find_shapes(struct frames_writer *writer) {
  uint64_t words[FRAME_WORDS_MAX];
  if (intern_add(&writer->shapes, words, frame_words(&unknown, words)) == INTERN_FAILED)
    return false;
  for (uint32_t i = 0; i < writer->input->function_count; i++)
    writer->function_shapes[i] = NONE;
  for (uint32_t i = 0; i < writer->input->record_count; i++) {
    const uint32_t function = writer->input->functions[i];
    if (!find_shape(writer, i))
      return false;
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
  if (x->functions != y->functions)
    return x->functions > y->functions ? -1 : 1;
  return x->shape < y->shape ? -1 : x->shape > y->shape;
}

static bool is_exception(const struct frames_writer *writer, uint32_t record) {
  return writer->extras[record] != 0 ||
         writer->record_shapes[record] != writer->function_shapes[writer->input->functions[record]];
}

/* Numbers the shapes. Those of exceptions are used, too, if these are to tell theirs. False: too
 * many. */
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
    writer->numbers[writer->used[writer->used_count].shape] = writer->used_count;
    writer->used_count++;
  }
  return writer->used_count <= (uint32_t)1 << FRAMES_NUMBER_MAX;
}

/* ---- Bytes ---- */

static void write_shape(const struct frames_writer *writer, const struct used_shape *used,
                        struct bit_writer *out) {
  const struct frame_facts facts = frame_from_words(intern_get(&writer->shapes, used->shape));
  uint8_t places[FRAMES_UNKNOWN];
  uint8_t count = 0;
  memset(places, FRAME_NO_REGISTER, sizeof places);
  for (uint32_t bits = facts.saved; bits != 0; bits &= bits - 1) {
    const unsigned reg = (unsigned)__builtin_ctz(bits);
    const uint8_t place = (uint8_t)(-facts.offsets[reg] / FRAMES_WORD);
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
  for (unsigned i = 0; i < count; i++)
    bit_writer_put(out, places[i], 8);
}

static uint32_t function_number(const struct frames_writer *writer, uint32_t function) {
  const uint32_t shape = writer->function_shapes[function];
  return shape == NONE ? 0 : writer->numbers[shape];
}

/* Those of functions, in parts of their own. */
static void write_numbers(const struct frames_writer *writer, unsigned tag_width,
                          unsigned other_width, unsigned sample_width, struct bit_writer *tags,
                          struct bit_writer *samples, struct bit_writer *others) {
  const uint32_t count = writer->input->function_count;
  uint32_t other_count = 0;
  for (uint32_t i = 0; i <= count; i++) {
    if (other_width > 0 && i % TAGS_PER_SAMPLE == 0)
      bit_writer_put(samples, other_count, sample_width);
    if (i == count)
      break;
    const uint32_t number = function_number(writer, i);
    const bool is_other = other_width > 0 && number >= FRAMES_TAG_OTHER;
    bit_writer_put(tags, is_other ? FRAMES_TAG_OTHER : number, tag_width);
    if (is_other) {
      bit_writer_put(others, number - FRAMES_TAG_OTHER, other_width);
      other_count++;
    }
  }
}

static void write_exceptions(const struct frames_writer *writer, unsigned shape_width,
                             unsigned extra_width, struct bit_writer *starts,
                             struct bit_writer *numbers, struct bit_writer *exceptions) {
  const unsigned start_width = bits_for_count((uint64_t)writer->exception_count + 1);
  const uint32_t count = writer->input->record_count;
  uint32_t before = 0;
  for (uint32_t i = 0; i < count && writer->exception_count > 0; i++) {
    if (i % RECORDS_PER_START == 0)
      bit_writer_put(starts, before, start_width);
    if (!is_exception(writer, i))
      continue;
    bit_writer_put(numbers, i % RECORDS_PER_START, 8);
    bit_writer_put(exceptions, writer->numbers[writer->record_shapes[i]], shape_width);
    bit_writer_put(exceptions, writer->extras[i], extra_width);
    before++;
  }
  /* One for the end of the last ones; and where these are as many as may be, one that isn't
   * read. */
  for (uint32_t i = (count + RECORDS_PER_START - 1) / RECORDS_PER_START;
       i < count / RECORDS_PER_START + 2 && writer->exception_count > 0; i++)
    bit_writer_put(starts, before, start_width);
}

static uint32_t count_others(const struct frames_writer *writer) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < writer->input->function_count; i++)
    count += function_number(writer, i) >= FRAMES_TAG_OTHER;
  return count;
}

static uint32_t largest_extra(const struct frames_writer *writer) {
  uint32_t largest = 0;
  for (uint32_t i = 0; i < writer->input->record_count; i++)
    largest = writer->extras[i] > largest ? writer->extras[i] : largest;
  return largest;
}

/* Appends whole bytes, and frees them. */
static void append(struct bit_writer *out, struct bit_writer *part) {
  bit_writer_align(part, 8);
  for (uint64_t i = 0; i < part->size / 8; i++)
    bit_writer_put(out, part->bytes[i], 8);
  out->failed |= part->failed;
  bit_writer_free(part);
}

static void write_all(const struct frames_writer *writer, struct bit_writer *out) {
  const struct frame_machine machine = writer->input->machine;
  const uint32_t used = writer->used_count;
  struct bit_writer shapes = {0}, tags = {0}, samples = {0}, others = {0};
  struct bit_writer starts = {0}, numbers = {0}, exceptions = {0};
  const unsigned tag_width = used <= FRAMES_TAG_OTHER + 1 ? bits_for_count(used) : FRAMES_TAG_MAX;
  const unsigned other_width =
      used <= FRAMES_TAG_OTHER + 1 ? 0 : bits_for_count(used - FRAMES_TAG_OTHER);
  const uint32_t other_count = other_width > 0 ? count_others(writer) : 0;
  const unsigned shape_width = writer->has_other_shapes ? bits_for_count(used) : 0;
  const unsigned extra_width = bits_for_count((uint64_t)largest_extra(writer) + 1);
  for (uint32_t i = 0; i < used; i++)
    write_shape(writer, &writer->used[i], &shapes);
  write_numbers(writer, tag_width, other_width, bits_for_count((uint64_t)other_count + 1), &tags,
                &samples, &others);
  write_exceptions(writer, shape_width, extra_width, &starts, &numbers, &exceptions);
  const uint8_t head[] = {
      machine.stack_pointer, machine.return_register, machine.pushed_by_call, (uint8_t)tag_width,
      (uint8_t)other_width,  (uint8_t)shape_width,    (uint8_t)extra_width,   0};
  for (size_t i = 0; i < sizeof head; i++)
    bit_writer_put(out, head[i], 8);
  bit_writer_put(out, shapes.size / 8, 32);
  bit_writer_put(out, other_count, 32);
  bit_writer_put(out, writer->exception_count, 32);
  append(out, &shapes);
  append(out, &tags);
  append(out, &samples);
  append(out, &others);
  append(out, &starts);
  append(out, &numbers);
  append(out, &exceptions);
}

/* Whether anything is known of any frame. */
static bool is_anything_known(const struct frames_writer *writer) {
  for (uint32_t i = 0; i < writer->input->record_count; i++)
    if (writer->record_shapes[i] != 0)
      return true;
  return false;
}

bool frames_write(const struct frames_input *input, uint8_t **bytes, size_t *size) {
  const size_t records = (size_t)input->record_count + 1;
  const size_t functions = (size_t)input->function_count + 1;
  struct bit_writer out = {0};
  struct frames_writer writer = {
      .input = input,
      .record_shapes = calloc(records, sizeof *writer.record_shapes),
      .extras = calloc(records, sizeof *writer.extras),
      .function_shapes = calloc(functions, sizeof *writer.function_shapes),
  };
  bool ok = writer.record_shapes != NULL && writer.extras != NULL &&
            writer.function_shapes != NULL && find_shapes(&writer);
  writer.used = calloc((size_t)writer.shapes.count + 1, sizeof *writer.used);
  writer.numbers = calloc((size_t)writer.shapes.count + 1, sizeof *writer.numbers);
  ok = ok && writer.used != NULL && writer.numbers != NULL;
  if (ok && is_anything_known(&writer) && number_shapes(&writer))
    write_all(&writer, &out);
  intern_free(&writer.shapes);
  free(writer.record_shapes);
  free(writer.extras);
  free(writer.function_shapes);
  free(writer.used);
  free(writer.numbers);
  *bytes = out.bytes;
  *size = out.size / 8;
  return ok && !out.failed;
}
