/* sources_read.c - the source positions of one record.
 *
 * Nothing is decoded beforehand: a group of entries has the stretch and its records, which are read
 * up to the one that is asked for; a group of tails has each inlined frame, and a group of entries
 * its function's name and file.
 */
#include "format/sources_bytes.h"

#include <assert.h>

bool sources_open(struct sources_part *part, const uint8_t *bytes, uint64_t size,
                  uint32_t stretch_count) {
  if (size < SOURCES_HEAD_SIZE)
    return false;
  *part = (struct sources_part){
      .literals = bytes + SOURCES_HEAD_SIZE,
      .stretch_count = stretch_count,
      .function_count = bits_load32(bytes),
      .entry_count = (uint64_t)bits_load32(bytes) + bits_load32(bytes + 4),
      .tail_count = bits_load32(bytes + 8),
      .names_size = bits_load32(bytes + 12),
      .tails_size = bits_load32(bytes + 16),
      .depth = bytes[20],
      .start_bytes = bytes[21] & 7,
      .tail_start_bytes = bytes[21] >> 3 & 7,
      .has_lines = (bytes[21] >> 6 & 1) != 0,
      .literal_count = (uint16_t)(bytes[22] + 1),
      .pair_count = bytes[23],
  };
  part->pairs = part->literals + part->literal_count;
  part->starts = part->pairs + 2u * part->pair_count;
  const uint64_t groups = part->entry_count / SOURCES_GROUP + 1;
  const uint64_t tail_groups = part->tail_count / SOURCES_GROUP + 1u;
  const uint64_t starts = (uint64_t)(part->starts - bytes);
  const uint64_t tail_starts = starts + groups * part->start_bytes;
  const uint64_t tails = tail_starts + tail_groups * part->tail_start_bytes;
  const uint64_t entries = tails + part->tails_size;
  if (part->start_bytes < 1 || part->start_bytes > 4 || part->tail_start_bytes < 1 ||
      part->tail_start_bytes > 4 || part->function_count < stretch_count ||
      part->entry_count >= UINT32_MAX || part->names_size > SOURCES_NAMES_MAX || entries > size)
    return false;
  part->tail_starts = bytes + tail_starts;
  part->tails = bytes + tails;
  part->entries = bytes + entries;
  part->entries_size = size - entries;
  part->callee_width = (uint8_t)bits_for_count(part->function_count);
  part->tail_width = (uint8_t)bits_for_count(part->tail_count);
  return true;
}

/* ---- Bits ---- */

static uint64_t take_field(struct sources_bits *bits, unsigned width) {
  assert(bits->at <= bits->end);
  if (width > bits->end - bits->at) {
    bits->bad = true;
    return 0;
  }
  const uint64_t value = bits_at(bits->bytes, bits->at, width);
  bits->at += width;
  return value;
}

static uint64_t take_number(struct sources_bits *bits) {
  uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += SOURCES_NIBBLE) {
    const uint64_t nibble = take_field(bits, SOURCES_NIBBLE + 1);
    number |= (nibble & bits_low_mask(SOURCES_NIBBLE)) << shift;
    if (nibble >> SOURCES_NIBBLE == 0)
      return number;
  }
  bits->bad = true;
  return 0;
}

static uint32_t take_difference(struct sources_bits *bits) {
  return (uint32_t)bits_unzigzag(take_number(bits));
}

/* ---- Entries ---- */

bool sources_entries_at(struct sources_entries *entries, const struct sources_part *part,
                        uint32_t group) {
  assert(group <= part->entry_count / SOURCES_GROUP);
  const uint8_t *starts = part->starts + (uint64_t)group * part->start_bytes;
  const uint64_t start = bits_load(starts, part->start_bytes);
  if (start > part->entries_size)
    return false;
  *entries = (struct sources_entries){
      .part = part,
      .next = part->entries + start,
      .end = part->entries + part->entries_size,
      .number = group * SOURCES_GROUP,
  };
  return true;
}

/* Some bytes after their number. */
static bool take_bytes(struct sources_entries *entries, const uint8_t **bytes, uint64_t *size) {
  if (!bits_varint(&entries->next, entries->end, size) ||
      *size > (uint64_t)(entries->end - entries->next))
    return false;
  *bytes = entries->next;
  entries->next += *size;
  return true;
}

static bool take_file(struct sources_entries *entries, struct sources_entry *entry) {
  const struct sources_part *part = entries->part;
  uint64_t file;
  if (!bits_varint(&entries->next, entries->end, &file) ||
      file > part->entry_count - part->function_count)
    return false;
  entry->file = file == 0 ? 0 : part->function_count + (uint32_t)file - 1;
  return true;
}

bool sources_entries_next(struct sources_entries *entries, struct sources_entry *entry) {
  uint64_t head;
  if (entries->number % SOURCES_GROUP == 0)
    *entry = (struct sources_entry){0};
  if (!bits_varint(&entries->next, entries->end, &head))
    return false;
  entry->is_empty = head == 0;
  if (!entry->is_empty) {
    entry->line += (uint32_t)bits_unzigzag((head - 1) >> 1);
    if ((((head - 1) & 1) != 0 && !take_file(entries, entry)) ||
        !take_bytes(entries, &entry->name, &entry->name_size) ||
        (entries->number < entries->part->stretch_count &&
         !take_bytes(entries, &entry->records, &entry->records_size)))
      return false;
  }
  entries->number++;
  return true;
}

/* ---- Names ---- */

/* The bytes that a code has: their number; 0: the code is broken. */
static unsigned decode(const struct sources_part *part, uint8_t code,
                       uint8_t bytes[SOURCES_CODE_MAX]) {
  uint8_t stack[SOURCES_CODE_MAX];
  unsigned height = 0, count = 0;
  stack[height++] = code;
  while (height > 0) {
    const uint8_t next = stack[--height];
    if (next < part->literal_count) {
      if (count == SOURCES_CODE_MAX)
        return 0;
      bytes[count++] = part->literals[next];
      continue;
    }
    const unsigned pair = next - part->literal_count;
    if (pair >= part->pair_count || height + 2 > SOURCES_CODE_MAX)
      return 0;
    const uint8_t left = part->pairs[2 * pair], right = part->pairs[2 * pair + 1];
    if (left >= next || right >= next)
      return 0;
    stack[height++] = right;
    stack[height++] = left;
  }
  return count;
}

bool sources_entry_name(const struct sources_part *part, const struct sources_entry *entry,
                        char *name, size_t room, size_t *length) {
  uint8_t bytes[SOURCES_CODE_MAX];
  *length = 0;
  for (uint64_t i = 0; i < entry->name_size; i++) {
    const unsigned count = decode(part, entry->name[i], bytes);
    if (count == 0)
      return false;
    for (unsigned k = 0; k < count; k++, ++*length)
      if (*length < room)
        name[*length] = (char)bytes[k];
  }
  return true;
}

/* ---- Tails ---- */

bool sources_tails_at(struct sources_tails *tails, const struct sources_part *part,
                      uint32_t group) {
  assert(group <= part->tail_count / SOURCES_GROUP);
  const uint8_t *starts = part->tail_starts + (uint64_t)group * part->tail_start_bytes;
  const uint64_t start = bits_load(starts, part->tail_start_bytes);
  if (start > part->tails_size)
    return false;
  *tails = (struct sources_tails){
      part, {part->tails, start * 8, part->tails_size * 8, false}, group * SOURCES_GROUP};
  return true;
}

/* The number of a tail, if a bit says that there is one. */
static uint32_t take_tail(struct sources_bits *bits, const struct sources_part *part) {
  if (take_field(bits, 1) == 0)
    return part->tail_count;
  const uint32_t tail = (uint32_t)take_field(bits, part->tail_width);
  bits->bad |= tail >= part->tail_count;
  return tail;
}

/* Each follows the one before in its group: it is of the same function or a later one, and in one
 * function the lines ascend. */
bool sources_tails_next(struct sources_tails *tails, struct sources_tail *tail) {
  const struct sources_part *part = tails->part;
  struct sources_bits *bits = &tails->bits;
  bool is_new = true;
  if (tails->number % SOURCES_GROUP == 0)
    tail->step = (struct sources_step){(uint32_t)take_field(bits, part->callee_width), 0};
  else if ((is_new = take_field(bits, 1) != 0))
    tail->step = (struct sources_step){tail->step.function + 1 + (uint32_t)take_number(bits), 0};
  if (part->has_lines)
    tail->step.line += is_new ? take_difference(bits) : (uint32_t)take_number(bits);
  tail->inner = take_tail(bits, part);
  tails->number++;
  return !bits->bad && tail->step.function < part->function_count;
}

/* ---- Records ---- */

void sources_records(struct sources_records *records, const struct sources_part *part,
                     const struct sources_entry *entry) {
  *records = (struct sources_records){.part = part,
                                      .bits = {entry->records, 0, entry->records_size * 8, false}};
  records->tail = part->tail_count;
  records->is_mixed = take_field(&records->bits, 1) != 0;
}

bool sources_records_next(struct sources_records *records) {
  const struct sources_part *part = records->part;
  struct sources_bits *bits = &records->bits;
  if (records->is_mixed)
    records->kind = take_field(bits, SOURCES_KIND_WIDTH);
  if (part->tail_count > 0 && records->kind != SOURCES_NOWHERE && take_field(bits, 1) != 0)
    records->tail = take_tail(bits, part);
  if (part->has_lines && records->kind == SOURCES_USUAL)
    records->line += take_difference(bits);
  return !bits->bad && records->kind <= SOURCES_NOWHERE;
}

/* ---- A record ---- */

static bool find_entry(const struct sources_part *part, uint32_t number,
                       struct sources_entry *entry) {
  struct sources_entries entries;
  if (!sources_entries_at(&entries, part, number / SOURCES_GROUP))
    return false;
  while (entries.number <= number)
    if (!sources_entries_next(&entries, entry))
      return false;
  return true;
}

static bool find_tail(const struct sources_part *part, uint32_t number, struct sources_tail *tail) {
  struct sources_tails tails;
  if (!sources_tails_at(&tails, part, number / SOURCES_GROUP))
    return false;
  while (tails.number <= number)
    if (!sources_tails_next(&tails, tail))
      return false;
  return true;
}

/* The frames of the record at hand, outermost first. */
static enum stackpack_source_answer find_steps(const struct sources_records *records,
                                               uint32_t stretch,
                                               struct sources_step steps[SOURCES_DEPTH_MAX],
                                               size_t *count) {
  const struct sources_part *part = records->part;
  struct sources_tail tail;
  *count = 0;
  if (records->kind == SOURCES_NOWHERE)
    return STACKPACK_SOURCE_UNKNOWN;
  if (records->kind == SOURCES_USUAL)
    steps[(*count)++] = (struct sources_step){stretch, records->line};
  for (uint32_t number = records->tail; number < part->tail_count; number = tail.inner) {
    if (*count >= part->depth || !find_tail(part, number, &tail))
      return STACKPACK_SOURCE_CORRUPT;
    steps[(*count)++] = tail.step;
  }
  return *count > 0 ? STACKPACK_SOURCE_FOUND : STACKPACK_SOURCE_CORRUPT;
}

/* The frames of a record, and the space for the names after them. */
struct reader {
  const struct sources_part *part;
  char *name; /* free from here on: */
  size_t room;
  uint32_t file; /* the entry of the last frame's; */
  const char *file_name;
};

static enum stackpack_source_answer
take_name(struct reader *reader, const struct sources_entry *entry, const char **name) {
  size_t length;
  if (entry->is_empty ||
      !sources_entry_name(reader->part, entry, reader->name, reader->room, &length))
    return STACKPACK_SOURCE_CORRUPT;
  if (length >= reader->room)
    return STACKPACK_SOURCE_TOO_SMALL;
  *name = reader->name;
  reader->name += length;
  *reader->name++ = 0;
  reader->room -= length + 1;
  return STACKPACK_SOURCE_FOUND;
}

/* A file's name; mostly it is that of the frame before. */
static enum stackpack_source_answer take_file_name(struct reader *reader, uint32_t number) {
  struct sources_entry entry;
  if (number == reader->file)
    return STACKPACK_SOURCE_FOUND;
  reader->file = number;
  reader->file_name = "";
  if (number == 0)
    return STACKPACK_SOURCE_FOUND;
  return find_entry(reader->part, number, &entry) ? take_name(reader, &entry, &reader->file_name)
                                                  : STACKPACK_SOURCE_CORRUPT;
}

static enum stackpack_source_answer fill_frame(struct reader *reader, struct sources_step step,
                                               struct stackpack_source *frame) {
  struct sources_entry entry;
  if (!find_entry(reader->part, step.function, &entry))
    return STACKPACK_SOURCE_CORRUPT;
  enum stackpack_source_answer answer = take_name(reader, &entry, &frame->function);
  if (answer == STACKPACK_SOURCE_FOUND)
    answer = take_file_name(reader, entry.file);
  frame->file = reader->file_name;
  frame->line = entry.line + step.line;
  return answer;
}

/* Finds the frames of a stretch's record, outermost first. */
static enum stackpack_source_answer find_record(const struct sources_part *part, uint32_t stretch,
                                                uint32_t position,
                                                struct sources_step steps[SOURCES_DEPTH_MAX],
                                                size_t *count) {
  struct sources_entry entry;
  struct sources_records records;
  if (stretch >= part->stretch_count || !find_entry(part, stretch, &entry))
    return STACKPACK_SOURCE_CORRUPT;
  if (entry.is_empty)
    return STACKPACK_SOURCE_UNKNOWN;
  sources_records(&records, part, &entry);
  for (uint64_t i = 0; i <= position; i++)
    if (!sources_records_next(&records))
      return STACKPACK_SOURCE_CORRUPT;
  return find_steps(&records, stretch, steps, count);
}

enum stackpack_source_answer sources_read(const struct sources_part *part, uint32_t stretch,
                                          uint32_t position, void *space, size_t size,
                                          struct stackpack_sources *sources) {
  struct sources_step steps[SOURCES_DEPTH_MAX];
  struct stackpack_source *frames = space;
  size_t count;
  enum stackpack_source_answer answer = find_record(part, stretch, position, steps, &count);
  if (answer != STACKPACK_SOURCE_FOUND)
    return answer;
  if (size / sizeof *frames < count)
    return STACKPACK_SOURCE_TOO_SMALL;
  struct reader reader = {part, (char *)(frames + count), size - count * sizeof *frames, 0, ""};
  for (size_t i = 0; i < count && answer == STACKPACK_SOURCE_FOUND; i++)
    answer = fill_frame(&reader, steps[count - 1 - i], &frames[i]);
  *sources = (struct stackpack_sources){frames, count};
  return answer;
}
